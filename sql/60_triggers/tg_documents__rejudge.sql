-- A deleted document is no match any more: the documents that were judged against it get a new
-- verdict. Those that went in the same statement, as when a collection is dropped, are not judged.
create or replace function sherlock.tg_documents__rejudge()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    -- A search takes milliseconds and the deleting transaction waits for all of them. What is
    -- beyond counts as not judged: loading the files again judges it.
    c_max_rejudged constant integer := 100;
    v_document_ids bigint[];
    v_document_id bigint;
begin
    with stale as (
        delete from sherlock.matches as m
        using deleted_documents as o
        where m.matched_document_id = o.document_id
        returning m.document_id
    )
    select coalesce(array_agg(distinct s.document_id order by s.document_id), '{}')
    into v_document_ids
    from stale as s
    join sherlock.documents as d using (document_id)
    join sherlock.detections as v using (document_id);

    delete from sherlock.detections as v
    using sherlock.documents as d
    where v.document_id = any(v_document_ids)
      and d.document_id = v.document_id
      and (d.text_state is null or v.document_id = any(v_document_ids[c_max_rejudged + 1:]));
    for v_document_id in
        select d.document_id
        from sherlock.documents as d
        where d.document_id = any(v_document_ids[:c_max_rejudged])
          and d.text_state is not null
        order by d.document_id
    loop
        perform sherlock._store_detection(v_document_id);
    end loop;
    return null;
end;
$$;

comment on function sherlock.tg_documents__rejudge() is
'After documents are deleted: matches with them go, and what was judged against them is judged '
'again: the first 100 documents at once, the others lose their verdict until they are loaded again.';

create or replace trigger _500_rejudge
after delete on sherlock.documents
referencing old table as deleted_documents
for each statement execute function sherlock.tg_documents__rejudge();
