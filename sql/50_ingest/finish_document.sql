-- What a reader hands over once a claimed file is read: text, pages and entities, then the
-- features, all in the caller's transaction.
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
    p_processing jsonb default '{}'
)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    if p_status is null or p_status not in ('ok', 'partial', 'failed') then
        raise exception using
            errcode = 'SH007',
            message = format('unknown final status: %s', coalesce(p_status, 'null')),
            hint = 'ok, partial or failed';
    end if;
    update sherlock.documents as d
    set status = p_status,
        content = p_content,
        doc_type = case
            when p_doc_type <> 'auto' then p_doc_type
            when p_content is null then 'default'
            else sherlock.guess_doc_type(p_content)
        end,
        media_type = p_media_type,
        reason = p_reason,
        reason_detail = p_reason_detail,
        flags = p_flags,
        page_count = nullif(jsonb_array_length(p_pages), 0),
        processing = p_processing,
        claimed_by = null,
        claimed_until = null
    where d.document_id = p_document_id and d.status = 'pending' and d.claimed_by = p_worker;
    if not found then
        raise exception using
            errcode = 'SH003',
            message = format('document %s is not claimed by %s', p_document_id, p_worker),
            hint = 'the claim lapsed and another reader took the file; nothing is lost';
    end if;
    delete from sherlock.document_pages as p where p.document_id = p_document_id;
    insert into sherlock.document_pages (document_id, page_number, method, char_count, quality)
    select p_document_id, p.number, p.method, p.char_count, p.quality
    from jsonb_to_recordset(p_pages) as p (
        number integer, method text, char_count integer, quality real);
    perform sherlock.store_entities(p_document_id, p_entities);
    perform sherlock.index_documents(array[p_document_id]);
end;
$$;

comment on function sherlock.finish_document(
    bigint, text, text, text, text, jsonb, text, text, text, text[], jsonb, jsonb
) is
'Stores what was read of a claimed file and computes its features. p_doc_type auto guesses the '
'type from the text. p_pages: array of {number, method, char_count, quality}. Errors: SH003 the '
'claim was lost, SH007 unknown status.';
