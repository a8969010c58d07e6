-- What a reader hands over once a leased file is read: text, pages and entities, then the
-- features, all in the caller's transaction. The verdict is made by sherlock.record_detection.
create or replace function sherlock.finish_document(
    p_document_id bigint,
    p_worker text,
    p_status text,
    p_content text default null,
    p_doc_type text default 'auto',
    p_entities jsonb default '[]',
    p_media_type text default null,
    p_reason text default null,
    p_reason_detail text default null,
    p_flags text[] default '{}',
    p_pages jsonb default '[]',
    p_processing jsonb default '{}',
    p_features jsonb default null
)
returns boolean
language plpgsql volatile
set search_path from current
as $$
declare
    v_started constant timestamptz := clock_timestamp();
    v_item_id bigint;
    v_before sherlock.documents;
    v_judged_against bigint[];
    v_features jsonb;
    v_canonical_text text;
    v_are_features_complete boolean := false;
begin
    if p_status is null or p_status not in ('ok', 'partial', 'failed') then
        raise exception using
            errcode = 'SH007',
            message = format('unknown final status: %s', coalesce(p_status, 'null')),
            hint = 'ok, partial or failed';
    end if;
    select i.item_id into v_item_id
    from sherlock.inbox as i
    where i.document_id = p_document_id
      and i.gate = 'new'
      and i.state = 'leased'
      and i.leased_by = p_worker
    for update;
    if not found then
        raise exception using
            errcode = 'SH003',
            message = format('document %s is not leased by %s', p_document_id, p_worker),
            hint = 'the lease lapsed and another reader took the file; nothing is lost';
    end if;
    select d.* into v_before from sherlock.documents as d where d.document_id = p_document_id;
    if p_status = 'failed' and v_before.text_state is not null then
        -- What was read before is better than nothing.
        perform sherlock._close_item(v_item_id, 'dead', p_reason, p_reason_detail);
        return false;
    end if;
    if v_before.text_state is not null then
        v_judged_against := sherlock._close_text(array[p_document_id], 'changed');
    end if;
    if v_before.status <> 'pending' then
        insert into sherlock.document_readings
        select r.* from sherlock._present_readings(array[p_document_id], 'ocr') as r;
    end if;
    if p_content is not null then
        v_features := sherlock._current_features(v_before.collection_id, p_features);
        v_canonical_text := coalesce(
            v_features ->> 'canonical', sherlock.canonical_text(p_content));
    end if;
    update sherlock.documents as d
    set status = p_status,
        content = p_content,
        doc_type = case
            when p_doc_type <> 'auto' then p_doc_type
            when p_content is null then 'default'
            else sherlock._guess_doc_type(p_content, v_canonical_text)
        end,
        media_type = p_media_type,
        reason = p_reason,
        reason_detail = p_reason_detail,
        flags = p_flags,
        page_count = nullif(jsonb_array_length(p_pages), 0),
        processing = p_processing,
        accepted_by = null,
        accepted_at = null
    where d.document_id = p_document_id;
    delete from sherlock.document_pages as p where p.document_id = p_document_id;
    insert into sherlock.document_pages (document_id, page_number, method, char_count, quality)
    select p_document_id, p.number, p.method, p.char_count, p.quality
    from jsonb_to_recordset(p_pages) as p (
        number integer, method text, char_count integer, quality real);
    perform sherlock.store_entities(p_document_id, p_entities);
    if v_features is not null then
        v_are_features_complete := sherlock._store_features(
            p_document_id, v_canonical_text, v_features);
    elsif p_content is not null then
        perform sherlock._index_canonical_texts(
            array[p_document_id], array[p_content], array[v_canonical_text]);
    end if;
    update sherlock.documents as d
    set processing = p_processing || jsonb_build_object(
            'store_seconds', round(extract(epoch from clock_timestamp() - v_started), 4)),
        canonical_sha256 = case
            when v_features is null then d.canonical_sha256
            else decode(v_features ->> 'canonical_sha256', 'hex')
        end,
        word_count = coalesce((v_features ->> 'word_count')::integer, d.word_count),
        text_state = case
            when v_features is null then d.text_state
            when sherlock._is_excluded(d.flags, d.accepted_at) then 'excluded'
            else v_features ->> 'text_state'
        end,
        feature_version = coalesce(
            (v_features ->> 'feature_version')::integer, d.feature_version),
        indexed_at = case when v_features is null then d.indexed_at else clock_timestamp() end
    where d.document_id = p_document_id;
    if p_status = 'failed' then
        perform sherlock._close_item(v_item_id, 'dead', p_reason, p_reason_detail);
    else
        update sherlock.inbox as i
        set state = 'stored', stored_at = clock_timestamp()
        where i.item_id = v_item_id;
        if v_judged_against <> '{}' then
            perform sherlock._rejudge(v_judged_against, 'changed');
        end if;
    end if;
    return v_are_features_complete;
end;
$$;

comment on function sherlock.finish_document(
    bigint, text, text, text, text, jsonb, text, text, text, text[], jsonb, jsonb, jsonb
) is
'Stores what was read of a leased file and computes its features; the item is stored, and done with '
'sherlock.record_detection, or dead if it failed. p_doc_type auto guesses the type from the text. '
'p_pages: array of {number, method, char_count, quality}. store_seconds is added to p_processing. A failed '
'reading of a document that was read before changes nothing in it; what another reading replaces is kept '
'in sherlock.document_readings. p_features: what sherlock_pg.queue.features makes of the text, to spare '
'the database that work; left out where the collection''s scheme is another by now. True: they were all '
'that was needed; false: some or all were computed here, make the next ones anew. Errors: SH003 the lease was lost, SH007 unknown status.';
