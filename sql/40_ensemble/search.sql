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
    c_by_bands constant integer := 1;
    c_by_vector constant integer := 2;
    c_by_entities constant integer := 4;
    v_config sherlock.detection_configs;
    v_scheme sherlock.shingle_schemes;
    v_model_id constant integer := p_query.model_id;
    v_self bigint := coalesce(p_query.document_id, 0);
    v_limit integer;
    v_keys bigint[];
    v_name_keys text[];
    v_name_letters bit(104)[];
    v_dropped integer;
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
    v_best_jaccard double precision;
    v_best_cosine double precision;
    v_best_entity double precision;
    v_kept_ids bigint[];
    v_kept_levels integer[];
    v_kept_hot_keys integer[];
    v_kept_jaccards double precision[];
    v_kept_cosines double precision[];
    v_kept_entities double precision[];
    v_kept_comparable boolean[];
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

    select array_agg(n.value ->> 1), array_agg(sherlock._name_letters(n.value ->> 1))
    into v_name_keys, v_name_letters
    from jsonb_array_elements(coalesce(p_query.entities -> 'demandante', '[]')) as n (value);
    v_dropped := sherlock._dropped_characters(p_query.entities, v_name_keys);
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

    -- Each candidate is looked at in one pass, and only what can still be reported is kept. The
    -- lookups are one per candidate and level (offset 0): the planner would rather read a whole
    -- small table.
    select count(*), coalesce(max(m.most_hot_keys), 0), max(m.sketch_jaccard), max(m.cosine),
           max(m.entity),
           array_agg(m.document_id) filter (where m.is_kept),
           array_agg(m.levels) filter (where m.is_kept),
           array_agg(m.hot_keys) filter (where m.is_kept),
           array_agg(m.sketch_jaccard) filter (where m.is_kept),
           array_agg(m.cosine) filter (where m.is_kept),
           array_agg(m.entity) filter (where m.is_kept),
           array_agg(m.is_comparable) filter (where m.is_kept)
    into v_result.total_checked, v_result.hot_band_keys, v_best_jaccard, v_best_cosine,
         v_best_entity, v_kept_ids, v_kept_levels, v_kept_hot_keys, v_kept_jaccards,
         v_kept_cosines, v_kept_entities, v_kept_comparable
    from (
        select b.*,
               case
                   when not b.is_possible then false
                   when b.is_comparable is not true and v_number_weight > 0 then true
                   when not sherlock._can_reach(
                       v_config.low_threshold, b.sketch_jaccard + c_sketch_margin, b.cosine,
                       b.entity, v_config.minhash_weight, v_config.tfidf_weight,
                       v_config.entity_weight)
                   then false
                   else (
                       select sherlock._can_reach(
                           v_config.low_threshold, j.most, b.cosine, b.entity,
                           v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight)
                       from (
                           select sherlock._most_jaccard(b.sketch, p_query.sketch) as most offset 0
                       ) as j)
               end as is_kept
        from (
            -- The entity score as sherlock.compare_entities would have it, with less work: ids and
            -- addresses first; names only if their agreement can still lift the pair to LOW and
            -- they look alike.
            select e.*,
                   r.has_parties or r.has_docket or r.cedula_agrees is not null
                       or r.correo_agrees is not null as is_comparable,
                   case
                       when r.has_parties or r.has_docket or r.cedula_agrees is not null
                           or r.correo_agrees is not null
                       then sherlock.entity_score(
                           case
                               when not r.has_parties and r.has_docket then true
                               when not v_has_parties then false
                               when not sherlock._can_reach(
                                   v_config.low_threshold, e.sketch_jaccard + c_sketch_margin,
                                   e.cosine,
                                   sherlock.entity_score(
                                       true, r.cedula_agrees, r.correo_agrees,
                                       v_config.both_parties_boost, v_config.cedula_boost,
                                       v_config.correo_boost),
                                   v_config.minhash_weight, v_config.tfidf_weight,
                                   v_config.entity_weight)
                               then false
                               when r.name_keys && v_name_keys
                                    or greatest(
                                        sherlock._key_similarity(
                                            r.name_keys[1], v_name_keys[1],
                                            r.name_letters[1], v_name_letters[1],
                                            r.dropped + v_dropped, v_config.fuzzy_threshold),
                                        sherlock._key_similarity(
                                            r.name_keys[1], v_name_keys[2],
                                            r.name_letters[1], v_name_letters[2],
                                            r.dropped + v_dropped, v_config.fuzzy_threshold),
                                        sherlock._key_similarity(
                                            r.name_keys[2], v_name_keys[1],
                                            r.name_letters[2], v_name_letters[1],
                                            r.dropped + v_dropped, v_config.fuzzy_threshold),
                                        sherlock._key_similarity(
                                            r.name_keys[2], v_name_keys[2],
                                            r.name_letters[2], v_name_letters[2],
                                            r.dropped + v_dropped, v_config.fuzzy_threshold)
                                    ) >= c_name_similarity
                                    or cardinality(r.name_keys) > 2
                                    or cardinality(v_name_keys) > 2
                               then sherlock._parties_agree(
                                   p_query.entities, r.profile, v_config.fuzzy_threshold)
                           end,
                           r.cedula_agrees, r.correo_agrees, v_config.both_parties_boost,
                           v_config.cedula_boost, v_config.correo_boost)
                   end as entity
            from (
                select s.*,
                       -- A text that is too short or was badly read has neither: people alone make
                       -- no duplicate.
                       num_nonnulls(s.sketch_jaccard, s.cosine) > 0
                       -- The best that the pair can still reach: entities all equal, or none
                       -- comparable.
                       and (sherlock._can_reach(
                                v_config.low_threshold, s.sketch_jaccard + c_sketch_margin,
                                s.cosine, 1.0, v_config.minhash_weight, v_config.tfidf_weight,
                                v_config.entity_weight)
                            or sherlock._can_reach(
                                v_config.low_threshold, s.sketch_jaccard + c_sketch_margin,
                                s.cosine, null, v_config.minhash_weight, v_config.tfidf_weight,
                                v_config.entity_weight)) as is_possible
                from (
                    select c.*, s.sketch,
                           sherlock.jaccard_estimate(s.sketch, p_query.sketch) as sketch_jaccard,
                           sherlock.cosine_score(v.vector, p_query.vector) as cosine
                    from (
                        select f.document_id, bit_or(f.level) as levels,
                               coalesce(max(f.hot_keys), 0) as hot_keys,
                               max(f.most_hot_keys) as most_hot_keys
                        from (
                            (select b.document_id, c_by_bands as level, b.hot_keys,
                                    max(b.hot_keys) over () as most_hot_keys
                             from sherlock.band_candidates(
                                 v_keys, v_scheme.band_key_limit, p_before) as b
                             where b.document_id <> v_self
                             order by b.shared_bands desc, b.document_id
                             limit v_config.minhash_candidate_limit)
                            union all
                            select v.document_id, c_by_vector, null, null
                            from sherlock.vector_candidates(
                                v_model_id, p_query.sign_bits, v_config.tfidf_candidate_limit,
                                p_before) as v
                            union all
                            select e.document_id, c_by_entities, null, null
                            from sherlock.entity_candidates(
                                p_query.collection_id, p_query.entities,
                                v_config.entity_candidate_limit, p_before) as e
                            where v_config.entity_weight > 0
                        ) as f
                        where f.document_id <> v_self
                        group by f.document_id
                    ) as c
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
                    offset 0
                ) as s
                offset 0
            ) as e
            left join lateral (
                select p.profile, p.name_keys, p.name_letters,
                       sherlock._dropped_characters(p.profile, p.name_keys) as dropped,
                       v_has_parties
                           and p.profile ?& array['demandante', 'demandado'] as has_parties,
                       v_has_radicado
                           and coalesce(p.profile -> 'radicado' ?| v_radicados, false) as has_docket,
                       case when v_has_cedula
                            then p.profile -> 'cedula' ?| v_cedulas end as cedula_agrees,
                       case when v_has_correo
                            then p.profile -> 'correo' ?| v_correos end as correo_agrees
                from sherlock.entity_profiles as p
                where p.document_id = e.document_id and e.is_possible
                  and v_config.entity_weight > 0
                offset 0
            ) as r on true
            offset 0
        ) as b
        offset 0
    ) as m;

    if v_kept_ids is not null then
        with kept as materialized (
            select k.*
            from unnest(
                v_kept_ids, v_kept_levels, v_kept_hot_keys, v_kept_jaccards, v_kept_cosines,
                v_kept_entities, v_kept_comparable
            ) as k (document_id, levels, hot_keys, sketch_jaccard, cosine, entity, is_comparable)
        ),
        -- Without parties or ids to compare, the numbers of the texts are level 3.
        numbered as materialized (
            select k.document_id, n.number
            from kept as k
            cross join lateral (
                select d.numbers
                from sherlock.document_references as d
                where d.document_id = k.document_id
                offset 0
            ) as d
            cross join lateral unnest(d.numbers) as n (number)
            where v_number_weight > 0 and k.is_comparable is not true
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
            select k.document_id, k.levels, k.hot_keys, k.sketch_jaccard, k.cosine,
                   k.is_comparable,
                   case when k.is_comparable then k.entity else o.overlap end as entity
            from kept as k
            left join overlapping as o on o.document_id = k.document_id
        ),
        -- All 128 slots are compared only of those that can be among the reported: the best by
        -- estimate.
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
            select s.*, r.raw_class, p.profile,
                   case
                       when r.raw_class <> 'LOW' and p.profile is not null
                       then sherlock.compare_entities(
                           p_query.entities, p.profile, v_config.fuzzy_threshold)
                   end as agreement,
                   case
                       when r.raw_class <> 'LOW' and v_config.use_references
                            and v_config.entity_weight > 0
                       then sherlock._compare_references_with(
                           s.document_id, v_references, v_model_id,
                           sherlock._people_numbers(p_query.entities, p.profile, s.is_comparable))
                   end as reference_agreement
            from scored as s
            left join lateral (
                select p.profile
                from sherlock.entity_profiles as p
                where p.document_id = s.document_id and v_config.entity_weight > 0
                offset 0
            ) as p on true
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
                            or sherlock._is_other_matter(
                                c.reference_agreement, c.jaccard, c.cosine)
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
            select c.document_id, c.levels, c.hot_keys, c.jaccard, c.cosine, c.entity, c.score,
                   c.raw_class, c.confidence, c.is_comparable,
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
            greatest(v_best_entity, (select max(b.entity) from bounded as b)),
            v_result.matches || coalesce(
                (select array_agg(row(
                    r.document_id, d.name, r.confidence,
                    sherlock.recommended_action(r.confidence),
                    r.score, r.jaccard, r.cosine, r.entity,
                    coalesce((r.agreement).has_conflict, false)
                        or sherlock._is_other_matter(r.reference_agreement, r.jaccard, r.cosine),
                    jsonb_strip_nulls(jsonb_build_object(
                        'found_by', array_remove(array[
                            case when r.levels & c_by_bands > 0 then 'minhash' end,
                            case when r.levels & c_by_vector > 0 then 'tfidf' end,
                            case when r.levels & c_by_entities > 0 then 'entities' end], null),
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
                            when r.entity is not null and r.is_comparable is not true
                            then 'numbers'
                        end,
                        'capped_from', case
                            when r.confidence <> r.raw_class then r.raw_class
                        end
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
        into v_best_entity, v_result.matches;
        v_result.matches := v_result.matches[1:v_limit];
    end if;
    v_result.level_scores := jsonb_strip_nulls(jsonb_build_object(
        'minhash', v_best_jaccard, 'tfidf', v_best_cosine, 'entity', v_best_entity));
    return v_result;
end;
$$;
