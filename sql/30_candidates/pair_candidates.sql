-- Candidates of many documents at once: for each of them the earlier ones that the three levels of the
-- search retrieve. A pair belongs to its later document, so that ranges of documents share no pair.

-- A key that many share is hot: of the documents that come after its first p_key_limit each is paired
-- with the very first and its nearest predecessors, which keep the group together in linear work.
create or replace function sherlock._pair_candidates(
    p_collection_id integer,
    p_document_ids bigint[],
    p_levels text[],
    p_key_limit integer
)
returns table (
    document_id bigint,
    matched_document_id bigint,
    found_by text[],
    shared_bands integer,
    hot_band_keys integer,
    is_capped boolean
)
language plpgsql stable
set search_path from current
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    c_hot_neighbours constant integer := 8;
    v_model_id constant integer := sherlock.active_tfidf_model(p_collection_id);
    v_scheme sherlock.shingle_schemes;
begin
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = p_collection_id;

    return query
    with asked as materialized (
        select d.document_id, d.canonical_sha256, d.text_state,
               t.tfidf_candidate_limit, t.entity_candidate_limit, t.entity_weight
        from unnest(p_document_ids) as i (document_id)
        cross join lateral (
            select d.*
            from sherlock.documents as d
            where d.document_id = i.document_id and d.collection_id = p_collection_id
            offset 0
        ) as d
        cross join lateral sherlock._config_in_force(p_collection_id, d.doc_type) as t
    ),
    keyed as materialized (
        select a.document_id, k.key
        from asked as a
        cross join lateral (
            select s.signature
            from sherlock.document_signatures as s
            where s.document_id = a.document_id and s.scheme_id = v_scheme.scheme_id
            offset 0
        ) as s
        cross join lateral unnest(sherlock.band_keys(
            s.signature, v_scheme.scheme_id, p_collection_id, v_scheme.band_count,
            v_scheme.rows_per_band)) as k (key)
        where 'minhash' = any(p_levels) and a.text_state = 'indexed'
    ),
    by_bands as (
        select k.document_id, b.document_id as matched_document_id, h.is_hot
        from keyed as k
        cross join lateral (
            select exists (
                select
                from sherlock.band_keys as b
                where b.key = k.key and b.document_id < k.document_id
                order by b.document_id
                offset p_key_limit
                limit 1) as is_hot
            offset 0
        ) as h
        cross join lateral (
            (select b.document_id
             from sherlock.band_keys as b
             where b.key = k.key and b.document_id < k.document_id
             order by b.document_id
             limit case when h.is_hot then 1 else p_key_limit end)
            union
            (select b.document_id
             from sherlock.band_keys as b
             where b.key = k.key and b.document_id < k.document_id
             order by b.document_id desc
             limit case when h.is_hot then c_hot_neighbours else 0 end)
        ) as b
    ),
    by_text as (
        select a.document_id, b.document_id as matched_document_id, h.is_hot
        from asked as a
        cross join lateral (
            select exists (
                select
                from sherlock.documents as b
                where b.collection_id = p_collection_id
                  and b.canonical_sha256 = a.canonical_sha256
                  and b.document_id < a.document_id
                order by b.document_id
                offset p_key_limit
                limit 1) as is_hot
            offset 0
        ) as h
        cross join lateral (
            (select b.document_id
             from sherlock.documents as b
             where b.collection_id = p_collection_id
               and b.canonical_sha256 = a.canonical_sha256
               and b.document_id < a.document_id
             order by b.document_id
             limit case when h.is_hot then 1 else p_key_limit end)
            union
            (select b.document_id
             from sherlock.documents as b
             where b.collection_id = p_collection_id
               and b.canonical_sha256 = a.canonical_sha256
               and b.document_id < a.document_id
             order by b.document_id desc
             limit case when h.is_hot then c_hot_neighbours else 0 end)
        ) as b
        where a.canonical_sha256 is not null
    ),
    by_vector as (
        select a.document_id, v.document_id as matched_document_id
        from asked as a
        cross join lateral (
            select q.sign_bits
            from sherlock.document_vectors as q
            where q.document_id = a.document_id and q.model_id = v_model_id
              and q.sign_bits is not null
            offset 0
        ) as q
        cross join lateral sherlock.vector_candidates(
            v_model_id, q.sign_bits, a.tfidf_candidate_limit, a.document_id) as v
        where 'tfidf' = any(p_levels) and a.text_state = 'indexed'
    ),
    by_entities as (
        select a.document_id, e.document_id as matched_document_id
        from asked as a
        cross join lateral sherlock.entity_candidates(
            p_collection_id, sherlock._entity_profile(a.document_id), a.entity_candidate_limit,
            a.document_id) as e
        where 'entities' = any(p_levels) and a.text_state = 'indexed' and a.entity_weight > 0
    )
    select f.document_id, f.matched_document_id,
           array_remove(array[
               case when bool_or(f.level = 'canonical_text') then 'canonical_text' end,
               case when bool_or(f.level = 'minhash') then 'minhash' end,
               case when bool_or(f.level = 'tfidf') then 'tfidf' end,
               case when bool_or(f.level = 'entities') then 'entities' end], null),
           (count(*) filter (where f.level = 'minhash'))::integer,
           (count(*) filter (where f.level = 'minhash' and f.is_hot))::integer,
           bool_or(f.is_hot)
    from (
        select b.document_id, b.matched_document_id, 'minhash' as level, b.is_hot
        from by_bands as b
        union all
        select t.document_id, t.matched_document_id, 'canonical_text', t.is_hot from by_text as t
        union all
        select v.document_id, v.matched_document_id, 'tfidf', false from by_vector as v
        union all
        select e.document_id, e.matched_document_id, 'entities', false from by_entities as e
    ) as f
    group by f.document_id, f.matched_document_id;
end;
$$;
