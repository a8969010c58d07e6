-- A deleted document is no match any more: its matches are closed and the documents that were judged
-- against it get a new verdict, but for those that went in the same statement.
create or replace function sherlock.tg_documents__rejudge()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_document_ids bigint[];
    v_names text[];
begin
    select array_agg(o.document_id), array_agg(o.name) into v_document_ids, v_names
    from deleted_documents as o;
    if v_document_ids is not null then
        -- Where both documents of a pair go, the second to go can't look up the other's name.
        update sherlock.closed_matches as c
        set matched_name = o.name
        from deleted_documents as d, deleted_documents as o
        where c.document_id = d.document_id
          and c.matched_document_id = o.document_id
          and c.matched_name is null;
        perform sherlock._rejudge(
            sherlock._close_matches_with(v_document_ids, v_names, 'deleted'), 'deleted');
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_documents__rejudge() is
'After documents are deleted: matches with them are closed, and what was judged against them is judged '
'again: the first 1,000 at once; if there are more, a warning says how to judge the others.';

create or replace trigger _500_rejudge
after delete on sherlock.documents
referencing old table as deleted_documents
for each statement execute function sherlock.tg_documents__rejudge();
