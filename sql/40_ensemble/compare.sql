-- Two stored documents, level by level: what the search would say of the pair, and why.
create or replace function sherlock.compare(p_left bigint, p_right bigint)
returns table (
    level text,
    score double precision,
    weight double precision,
    weighted_score double precision,
    confidence text,
    evidence jsonb
)
language plpgsql stable
set search_path from current
as $$
declare
    v_left sherlock._query := sherlock._query_of_document(p_left);
    v_right sherlock._query := sherlock._query_of_document(p_right);
    v_config sherlock.detection_configs;
    v_is_same_text boolean;
    v_is_same_file boolean;
    v_jaccard double precision;
    v_cosine double precision;
    v_entity double precision;
    v_left_profile constant jsonb := sherlock._entity_profile(p_left);
    v_right_profile constant jsonb := sherlock._entity_profile(p_right);
    v_agreement sherlock.entity_agreement;
    v_references sherlock.reference_agreement;
    v_has_conflict boolean := false;
    v_total double precision;
    v_score double precision;
    v_raw_class text;
begin
    if v_left.collection_id <> v_right.collection_id then
        raise exception using
            errcode = 'SH009',
            message = format('documents %s and %s are in different collections', p_left, p_right),
            hint = 'only documents of one collection are compared';
    end if;
    v_config := sherlock._config_in_force(v_left.collection_id, v_left.doc_type);
    v_is_same_text := coalesce(v_left.canonical_sha256 = v_right.canonical_sha256, false);
    select coalesce(l.sha256 = r.sha256 and l.file_size_bytes = r.file_size_bytes, false)
    into v_is_same_file
    from sherlock.documents as l, sherlock.documents as r
    where l.document_id = p_left and r.document_id = p_right;
    v_jaccard := sherlock.jaccard_estimate(v_left.signature, v_right.signature);
    v_cosine := sherlock.cosine_score(v_left.vector, v_right.vector);
    if v_config.entity_weight > 0 then
        v_agreement := sherlock.compare_entities(
            v_left_profile, v_right_profile, v_config.fuzzy_threshold);
        v_has_conflict := v_agreement.has_conflict;
        if v_config.use_references then
            v_references := sherlock.compare_references(
                row(v_left.numbers, v_left.dates), row(v_right.numbers, v_right.dates),
                v_left.model_id,
                sherlock._people_numbers(
                    v_left_profile, v_right_profile, v_agreement.is_comparable));
            v_has_conflict := v_has_conflict
                or sherlock._is_other_matter(v_references, v_jaccard, v_cosine);
        end if;
        -- Short, empty and excluded texts match exactly only, whoever wrote them.
        if v_left.text_state = 'indexed' and v_right.text_state = 'indexed' then
            v_entity := case
                when v_agreement.is_comparable
                then sherlock.entity_score(
                    v_agreement.both_parties, v_agreement.cedula_agrees,
                    v_agreement.correo_agrees, v_config.both_parties_boost,
                    v_config.cedula_boost, v_config.correo_boost)
                else v_references.number_overlap
            end;
        end if;
    end if;
    v_score := sherlock.ensemble_score(
        v_jaccard, v_cosine, v_entity,
        v_config.minhash_weight, v_config.tfidf_weight, v_config.entity_weight);
    v_raw_class := sherlock.classify(
        v_score, v_config.high_threshold, v_config.medium_threshold, v_config.low_threshold);
    v_total := nullif(
        case when v_jaccard is null then 0 else v_config.minhash_weight end
        + case when v_cosine is null then 0 else v_config.tfidf_weight end
        + case when v_entity is null then 0 else v_config.entity_weight end, 0);

    return query
    select 'exact', v_is_same_text::integer::double precision, null::double precision,
           null::double precision, case when v_is_same_text then 'EXACT' end,
           jsonb_build_object('same_file', v_is_same_file, 'same_canonical_text', v_is_same_text)
    union all
    select 'minhash', v_jaccard,
           case when v_jaccard is not null then v_config.minhash_weight / v_total end,
           v_jaccard * v_config.minhash_weight / v_total, null,
           jsonb_build_object(
               'shared_bands', (
                   select count(*)
                   from sherlock.collections as c
                   join sherlock.shingle_schemes as s using (scheme_id)
                   cross join lateral unnest(
                       sherlock.band_keys(v_left.signature, s.scheme_id, c.collection_id,
                                          s.band_count, s.rows_per_band),
                       sherlock.band_keys(v_right.signature, s.scheme_id, c.collection_id,
                                          s.band_count, s.rows_per_band)) as k (l, r)
                   where c.collection_id = v_left.collection_id and k.l = k.r),
               'is_hit', v_jaccard >= v_config.minhash_threshold,
               'text_states', jsonb_build_array(v_left.text_state, v_right.text_state))
    union all
    select 'tfidf', v_cosine,
           case when v_cosine is not null then v_config.tfidf_weight / v_total end,
           v_cosine * v_config.tfidf_weight / v_total, null,
           jsonb_build_object(
               'model_id', v_left.model_id,
               'top_shared_terms', sherlock._top_shared_terms(
                   v_left.model_id,
                   v_left.vector, v_right.vector, 10,
                   sherlock.canonical_text(sherlock.document_text(p_left))))
    union all
    select 'entity', v_entity,
           case when v_entity is not null then v_config.entity_weight / v_total end,
           v_entity * v_config.entity_weight / v_total, null,
           jsonb_build_object(
               'both_parties', v_agreement.both_parties,
               'cedula', v_agreement.cedula_agrees,
               'correo', v_agreement.correo_agrees,
               'radicado', v_agreement.radicado_agrees,
               'numbers', v_references.number_overlap,
               'is_other_matter', sherlock._is_other_matter(v_references, v_jaccard, v_cosine),
               'has_conflict', v_has_conflict,
               'shared', coalesce(v_agreement.shared, '[]')
                   || coalesce(v_references.shared, '[]'),
               'differing', coalesce(v_agreement.differing, '[]')
                   || coalesce(v_references.differing, '[]'))
    union all
    select 'final',
           case when v_is_same_text then 1.0 else v_score end, v_total / v_total,
           case when v_is_same_text then 1.0 else v_score end,
           case
               when v_is_same_text then 'EXACT'
               else sherlock._capped_class(
                   v_raw_class,
                   case when v_has_conflict then v_config.conflict_cap end)
           end,
           jsonb_build_object(
               'config_id', v_config.config_id,
               'thresholds', jsonb_build_object(
                   'high', v_config.high_threshold, 'medium', v_config.medium_threshold,
                   'low', v_config.low_threshold),
               'uncapped_class', v_raw_class,
               'conflict_cap', v_config.conflict_cap);
