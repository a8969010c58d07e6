-- Whether each retrieval brings the other document of a pair, and what it fails on if not: the
-- retrieval part of sherlock.explain_match.

-- Level 1 for one pair. Each shared key is also read alone, to tell which are hot and which end
-- before the other document.
create or replace function sherlock._explain_band_retrieval(
    p_query sherlock._query,
    p_other sherlock._query,
    p_config sherlock.detection_configs,
    p_scheme sherlock.shingle_schemes,
    p_before bigint
)
returns table (reason text, value text, detail jsonb)
language plpgsql stable
set search_path from current
as $$
declare
    v_limit constant integer := p_config.minhash_candidate_limit;
    v_keys constant bigint[] := sherlock.band_keys(
        p_query.signature, p_scheme.scheme_id, p_query.collection_id,
        p_scheme.band_count, p_scheme.rows_per_band);
    v_shared_count integer;
    v_hot bigint[];
    v_cut bigint[];
    v_has_lost_keys boolean;
    v_candidate_count integer;
    v_rank integer;
begin
    select count(*), array_agg(k.own order by k.own) filter (where r.is_hot),
           array_agg(k.own order by k.own) filter (where r.is_hot and not r.is_read),
           coalesce(bool_or(not r.is_hot and not r.is_read), false)
    into v_shared_count, v_hot, v_cut, v_has_lost_keys
    from unnest(v_keys, sherlock.band_keys(
        p_other.signature, p_scheme.scheme_id, p_query.collection_id,
        p_scheme.band_count, p_scheme.rows_per_band)) as k (own, other)
    cross join lateral (
        select count(*) >= p_scheme.band_key_limit as is_hot,
               coalesce(bool_or(b.document_id = p_other.document_id), false) as is_read
        from sherlock.band_candidates(array[k.own], p_scheme.band_key_limit, p_before) as b
    ) as r
    where k.own = k.other;
    select r.rank, r.candidate_count into v_rank, v_candidate_count
    from (
        select b.document_id, count(*) over () as candidate_count,
               row_number() over (order by b.shared_bands desc, b.document_id) as rank
        from sherlock.band_candidates(v_keys, p_scheme.band_key_limit, p_before) as b
        where b.document_id <> p_query.document_id
    ) as r
    where r.document_id = p_other.document_id;

    reason := case
        when v_rank <= v_limit then 'retrieved'
        when v_rank > v_limit then 'minhash_candidate_limit'
        when p_query.text_state <> 'indexed' or p_other.text_state <> 'indexed' then 'text_state'
        when exists (
            select from sherlock.document_signatures as s
            where s.document_id in (p_query.document_id, p_other.document_id)
              and s.scheme_id = p_scheme.scheme_id
              and s.signature is null)
        then 'boilerplate'
        when p_query.signature is null or p_other.signature is null then 'no_signature'
        when p_other.document_id >= p_before then 'later'
        when v_shared_count = 0 then 'no_shared_band'
        when v_has_lost_keys then 'keys_not_stored'
        else 'hot_key_limit'
    end;
    value := case reason
        when 'retrieved' then format('number %s of %s candidates, %s of %s bands shared',
            v_rank, v_candidate_count, v_shared_count, p_scheme.band_count)
        when 'minhash_candidate_limit' then format(
            'number %s of %s candidates, the first %s are taken',
            v_rank, v_candidate_count, v_limit)
        when 'boilerplate' then format(
            'too little of document %s is left without the boilerplate of list %s',
            case when p_query.signature is null then p_query.document_id
                 else p_other.document_id end, p_scheme.stop_list_id)
        when 'no_signature' then format('document %s has no signature of scheme %s',
            case when p_query.signature is null then p_query.document_id
                 else p_other.document_id end, p_scheme.scheme_id)
        when 'no_shared_band' then format('none of the %s bands is shared', p_scheme.band_count)
        when 'keys_not_stored' then 'shared bands are not stored as keys'
        when 'hot_key_limit' then format(
            'all shared keys are hot and it is not among the first %s documents of any',
            p_scheme.band_key_limit)
    end;
    detail := jsonb_build_object(
        'rank', v_rank, 'limit', v_limit, 'shared_bands', v_shared_count,
        'hot_keys', v_hot, 'cut_keys', v_cut, 'band_key_limit', p_scheme.band_key_limit);
    return next;
end;
$$;

