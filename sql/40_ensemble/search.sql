-- The search: exact copies first; else the candidates of the three levels, each level scored
-- exactly, the ensemble, the classes. Bounded work: every retrieval has a limit, and entities are
-- compared only where the pair can still be reported. At least max_results matches are looked for,
-- whatever p_limit is, so that the best one and the verdict don't depend on it: callers cut the list.
create or replace function sherlock._search(
    p_query sherlock._query,
    p_before bigint,
    p_limit integer
)
returns sherlock._search_result
language plpgsql stable
set search_path from current
-- To plan the search costs as much as to run it: a session plans it once.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    -- Slots are estimated from 16 bits each first: the estimate is off by less than this.
    c_sketch_margin constant double precision := 0.10;
    -- Below this trigram similarity a Ratcliff/Obershelp ratio of 0.85 is one in a thousand.
    c_name_similarity constant double precision := 0.25;
    -- Candidates scored by all slots and looked at for conflicts, for each one that is reported.
    c_rescored_per_result constant integer := 3;
    c_max_limit constant integer := 1000;
    v_config sherlock.detection_configs;
    v_scheme sherlock.shingle_schemes;
    v_model_id constant integer := p_query.model_id;
    v_self bigint := coalesce(p_query.document_id, 0);
    v_limit integer;
    v_keys bigint[];
    v_name_keys text[];
    v_cedulas text[];
    v_correos text[];
    v_radicados text[];
    v_has_parties boolean := coalesce(p_query.entities ?& array['demandante', 'demandado'], false);
    v_has_cedula boolean := coalesce(p_query.entities ? 'cedula', false);
    v_has_correo boolean := coalesce(p_query.entities ? 'correo', false);
    v_has_radicado boolean := coalesce(p_query.entities ? 'radicado', false);
    v_references constant sherlock._references := row(p_query.numbers, p_query.dates);
    v_rare_weight double precision;
    v_number_weight double precision;
    v_result sherlock._search_result;
