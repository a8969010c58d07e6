-- A text that any client inserts is judged in the client's transaction; a text that changes as well.
-- What a reader leased is the reader's: sherlock.finish_document computes its features and the
-- verdict comes in the order of the files. Set-wise, for one row or a COPY of thousands.
create or replace function sherlock.tg_documents__take_in()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_document_ids bigint[];
    v_texts text[];
begin
    -- A row that comes with a state has its features computed by whoever inserts it.
    select array_agg(n.document_id order by n.document_id),
           array_agg(n.content order by n.document_id)
    into v_document_ids, v_texts
    from new_documents as n
    where n.text_state is null and n.status in ('ok', 'partial');
    if v_document_ids is not null then
        perform sherlock._take_in(v_document_ids, v_texts);
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_documents__take_in() is
'After documents are inserted with their text: type, entities, features and the verdict.';

create or replace trigger _500_take_in
after insert on sherlock.documents
referencing new table as new_documents
for each statement execute function sherlock.tg_documents__take_in();

create or replace function sherlock.tg_documents__retake()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_document_ids bigint[];
    v_texts text[];
    v_document_id bigint;
begin
    -- Most updates change nothing that was judged: what a reader is doing, what it noted.
    if not exists (
        select
        from new_documents as n
        join old_documents as o using (document_id)
        where (n.collection_id, n.doc_type, n.flags)
              is distinct from (o.collection_id, o.doc_type, o.flags)
           or n.content is distinct from o.content)
    then
        return null;
    end if;

    select n.document_id into v_document_id
    from new_documents as n
    join old_documents as o using (document_id)
    where n.collection_id <> o.collection_id
    limit 1;
    if found then
        raise exception using
            errcode = 'SH022',
            message = format('document %s can''t move to another collection', v_document_id),
            hint = 'insert its text there and delete it here';
    end if;

    select array_agg(n.document_id order by n.document_id),
           array_agg(n.content order by n.document_id)
    into v_document_ids, v_texts
    from new_documents as n
    join old_documents as o using (document_id)
    where n.content is distinct from o.content
      and n.status in ('ok', 'partial')
      and o.text_state is not null
      and not sherlock._is_leased(n.document_id);
    if v_document_ids is not null then
        perform sherlock._retake(v_document_ids, v_texts);
    end if;

    -- Another type, other thresholds.
    select array_agg(n.document_id order by n.document_id) into v_document_ids
    from new_documents as n
    join old_documents as o using (document_id)
    join sherlock.detections as v using (document_id)
    where n.doc_type <> o.doc_type
      and n.content is not distinct from o.content
      and not sherlock._is_leased(n.document_id);
    if v_document_ids is not null then
        perform sherlock._judge(v_document_ids);
    end if;

    -- Other flags: kept out now, or not any more.
    select array_agg(n.document_id order by n.document_id) into v_document_ids
    from new_documents as n
    join old_documents as o using (document_id)
    where n.flags <> o.flags
      and sherlock._is_excluded(n.flags, n.accepted_at)
          <> sherlock._is_excluded(o.flags, n.accepted_at)
      and n.content is not distinct from o.content
      and n.text_state is not null
      and not sherlock._is_leased(n.document_id);
    if v_document_ids is not null then
        perform sherlock._reindex(
            v_document_ids,
            array(
                select jsonb_populate_record(r, jsonb_build_object('flags', o.flags))
                from sherlock._present_readings(v_document_ids, 'features') as r
                join old_documents as o using (document_id)));
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_documents__retake() is
'After documents are updated: a changed text is taken in anew, and what matched the old one is '
'judged again; a changed type is judged again; flags that keep a text out, or no longer do, take '
'effect. Error: SH022 another collection.';

create or replace trigger _500_retake
after update on sherlock.documents
referencing new table as new_documents old table as old_documents
for each statement execute function sherlock.tg_documents__retake();
