-- Texts that come by plain SQL: type, entities, features and the verdict, in the caller's transaction.
--
-- Statements over arrays of ids are planned anew each time unless told otherwise, which cost a single
-- row a tenth of its time. The plan that is kept must serve when the tables have grown: no reading of
-- whole tables.
create or replace function sherlock._take_in(p_document_ids bigint[], p_texts text[])
returns void
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_canonical_texts constant text[] := sherlock._canonical_texts(p_texts);
begin
    update sherlock.documents as d
    set doc_type = sherlock._guess_doc_type(coalesce(t.content, ''), t.canonical)
    from unnest(p_document_ids, p_texts, v_canonical_texts)
        as t (document_id, content, canonical)
    where d.document_id = t.document_id and d.doc_type = 'auto';

    -- All are looked for before any is stored: the two use more regular expressions together than
    -- a session keeps compiled.
    perform sherlock.store_entities(e.document_id, e.entities)
    from (
        with found as materialized (
            select d.document_id,
                   coalesce(
                       d.supplied_entities,
                       case when c.profile = 'legal' then sherlock.extract_entities(t.content) end,
                       '[]') as entities
            from unnest(p_document_ids, p_texts) as t (document_id, content)
            join sherlock.documents as d using (document_id)
            join sherlock.collections as c using (collection_id)
        )
        select f.document_id, f.entities from found as f order by f.document_id
    ) as e
    where e.entities <> '[]'
       -- A scalar, so that it is looked up by the index for each document.
       or (select true
           from sherlock.entities as o
           where o.document_id = e.document_id
           limit 1);

    perform sherlock._index_canonical_texts(p_document_ids, p_texts, v_canonical_texts);
    perform sherlock._judge(p_document_ids);
end;
$$;

-- Texts are about to be replaced: their verdicts, and what was found to match them, are closed.
-- Returns the documents that were judged against them.
create or replace function sherlock._close_text(p_document_ids bigint[], p_closed_reason text)
returns bigint[]
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_id bigint;
    v_names text[];
begin
    -- By the old texts: who judges against them now is waited for, and what he found is closed.
    perform sherlock._lock_for_judging(p_document_ids);
    for v_document_id in select i.id from unnest(p_document_ids) as i (id) order by i.id loop
        perform sherlock._close_verdict(v_document_id, p_closed_reason);
    end loop;
    select array_agg(d.name order by i.position) into v_names
    from unnest(p_document_ids) with ordinality as i (document_id, position)
    join sherlock.documents as d using (document_id);
    return sherlock._close_matches_with(p_document_ids, v_names, p_closed_reason);
end;
$$;

-- The texts of documents changed: what they matched, and what matched them, holds no more.
create or replace function sherlock._retake(p_document_ids bigint[], p_texts text[])
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_judged_against bigint[];
begin
    v_judged_against := sherlock._close_text(p_document_ids, 'changed');
    -- The entities will be those that SQL finds in the new text.
    update sherlock.documents as d
    set processing = d.processing - 'ner_versions'
    where d.document_id = any(p_document_ids) and d.processing ? 'ner_versions';
    perform sherlock._take_in(p_document_ids, p_texts);
    perform sherlock._rejudge(v_judged_against, 'changed');
end;
$$;

create or replace function sherlock.add_document(
    p_content text,
    p_name text default null,
    p_collection text default 'default',
    p_doc_type text default 'auto',
    p_entities jsonb default null
)
returns sherlock.detection
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_id bigint;
begin
    insert into sherlock.documents (collection_id, name, doc_type, content, supplied_entities)
    values (
        sherlock.collection_id(p_collection), p_name, coalesce(p_doc_type, 'auto'), p_content,
        p_entities)
    returning document_id into v_document_id;
    return sherlock.verdict(v_document_id);
end;
$$;

comment on function sherlock.add_document(text, text, text, text, jsonb) is
'Stores a text and returns the verdict on it: one call for what an insert into sherlock.documents '
'and sherlock.verdict do. p_entities: array of {"role": ..., "value": ...}, as sherlock.store_entities '
'takes it; null: they are looked for in the text. p_doc_type chooses the thresholds; auto guesses it. '
'Errors: SH002 no such collection, SH020 unknown role, SH021 entities of another shape; 40001 '
'(repeatable read) and 40P01 if transactions got in each other''s way: try again.';