begin
    if p_limit not between 0 and c_max_limit then
        raise exception using
            errcode = 'SH013',
            message = format('the limit must be from 0 to %s, not %s', c_max_limit, p_limit),
            hint = 'leave the limit out for max_results of the configuration';
    end if;
    v_config := sherlock._config_in_force(p_query.collection_id, p_query.doc_type);
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = p_query.collection_id;
    v_limit := greatest(p_limit, v_config.max_results);
    v_result.matches := '{}';
    v_result.total_checked := 0;
    v_result.short_circuited := false;
    v_result.hot_band_keys := 0;
    v_result.level_scores := '{}';

    if p_query.canonical_sha256 is not null then
        select coalesce(array_agg(row(
                   e.document_id, e.name, 'EXACT', 'REJECT', 1.0, 1.0,
                   case when v_model_id is not null then 1.0 end, null, false,
                   jsonb_build_object('found_by', jsonb_build_array('canonical_text'))
               )::sherlock.match order by e.document_id), '{}')
        into v_result.matches
        from (
            select d.document_id, d.name
            from sherlock.documents as d
            where d.collection_id = p_query.collection_id
              and d.canonical_sha256 = p_query.canonical_sha256
              and d.document_id <> v_self
              and d.document_id < coalesce(p_before, 9223372036854775807)
            order by d.document_id
            limit v_limit
        ) as e;
        v_result.total_checked := cardinality(v_result.matches);
    end if;
    if p_query.text_state <> 'indexed'
       or (v_result.total_checked > 0 and v_config.use_short_circuit) then
        v_result.short_circuited := v_result.total_checked > 0;
        if v_result.short_circuited then
            v_result.level_scores := jsonb_strip_nulls(jsonb_build_object(
                'minhash', 1.0, 'tfidf', case when v_model_id is not null then 1.0 end));
        end if;
        return v_result;
    end if;

    select array_agg(n.value ->> 1) into v_name_keys
    from jsonb_array_elements(coalesce(p_query.entities -> 'demandante', '[]')) as n (value);
    v_cedulas := array(select jsonb_array_elements_text(p_query.entities -> 'cedula'));
    v_correos := array(select jsonb_array_elements_text(p_query.entities -> 'correo'));
    v_radicados := array(select jsonb_array_elements_text(p_query.entities -> 'radicado'));
    if v_config.use_references and v_config.entity_weight > 0 and p_query.numbers <> '{}' then
        v_rare_weight := sherlock._rare_weight(v_model_id);
        select sum(w.weight) into v_number_weight
        from sherlock._weighted_numbers(v_model_id, v_rare_weight, p_query.numbers) as w;
    end if;
    v_keys := sherlock.band_keys(
        p_query.signature, v_scheme.scheme_id, p_query.collection_id,
        v_scheme.band_count, v_scheme.rows_per_band);

    with by_bands as materialized (
        select b.document_id, b.hot_keys, max(b.hot_keys) over () as most_hot_keys
        from sherlock.band_candidates(v_keys, v_scheme.band_key_limit, p_before) as b
        where b.document_id <> v_self
        order by b.shared_bands desc, b.document_id
        limit v_config.minhash_candidate_limit
    ),
    by_vector as materialized (
        select v.document_id
        from sherlock.vector_candidates(
            v_model_id, p_query.sign_bits, v_config.tfidf_candidate_limit, p_before) as v
        where v.document_id <> v_self
    ),
    by_entities as materialized (
        select e.document_id
        from sherlock.entity_candidates(
            p_query.collection_id, p_query.entities, v_config.entity_candidate_limit, p_before
        ) as e
        where e.document_id <> v_self and v_config.entity_weight > 0
    ),
    candidates as materialized (
        select f.document_id,
               bool_or(f.level = 1) as is_by_bands,
               bool_or(f.level = 2) as is_by_vector,
               bool_or(f.level = 3) as is_by_entities,
               coalesce(max(f.hot_keys), 0) as hot_keys
        from (
            select document_id, 1 as level, hot_keys from by_bands
            union all
            select document_id, 2, null from by_vector
            union all
            select document_id, 3, null from by_entities
        ) as f
        group by f.document_id
    ),
    estimated as materialized (
        select c.*,
               sherlock.jaccard_estimate(s.sketch, p_query.sketch) as sketch_jaccard,
               sherlock.cosine_score(v.vector, p_query.vector) as cosine
        from candidates as c
        -- One index lookup per candidate: the planner would rather read a whole small table.
        left join lateral (
            select d.sketch
            from sherlock.document_signatures as d
            where d.document_id = c.document_id and d.scheme_id = v_scheme.scheme_id
            offset 0
        ) as s on true
        left join lateral (
            select d.vector
            from sherlock.document_vectors as d
            where d.document_id = c.document_id and d.model_id = v_model_id
              and d.sign_bits is not null
            offset 0
        ) as v on true
    ),
    -- The entity score as sherlock.compare_entities would have it, with less work: ids and addresses
    -- first; names only if their agreement can still lift the pair to LOW and they look alike.
    profiled as materialized (
        select e.*, r.profile, r.name_keys, r.cedula_agrees, r.correo_agrees,
               not r.has_parties and r.has_docket as is_same_case,
               r.has_parties or r.has_docket or r.cedula_agrees is not null
                   or r.correo_agrees is not null as is_comparable
        from estimated as e
        left join lateral (
            select p.profile, p.name_keys,
                   v_has_parties and p.profile ?& array['demandante', 'demandado'] as has_parties,
                   v_has_radicado
                       and coalesce(p.profile -> 'radicado' ?| v_radicados, false) as has_docket,
                   case when v_has_cedula then p.profile -> 'cedula' ?| v_cedulas end as cedula_agrees,
                   case when v_has_correo then p.profile -> 'correo' ?| v_correos end as correo_agrees
            from sherlock.entity_profiles as p
            where p.document_id = e.document_id
            offset 0
        ) as r on v_config.entity_weight > 0
        -- A text that is too short or was badly read has neither: people alone make no duplicate.
        where num_nonnulls(e.sketch_jaccard, e.cosine) > 0
          -- The best that the pair can still reach: entities all equal, or none comparable.
          and (sherlock._can_reach(
                   v_config.low_threshold, e.sketch_jaccard + c_sketch_margin, e.cosine, 1.0,
                   v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight)
               or sherlock._can_reach(
                   v_config.low_threshold, e.sketch_jaccard + c_sketch_margin, e.cosine, null,
                   v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight))
    ),
    -- Without parties or ids to compare, the numbers of the texts are level 3.
    numbered as materialized (
        select p.document_id, n.number
        from profiled as p
        cross join lateral (
            select d.numbers
            from sherlock.document_references as d
            where d.document_id = p.document_id
            offset 0
        ) as d
        cross join lateral unnest(d.numbers) as n (number)
        where v_number_weight > 0 and p.is_comparable is not true
    ),
    overlapping as materialized (
        select n.document_id,
               sherlock._number_overlap(
                   sum(w.weight) filter (where n.number = any(p_query.numbers)),
                   v_number_weight, sum(w.weight), v_rare_weight) as overlap
        from numbered as n
        left join sherlock._known_numbers(v_model_id) as k on k.number = n.number
        cross join lateral (
            select sherlock._number_weight(k.weight, v_rare_weight) as weight
        ) as w
        group by n.document_id
    ),
    bounded as materialized (
        select p.*,
               case when p.is_comparable is not true then o.overlap
                    else sherlock.entity_score(
                   case
                       when p.is_same_case then true
                       when not v_has_parties then false
                       when not sherlock._can_reach(
                           v_config.low_threshold, p.sketch_jaccard + c_sketch_margin, p.cosine,
                           sherlock.entity_score(
                               true, p.cedula_agrees, p.correo_agrees,
                               v_config.both_parties_boost, v_config.cedula_boost,
                               v_config.correo_boost),
                           v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight)
                       then false
                       when p.name_keys && v_name_keys
                            or greatest(
                                similarity(p.name_keys[1], v_name_keys[1]),
                                similarity(p.name_keys[1], v_name_keys[2]),
                                similarity(p.name_keys[2], v_name_keys[1]),
                                similarity(p.name_keys[2], v_name_keys[2])
                            ) >= c_name_similarity
                            or cardinality(p.name_keys) > 2
                            or cardinality(v_name_keys) > 2
                       then sherlock._parties_agree(
                           p_query.entities, p.profile, v_config.fuzzy_threshold)
                   end,
                   p.cedula_agrees, p.correo_agrees, v_config.both_parties_boost,
                   v_config.cedula_boost, v_config.correo_boost)
               end as entity
        from profiled as p
        left join overlapping as o on o.document_id = p.document_id
    ),
    -- All 128 slots are compared only of those that can be among the reported: the best by estimate.
    best as materialized (
        select b.*
        from bounded as b
        where sherlock._can_reach(
            v_config.low_threshold, b.sketch_jaccard + c_sketch_margin, b.cosine, b.entity,
            v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight)
        order by sherlock.ensemble_score(
                     b.sketch_jaccard, b.cosine, b.entity,
                     v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight) desc,
                 b.document_id
        limit c_rescored_per_result * v_limit
    ),
    scored as materialized (
        select b.*, j.jaccard,
               sherlock.ensemble_score(
                   j.jaccard, b.cosine, b.entity,
                   v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight
               ) as score
        from best as b
        cross join lateral (
            select sherlock.jaccard_estimate(s.signature, p_query.signature) as jaccard
            from (select) as one
            left join sherlock.document_signatures as s
                on s.document_id = b.document_id and s.scheme_id = v_scheme.scheme_id
            offset 0
        ) as j
    ),
    -- A conflict can lower HIGH and MEDIUM before the best are chosen.
    classified as materialized (
        select s.*, r.raw_class,
               case
                   when r.raw_class <> 'LOW' and s.profile is not null
                   then sherlock.compare_entities(
                       p_query.entities, s.profile, v_config.fuzzy_threshold)
               end as agreement,
               case
                   when r.raw_class <> 'LOW' and v_config.use_references
                        and v_config.entity_weight > 0
                   then sherlock._compare_references_with(
                       s.document_id, v_references, v_model_id,
                       sherlock._people_numbers(p_query.entities, s.profile, s.is_comparable))
               end as reference_agreement
        from scored as s
        cross join lateral (
            select sherlock.classify(
                s.score, v_config.high_threshold, v_config.medium_threshold,
                v_config.low_threshold) as raw_class
        ) as r
        where s.score >= v_config.low_threshold
    ),
    chosen as materialized (
        select c.*, k.confidence
        from classified as c
        cross join lateral (
            select sherlock._capped_class(
                c.raw_class,
                case
                    when coalesce((c.agreement).has_conflict, false)
                        or sherlock._is_other_matter(c.reference_agreement, c.jaccard, c.cosine)
                    then v_config.conflict_cap
                end
            ) as confidence
        ) as k
        where c.document_id <> all (
            select x.document_id from unnest(v_result.matches) as x)
        order by sherlock._class_rank(k.confidence), c.score desc, c.document_id
        limit v_limit
    ),
    -- What is reported comes with evidence.
    reported as materialized (
        select c.document_id, c.is_by_bands, c.is_by_vector, c.is_by_entities, c.hot_keys,
               c.jaccard, c.cosine, c.entity, c.score, c.raw_class, c.confidence,
               c.is_comparable,
               case
                   when (c.agreement).shared is not null then c.agreement
                   when c.profile is not null then sherlock.compare_entities(
                       p_query.entities, c.profile, v_config.fuzzy_threshold)
               end as agreement,
               case
                   when c.reference_agreement is not null then c.reference_agreement
                   when v_config.use_references and v_config.entity_weight > 0
                   then sherlock._compare_references_with(
                       c.document_id, v_references, v_model_id,
                       sherlock._people_numbers(p_query.entities, c.profile, c.is_comparable))
               end as reference_agreement
        from chosen as c
    )
    select
        (select count(*) from candidates),
        (select coalesce(max(b.most_hot_keys), 0) from by_bands as b),
        (select jsonb_strip_nulls(jsonb_build_object(
            'minhash', max(e.sketch_jaccard), 'tfidf', max(e.cosine),
            'entity', (select max(b.entity) from bounded as b)))
         from estimated as e),
        v_result.matches || coalesce(
            (select array_agg(row(
                r.document_id, d.name, r.confidence, sherlock.recommended_action(r.confidence),
                r.score, r.jaccard, r.cosine, r.entity,
                coalesce((r.agreement).has_conflict, false)
                    or sherlock._is_other_matter(r.reference_agreement, r.jaccard, r.cosine),
                jsonb_strip_nulls(jsonb_build_object(
                    'found_by', array_remove(array[
                        case when r.is_by_bands then 'minhash' end,
                        case when r.is_by_vector then 'tfidf' end,
                        case when r.is_by_entities then 'entities' end], null),
                    'absent', nullif(array_remove(array[
                        case when r.jaccard is null then 'minhash' end,
                        case when r.cosine is null then 'tfidf' end,
                        case when r.entity is null then 'entities' end], null), '{}'),
                    'hot_band_keys', nullif(r.hot_keys, 0),
                    'shared', nullif(coalesce((r.agreement).shared, '[]')
                        || coalesce((r.reference_agreement).shared, '[]'), '[]'),
                    'differing', nullif(coalesce((r.agreement).differing, '[]')
                        || coalesce((r.reference_agreement).differing, '[]'), '[]'),
                    'entity_from', case
                        when r.entity is not null and r.is_comparable is not true then 'numbers'
                    end,
                    'capped_from', case when r.confidence <> r.raw_class then r.raw_class end
                ))
            )::sherlock.match
                order by sherlock._class_rank(r.confidence), r.score desc, r.document_id)
             from reported as r
             cross join lateral (
                 select d.name
                 from sherlock.documents as d
                 where d.document_id = r.document_id
                 offset 0
             ) as d),
            '{}')
    into v_result.total_checked, v_result.hot_band_keys, v_result.level_scores, v_result.matches;
    v_result.matches := v_result.matches[1:v_limit];
    return v_result;
end;
$$;