end;
$$;

comment on function sherlock.compare(bigint, bigint) is
'Two stored documents, one row per level: score (0 to 1, null if the level is absent), weight '
'after absent levels are left out (null if it is one of them), their product, and the evidence; row '
'final holds the ensemble score and the class. Thresholds are those of p_left''s type. Errors: SH001 '
'no such document, SH004 not indexed yet, SH008 no text, SH009 different collections, SH024 no '
'configuration in force.';

-- In the spelling of the left text, where it is stored: the terms are of skeletons.
create or replace function sherlock._top_shared_terms(
    p_model_id integer,
    p_left sparsevec,
    p_right sparsevec,
    p_limit integer,
    p_canonical_left text
)
returns jsonb
language plpgsql stable
set search_path from current
as $$
begin
    return (
        with words as (
            select array_agg(t.word order by t.position) as spelled,
                   array_agg(t.read order by t.position) as read
            from string_to_table(p_canonical_left, ' ') with ordinality as w (word, position)
            cross join lateral (select w.word, sherlock.skeleton(w.word) as read, w.position) as t
            where octet_length(t.read) between 2 and 100
        ),
        spellings as (
            select distinct on (s.term) s.term, s.spelling
            from words as w
            cross join lateral unnest(w.read, w.read[2:], w.spelled, w.spelled[2:])
                with ordinality as u (read, next_read, word, next_word, position)
            cross join lateral (
                values (u.read, u.word), (u.read || ' ' || u.next_read, u.word || ' ' || u.next_word)
            ) as s (term, spelling)
            where s.term is not null
            order by s.term, u.position
        )
        select coalesce(
            jsonb_agg(coalesce(s.spelling, t.term) order by t.product desc, t.term), '[]')
        from (
            select f.term, l.weight * r.weight as product
            from sherlock._sparse_entries(p_left) as l
            join sherlock._sparse_entries(p_right) as r using (feature_index)
            join sherlock.tfidf_features as f
                on f.model_id = p_model_id and f.feature_index = l.feature_index
            order by product desc, f.term
            limit p_limit
        ) as t
        left join spellings as s on s.term = t.term
    );
end;
$$;

create or replace function sherlock._sparse_entries(p_vector sparsevec)
returns table (feature_index integer, weight double precision)
language sql immutable parallel safe
begin atomic
    select split_part(e.entry, ':', 1)::integer, split_part(e.entry, ':', 2)::double precision
    from string_to_table(
        btrim(split_part(p_vector::text, '/', 1), '{}'), ',') as e (entry)
    where e.entry <> '';
end;
