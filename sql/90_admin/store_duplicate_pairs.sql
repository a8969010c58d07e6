-- Pairs become matches: of collections whose documents are not judged one by one, as after a bulk load.
create or replace function sherlock._store_pairs(
    p_collection text,
    p_after bigint,
    p_through bigint,
    p_levels text[],
    p_key_limit integer
)
returns bigint
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection sherlock.collections;
    v_count bigint;
begin
    select c.* into strict v_collection
    from sherlock.collections as c
    where c.collection_id = sherlock.collection_id(p_collection);
    with found as materialized (
        select p.*, d.doc_type
        from sherlock.find_duplicate_pairs(
            p_collection, null, p_after, 2147483647, p_through, p_levels, p_key_limit) as p
        join sherlock.documents as d using (document_id)
    ),
    configs as materialized (
        select y.doc_type,
               (sherlock.detection_config(v_collection.collection_id, y.doc_type)).config_id
        from (select distinct f.doc_type from found as f) as y
    )
    -- What a judgement stored says more.
    insert into sherlock.matches as m (
        document_id, matched_document_id, confidence, action, final_score, minhash_score,
        tfidf_score, entity_score, has_conflict, evidence, config_id, scheme_id, model_id)
    select f.document_id, f.matched_document_id, f.confidence, f.action, f.final_score,
           f.minhash_score, f.tfidf_score, f.entity_score, f.has_conflict,
           jsonb_build_object('found_by', f.found_by), c.config_id, v_collection.scheme_id,
           sherlock.active_tfidf_model(v_collection.collection_id)
    from found as f
    join configs as c using (doc_type)
    on conflict (document_id, matched_document_id) do nothing;
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;

-- No search_path of its own, because a procedure with one cannot commit: all names are qualified.
create or replace procedure sherlock.store_duplicate_pairs(
    p_collection text default 'default',
    p_levels text[] default array['minhash', 'tfidf', 'entities'],
    p_key_limit integer default 64,
    p_after bigint default 0,
    p_batch_size integer default 200000
)
language plpgsql
as $$
declare
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_after bigint := coalesce(p_after, 0);
    v_last bigint;
    v_count bigint := 0;
begin
    if p_batch_size is null or p_batch_size < 1 then
        raise exception using
            errcode = 'SH013',
            message = format('p_batch_size must be 1 or more, not %s',
                             coalesce(p_batch_size::text, 'null')),
            hint = 'documents of one transaction; 200000 is a beginning';
    end if;
    call sherlock._refuse_transaction_block('sherlock.store_duplicate_pairs()');
    loop
        select max(d.document_id) into v_last
        from (
            select d.document_id
            from sherlock.documents as d
            where d.collection_id = v_collection_id and d.document_id > v_after
            order by d.document_id
            limit p_batch_size
        ) as d;
        exit when v_last is null;
        v_count := v_count
            + sherlock._store_pairs(p_collection, v_after, v_last, p_levels, p_key_limit);
        commit and chain;
        v_after := v_last;
        raise notice using message = format(
            '%s: %s new matches, of documents up to %s', p_collection, v_count, v_after);
    end loop;
end;
$$;

comment on procedure sherlock.store_duplicate_pairs(text, text[], integer, bigint, integer) is
'Stores what sherlock.find_duplicate_pairs finds as matches, from LOW on, p_batch_size documents to a '
'transaction with a NOTICE after each; call it outside of a transaction block. For collections that were '
'loaded without being judged: afterwards sherlock.rebuild_clusters makes their clusters. Of a document '
'all matches are stored, not its best ten; matches that are there already stay as they are, so that it '
'can be called again, and after an interruption with the last document of the NOTICE as p_after. If a '
'document is judged later, what that does not find is closed. Errors: SH002 no such collection, SH013 '
'batch size, SH024 no configuration in force, SH058 unknown level, SH059 limit per key; 2D000 in a '
'transaction block.';