-- Level 2 for one pair. A wider search tells how far down the other document is.
create or replace function sherlock._explain_vector_retrieval(
    p_query sherlock._query,
    p_other sherlock._query,
    p_config sherlock.detection_configs,
    p_model_id integer,
    p_before bigint
)
returns table (reason text, value text, detail jsonb)
language plpgsql stable
set search_path from current
as $$
declare
    c_wide_limit constant integer := 1000;
    v_limit constant integer := p_config.tfidf_candidate_limit;
    v_distance constant double precision := p_query.sign_bits <~> p_other.sign_bits;
    v_rank integer;
    v_wide_rank integer;
begin
    select min(v.rank) into v_rank
    from sherlock.vector_candidates(p_model_id, p_query.sign_bits, v_limit, p_before)
        with ordinality as v (document_id, hamming_distance, rank)
    where v.document_id = p_other.document_id;
    if v_rank is null then
        select min(v.rank) into v_wide_rank
        from sherlock.vector_candidates(
            p_model_id, p_query.sign_bits, greatest(v_limit, c_wide_limit), p_before)
            with ordinality as v (document_id, hamming_distance, rank)
        where v.document_id = p_other.document_id;
    end if;

    reason := case
        when v_rank is not null then 'retrieved'
        when p_query.text_state <> 'indexed' or p_other.text_state <> 'indexed' then 'text_state'
        when p_model_id is null then 'no_model'
        when v_distance is null then 'no_vector'
        when p_other.document_id >= p_before then 'later'
        else 'tfidf_candidate_limit'
    end;
    value := case reason
        when 'retrieved' then format('number %s of the %s nearest, %s of 512 signs differ',
            v_rank, v_limit, v_distance)
        when 'no_model' then 'the collection has no active TF-IDF model yet'
        when 'no_vector' then format('document %s has no vector of model %s',
            case when p_query.sign_bits is null then p_query.document_id
                 else p_other.document_id end, p_model_id)
        when 'tfidf_candidate_limit' then format(
            'not among the %s nearest; %s; %s of 512 signs differ', v_limit,
            case when v_wide_rank is null
                 then format('nor among %s', greatest(v_limit, c_wide_limit))
                 else format('number %s of %s', v_wide_rank, greatest(v_limit, c_wide_limit)) end,
            v_distance)
    end;
    detail := jsonb_build_object(
        'rank', coalesce(v_rank, v_wide_rank), 'limit', v_limit, 'hamming_distance', v_distance);
    return next;
end;
$$;

-- Level 3 for one pair. Without the limit: is it only that which keeps the other document out?
create or replace function sherlock._explain_entity_retrieval(
    p_query sherlock._query,
    p_other sherlock._query,
    p_config sherlock.detection_configs,
    p_before bigint
)
returns table (reason text, value text, detail jsonb)
language plpgsql stable
set search_path from current
as $$
declare
    c_no_limit constant integer := 2147483647;
    v_limit constant integer := p_config.entity_candidate_limit;
begin
    reason := case
        when p_config.entity_weight = 0 then 'no_weight'
        when p_query.text_state <> 'indexed' then 'text_state'
        when exists (
            select from sherlock.entity_candidates(
                p_query.collection_id, p_query.entities, v_limit, p_before) as e
            where e.document_id = p_other.document_id)
        then 'retrieved'
        when p_other.document_id >= p_before then 'later'
        when not coalesce(
            p_query.entities ?| array['demandante', 'cedula', 'correo', 'radicado'], false)
        then 'no_entities'
        when exists (
            select from sherlock.entity_candidates(
                p_query.collection_id, p_query.entities, c_no_limit, p_before) as e
            where e.document_id = p_other.document_id)
        then 'entity_candidate_limit'
        else 'no_shared_entity'
    end;
    value := case reason
        when 'retrieved' then 'an id, an address, a docket or the plaintiff''s name leads to it'
        when 'no_weight' then 'the configuration gives this level no weight'
        when 'no_entities' then format(
            'document %s has no plaintiff, id, address or docket', p_query.document_id)
        when 'entity_candidate_limit' then format(
            'not among the first %s documents with the entity that leads to it', v_limit)
        when 'no_shared_entity' then 'no id, address, docket or plaintiff''s name leads to it'
    end;
    detail := jsonb_build_object('limit', v_limit);
    return next;
end;
$$;
