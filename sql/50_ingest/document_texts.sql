-- Where the text of a document is: here, or in the row of a watched table, which is not copied.
create or replace function sherlock.document_texts(p_document_ids bigint[])
returns table (document_id bigint, content text)
language plpgsql stable
set search_path from current
as $$
declare
    v_watch record;
begin
    return query
    select d.document_id, d.content
    from sherlock.documents as d
    where d.document_id = any(p_document_ids) and d.content is not null;
    for v_watch in
        select w.watch_id, array_agg(w.row_key) as row_keys
        from sherlock.watched_rows as w
        where w.document_id = any(p_document_ids)
        group by w.watch_id
    loop
        return query
        select w.document_id, t.content
        from sherlock._watched_texts(v_watch.watch_id, v_watch.row_keys) as t
        join sherlock.watched_rows as w on w.watch_id = v_watch.watch_id and w.row_key = t.row_key
        where w.document_id = any(p_document_ids);
    end loop;
end;
$$;

comment on function sherlock.document_texts(bigint[]) is
'The texts of documents, one row each: stored here, or read from the watched table. Documents '
'without a text, and those whose row is gone, have no row.';

create or replace function sherlock.document_text(p_document_id bigint)
returns text
language sql stable
return (select t.content from sherlock.document_texts(array[p_document_id]) as t);

comment on function sherlock.document_text(bigint) is
'The text of a document, stored here or in its watched table; null if there is none.';
