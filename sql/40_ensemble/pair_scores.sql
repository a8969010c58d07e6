-- Many pairs scored at once, with the scores and classes that the search gives: the later document asks.
-- Sketch and cosine first; entities and numbers are compared only where the pair can still reach the
-- score. p_min_score null: the LOW threshold of the later document's type.
create or replace function sherlock._pair_scores(
    p_collection_id integer,
    p_document_ids bigint[],
    p_matched_document_ids bigint[],
    p_min_score double precision
)
returns table (
    document_id bigint,
    matched_document_id bigint,
    confidence text,
    final_score double precision,
    minhash_score double precision,
    tfidf_score double precision,
    entity_score double precision,
    has_conflict boolean
)
language plpgsql stable
set search_path from current
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    -- As in the search: the estimate by 16 bits of a slot is off by less than this.
    c_sketch_margin constant double precision := 0.10;
    v_model_id constant integer := sherlock.active_tfidf_model(p_collection_id);
    v_scheme_id integer;
begin
    select c.scheme_id into strict v_scheme_id
    from sherlock.collections as c
    where c.collection_id = p_collection_id;

    return query
    with pairs as materialized (
        select p.document_id, p.matched_document_id
        from unnest(p_document_ids, p_matched_document_ids) as p (document_id, matched_document_id)
    ),
    later as materialized (
        select i.document_id, d.doc_type, d.canonical_sha256, d.text_state
        from (select distinct p.document_id from pairs as p) as i
        cross join lateral (
            select d.doc_type, d.canonical_sha256, d.text_state
            from sherlock.documents as d
            where d.document_id = i.document_id
            offset 0
        ) as d
    ),
    configs as materialized (
        select y.asked_type, t.*
        from (select distinct l.doc_type from later as l) as y (asked_type)
        cross join lateral sherlock._config_in_force(p_collection_id, y.asked_type) as t
    ),
    -- What is compared of the later documents, read once for each.
    asked as materialized (
        select d.document_id, d.canonical_sha256, d.text_state, t.minhash_weight, t.tfidf_weight,
               t.entity_weight, t.high_threshold, t.medium_threshold, t.low_threshold,
               coalesce(p_min_score, t.low_threshold) as min_score, t.fuzzy_threshold,
               t.both_parties_boost, t.cedula_boost, t.correo_boost, t.conflict_cap,
               t.use_references and t.entity_weight > 0 as has_references, s.sketch, s.signature,
               v.vector
        from later as d
        join configs as t on t.asked_type = d.doc_type
        left join lateral (
            select s.sketch, s.signature
            from sherlock.document_signatures as s
            where s.document_id = d.document_id and s.scheme_id = v_scheme_id
              and d.text_state = 'indexed'
            offset 0
        ) as s on true
        left join lateral (
            select v.vector
            from sherlock.document_vectors as v
            where v.document_id = d.document_id and v.model_id = v_model_id
              and v.sign_bits is not null and d.text_state = 'indexed'
            offset 0
        ) as v on true
    ),
    estimated as materialized (
        select p.document_id, p.matched_document_id, a.min_score, a.minhash_weight,
               a.tfidf_weight, a.entity_weight,
               coalesce(a.canonical_sha256 = o.canonical_sha256, false) as is_same_text,
               sherlock.jaccard_estimate(s.sketch, a.sketch) as sketch_jaccard,
               sherlock.cosine_score(v.vector, a.vector) as cosine
        from pairs as p
        join asked as a on a.document_id = p.document_id
        cross join lateral (
            select d.canonical_sha256, d.text_state
            from sherlock.documents as d
            where d.document_id = p.matched_document_id
            offset 0
        ) as o
        left join lateral (
            select s.sketch
            from sherlock.document_signatures as s
            where s.document_id = p.matched_document_id and s.scheme_id = v_scheme_id
            offset 0
        ) as s on true
        left join lateral (
            select v.vector
            from sherlock.document_vectors as v
            where v.document_id = p.matched_document_id and v.model_id = v_model_id
              and v.sign_bits is not null
            offset 0
        ) as v on true
    ),
    near as materialized (
        select e.document_id, e.matched_document_id, e.is_same_text, e.cosine
        from estimated as e
        where e.is_same_text
           or num_nonnulls(e.sketch_jaccard, e.cosine) > 0
              -- The best that the pair can still reach: entities all equal, or none comparable.
              and (sherlock._can_reach(
                       e.min_score, e.sketch_jaccard + c_sketch_margin, e.cosine, 1.0,
                       e.minhash_weight, e.tfidf_weight, e.entity_weight)
                   or sherlock._can_reach(
                       e.min_score, e.sketch_jaccard + c_sketch_margin, e.cosine, null,
                       e.minhash_weight, e.tfidf_weight, e.entity_weight))
    ),
    by_all_slots as materialized (
        select n.document_id, n.matched_document_id, n.cosine, a.min_score,
               sherlock.jaccard_estimate(s.signature, a.signature) as jaccard
        from near as n
        join asked as a on a.document_id = n.document_id
        left join lateral (
            select s.signature
            from sherlock.document_signatures as s
            where s.document_id = n.matched_document_id and s.scheme_id = v_scheme_id
            offset 0
        ) as s on true
        where not n.is_same_text
    ),
    compared as materialized (
        select b.document_id, b.matched_document_id, b.cosine, b.jaccard, l.profile,
               r.profile as matched_profile,
               case
                   when r.profile is not null
                   then sherlock.compare_entities(
                       coalesce(l.profile, '{}'), r.profile, a.fuzzy_threshold)
               end as agreement
        from by_all_slots as b
        join asked as a on a.document_id = b.document_id
        left join lateral (
            select p.profile
            from sherlock.entity_profiles as p
            where p.document_id = b.document_id and a.entity_weight > 0
            offset 0
        ) as l on true
        left join lateral (
            select p.profile
            from sherlock.entity_profiles as p
            where p.document_id = b.matched_document_id and a.entity_weight > 0
            offset 0
        ) as r on true
        where sherlock._can_reach(
                  b.min_score, b.jaccard, b.cosine, 1.0,
                  a.minhash_weight, a.tfidf_weight, a.entity_weight)
           or sherlock._can_reach(
                  b.min_score, b.jaccard, b.cosine, null,
                  a.minhash_weight, a.tfidf_weight, a.entity_weight)
    ),
    -- Numbers are level 3 where no party or id can be compared; of the others they are read only if
    -- the pair is reported, because they may show that it is another matter.
    scored as materialized (
        select c.document_id, c.matched_document_id, c.cosine, c.jaccard, c.agreement, e.entity,
               s.score, a.min_score, k.raw_class, a.conflict_cap,
               case
                   when a.has_references and s.score >= a.min_score
                   then coalesce(n.numbers_only, sherlock._compare_references_of(
                       c.document_id, c.matched_document_id, v_model_id,
                       sherlock._people_numbers(c.profile, c.matched_profile, true)))
               end as reference_agreement
        from compared as c
        join asked as a on a.document_id = c.document_id
        cross join lateral (
            select case
                       when a.has_references and (c.agreement).is_comparable is not true
                       then sherlock._compare_references_of(
                           c.document_id, c.matched_document_id, v_model_id, '{}')
                   end as numbers_only
            offset 0
        ) as n
        cross join lateral (
            select case
                       when (c.agreement).is_comparable
                       then sherlock.entity_score(
                           (c.agreement).both_parties, (c.agreement).cedula_agrees,
                           (c.agreement).correo_agrees, a.both_parties_boost, a.cedula_boost,
                           a.correo_boost)
                       else (n.numbers_only).number_overlap
                   end as entity
            offset 0
        ) as e
        cross join lateral (
            select sherlock.ensemble_score(
                c.jaccard, c.cosine, e.entity,
                a.minhash_weight, a.tfidf_weight, a.entity_weight) as score
            offset 0
        ) as s
        cross join lateral (
            select sherlock.classify(
                s.score, a.high_threshold, a.medium_threshold, a.low_threshold) as raw_class
        ) as k
    )
    select s.document_id, s.matched_document_id,
           sherlock._capped_class(
               s.raw_class, case when f.has_conflict then s.conflict_cap end),
           s.score, s.jaccard, s.cosine, s.entity, f.has_conflict
    from scored as s
    cross join lateral (
        select coalesce((s.agreement).has_conflict, false)
               or sherlock._is_other_matter(s.reference_agreement, s.jaccard, s.cosine)
                   as has_conflict
    ) as f
    where s.score >= s.min_score
    union all
    select n.document_id, n.matched_document_id, 'EXACT', 1.0, 1.0,
           case when v_model_id is not null then 1.0 end, null, false
    from near as n
    where n.is_same_text;
end;
$$;

create or replace function sherlock._compare_references_of(
    p_document_id bigint,
    p_matched_document_id bigint,
    p_model_id integer,
    p_ignored text[]
)
returns sherlock.reference_agreement
language sql stable parallel safe
begin atomic
    select sherlock._compare_references_with(
        p_matched_document_id, row(r.numbers, r.dates)::sherlock._references, p_model_id, p_ignored)
    from sherlock.document_references as r
    where r.document_id = p_document_id;
end;
