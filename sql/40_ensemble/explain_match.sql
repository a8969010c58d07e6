-- Why the search reports a pair, or why not, for people: what each level says, whether each
-- retrieval brings the other document, which entities and passages the two share. Whatever is said
-- about the search comes from the search's own functions, run again for this pair.

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

-- What the texts share: counts of distinct shingles, then the longest passages all of whose shingles
-- stand in the other text too, and the longest that only one of them has.
create or replace function sherlock._explain_texts(
    p_document_id bigint,
    p_other_id bigint,
    p_scheme sherlock.shingle_schemes
)
returns table (item text, value text, detail jsonb)
language plpgsql stable
set search_path from current
as $$
declare
    c_passages constant integer := 3;
    c_passage_length constant integer := 90;
    v_content constant text := sherlock.document_text(p_document_id);
    v_other_content constant text := sherlock.document_text(p_other_id);
    v_texts constant text[] := array[
        sherlock.canonical_text(v_content), sherlock.canonical_text(v_other_content)];
    v_is_by_word constant boolean := p_scheme.shingle_kind = 'word';
    v_left_words constant text[] := case when v_is_by_word then sherlock.tokens(v_texts[1]) end;
    v_right_words constant text[] := case when v_is_by_word then sherlock.tokens(v_texts[2]) end;
    v_left constant bigint[] := sherlock.shingles(
        v_texts[1], p_scheme.shingle_kind, p_scheme.shingle_width);
    v_right constant bigint[] := sherlock.shingles(
        v_texts[2], p_scheme.shingle_kind, p_scheme.shingle_width);
begin
    if v_left is null or v_right is null then
        return query
        select 'shingles', format('the text of document %s is not stored here',
                                  case when v_left is null then p_document_id else p_other_id end),
               '{}'::jsonb;
        return;
    end if;
    return query
    select 'shingles',
           format('%s shared, %s only in %s, %s only in %s', c.shared,
                  c.left_count - c.shared, p_document_id, c.right_count - c.shared, p_other_id),
           jsonb_build_object(
               'kind', p_scheme.shingle_kind, 'width', p_scheme.shingle_width,
               'exact_jaccard', round(sherlock.jaccard(v_left, v_right)::numeric, 4))
    from (
        select (select count(distinct l.shingle) from unnest(v_left) as l (shingle)) as left_count,
               (select count(distinct r.shingle) from unnest(v_right) as r (shingle))
                   as right_count,
               (select count(distinct l.shingle) from unnest(v_left) as l (shingle)
                where l.shingle in (select unnest(v_right))) as shared
    ) as c;

    return query
    with marked as (
        select case when l.shingle in (select unnest(v_right)) then 1 else 2 end as side, l.position
        from unnest(v_left) with ordinality as l (shingle, position)
        union all
        select 3, r.position
        from unnest(v_right) with ordinality as r (shingle, position)
        where (r.shingle in (select unnest(v_left))) is not true
    ),
    runs as (
        select m.side, min(m.position)::integer as position, count(*)::integer as shingle_count
        from (
            select k.side, k.position,
                   k.position - row_number() over (partition by k.side order by k.position) as run
            from marked as k
        ) as m
        group by m.side, m.run
    ),
    -- More than are shown: a passage that a text repeats is shown once.
    longest as (
        select r.side, r.position, r.shingle_count,
               r.shingle_count + p_scheme.shingle_width - 1 as unit_count
        from (
            select u.side, u.position, u.shingle_count,
                   row_number() over (
                       partition by u.side order by u.shingle_count desc, u.position) as rank
            from runs as u
        ) as r
        where r.rank <= 10 * c_passages
    ),
    passages as (
        select l.side, l.shingle_count, t.passage, min(l.position) as position,
               row_number() over (
                   partition by l.side order by l.shingle_count desc, min(l.position)) as rank
        from longest as l
        cross join lateral (
            select case
                when not v_is_by_word
                then substr(v_texts[case l.side when 3 then 2 else 1 end], l.position, l.unit_count)
                when l.side = 3
                then array_to_string(v_right_words[l.position : l.position + l.unit_count - 1], ' ')
                else array_to_string(v_left_words[l.position : l.position + l.unit_count - 1], ' ')
            end as passage
        ) as t
        group by l.side, l.shingle_count, t.passage
    )
    select case p.side
               when 1 then 'shared passage'
               when 2 then format('only in %s', p_document_id)
               else format('only in %s', p_other_id)
           end,
           case when length(p.passage) > c_passage_length
                then left(p.passage, c_passage_length) || ' ...'
                else p.passage end,
           jsonb_build_object('shingles', p.shingle_count, 'begins_at', p.position)
    from passages as p
    where p.rank <= c_passages
    order by p.side, p.rank;
end;
$$;

-- One row of sherlock.compare in words.
create or replace function sherlock._explain_score(
    p_compared jsonb,
    p_config sherlock.detection_configs
)
returns text
language sql stable parallel safe
return case
    when p_compared ->> 'level' = 'exact' then case
        when p_compared ->> 'confidence' = 'EXACT' then 'the same text' else 'not the same text'
    end
    when p_compared ->> 'score' is null then 'absent'
    when p_compared ->> 'level' <> 'final' then format(
        '%s * %s = %s',
        round((p_compared ->> 'score')::numeric, 4), round((p_compared ->> 'weight')::numeric, 4),
        round((p_compared ->> 'weighted_score')::numeric, 4))
    when p_compared ->> 'confidence' is null then format(
        '%s: below LOW (%s)', p_compared ->> 'score', p_config.low_threshold)
    when p_compared ->> 'confidence' in ('EXACT', p_compared #>> '{evidence,uncapped_class}')
    then format('%s: %s', p_compared ->> 'score', p_compared ->> 'confidence')
    else format(
        '%s: %s, lowered from %s because the identities conflict', p_compared ->> 'score',
        p_compared ->> 'confidence', p_compared #>> '{evidence,uncapped_class}')
end;

-- The state of a text and what made it so. Repeated words count once: that is why a long text can be
-- short.
create or replace function sherlock._explain_text_state(
    p_document_id bigint,
    p_text_state text,
    p_scheme sherlock.shingle_schemes
)
returns text
language plpgsql stable
set search_path from current
as $$
declare
    v_content constant text :=
        case when p_text_state = 'short' then sherlock.document_text(p_document_id) end;
begin
    return case
        when p_text_state = 'empty' then 'empty (no letter or digit in it)'
        when p_text_state = 'excluded' then 'excluded (too badly read)'
        when v_content is not null then format(
            'short (different shingles: %s, and %s are needed)',
            sherlock._distinct_shingles(
                sherlock.shingles(
                    sherlock.canonical_text(v_content), p_scheme.shingle_kind,
                    p_scheme.shingle_width),
                p_scheme.min_shingles),
            p_scheme.min_shingles)
        else p_text_state
    end;
end;
$$;

create or replace function sherlock.explain_match(
    p_document_id bigint,
    p_other_id bigint,
    p_scope text default 'all'
)
returns table (section text, item text, value text, detail jsonb)
language plpgsql stable
set search_path from current
as $$
declare
    -- The longest list that the search gives.
    c_max_limit constant integer := 1000;
    v_query constant sherlock._query := sherlock._query_of_document(p_document_id);
    v_other constant sherlock._query := sherlock._query_of_document(p_other_id);
    v_before constant bigint := sherlock._scope_before(p_document_id, p_scope);
    v_config constant sherlock.detection_configs :=
        sherlock._config_in_force(v_query.collection_id, v_query.doc_type);
    v_model_id constant integer := sherlock.active_tfidf_model(v_query.collection_id);
    v_found constant sherlock._search_result := sherlock._search(v_query, v_before, null);
    v_is_pair constant boolean :=
        p_document_id <> p_other_id and v_query.collection_id = v_other.collection_id;
    v_scheme sherlock.shingle_schemes;
    v_wide sherlock._search_result;
    v_rank integer;
    v_wide_rank integer;
    v_levels jsonb := '{}';
    v_retrieval jsonb := '[]';
    v_reason text;
    v_verdict sherlock.detections;
    v_match sherlock.matches;
    v_value text;
    v_verdict_reason text;
    v_verdict_value text;
begin
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = v_query.collection_id;
    select m.ordinal into v_rank
    from generate_subscripts(v_found.matches, 1) as m (ordinal)
    where v_found.matches[m.ordinal].document_id = p_other_id;
    if v_is_pair then
        select jsonb_object_agg(c.level, to_jsonb(c)) into v_levels
        from sherlock.compare(p_document_id, p_other_id) as c;
        select jsonb_agg(to_jsonb(r) order by r.ordinal) into v_retrieval
        from (
            select 1 as ordinal, 'minhash' as level, b.*
            from sherlock._explain_band_retrieval(
                v_query, v_other, v_config, v_scheme, v_before) as b
            union all
            select 2, 'tfidf', v.*
            from sherlock._explain_vector_retrieval(
                v_query, v_other, v_config, v_model_id, v_before) as v
            union all
            select 3, 'entities', e.*
            from sherlock._explain_entity_retrieval(v_query, v_other, v_config, v_before) as e
        ) as r;
    end if;
    if v_rank is null then
        v_wide := sherlock._search(v_query, v_before, c_max_limit);
        select m.ordinal into v_wide_rank
        from generate_subscripts(v_wide.matches, 1) as m (ordinal)
        where v_wide.matches[m.ordinal].document_id = p_other_id;
    end if;

    v_reason := case
        when v_rank is not null then 'reported'
        when p_document_id = p_other_id then 'same_document'
        when not v_is_pair then 'other_collection'
        when p_other_id >= v_before then 'later'
        when v_wide_rank is not null or v_levels #>> '{exact,confidence}' = 'EXACT'
        then 'max_results'
        when v_query.text_state <> 'indexed' or v_other.text_state <> 'indexed' then 'text_state'
        when v_found.short_circuited then 'short_circuit'
        when not v_retrieval @> '[{"reason": "retrieved"}]' then 'not_retrieved'
        when v_levels #>> '{final,confidence}' is null then 'below_low'
        else 'estimated_below_low'
    end;
    v_value := case v_reason
        when 'reported' then format(
            'yes: number %s, %s, score %s', v_rank,
            v_found.matches[v_rank].confidence, v_found.matches[v_rank].final_score)
        when 'same_document' then 'no: a document is never reported for itself'
        when 'other_collection' then 'no: the documents are in different collections'
        when 'later' then format('no: document %s arrived later', p_other_id)
        when 'max_results' then format(
            'no: number %s, and the first %s are reported',
            coalesce(v_wide_rank::text, format('%s or more', c_max_limit)),
            v_config.max_results)
        when 'text_state' then (
            select format('no: the text of document %s is %s; it matches %s',
                          t.document_id,
                          sherlock._explain_text_state(
                              t.document_id, t.text_state, v_scheme),
                          case t.text_state when 'empty' then 'nothing'
                               else 'exact copies only' end)
            from (values (1, p_document_id, v_query.text_state),
                         (2, p_other_id, v_other.text_state))
                as t (ordinal, document_id, text_state)
            where t.text_state <> 'indexed'
            order by t.ordinal
            limit 1)
        when 'short_circuit' then 'no: an exact copy of another document ended the search'
        when 'not_retrieved' then 'no: no level retrieves it'
        when 'below_low' then format(
            'no: score %s is below LOW (%s)',
            coalesce(v_levels #>> '{final,score}', 'null'), v_config.low_threshold)
        else 'no: a first estimate of the levels already was below LOW'
    end;
    return query
    select 'report', format('find_duplicates(%s), scope %s', p_document_id, p_scope), v_value,
           jsonb_strip_nulls(jsonb_build_object(
               'reason', v_reason, 'rank', coalesce(v_rank, v_wide_rank),
               'limit', v_config.max_results));

    select v.* into v_verdict from sherlock.detections as v where v.document_id = p_document_id;
    select m.* into v_match
    from sherlock.matches as m
    where m.document_id = p_document_id and m.matched_document_id = p_other_id;
    v_verdict_reason := case
        when v_verdict.document_id is null then 'no_verdict'
        when v_match.document_id is not null then 'reported'
        when v_reason in ('same_document', 'other_collection') then v_reason
        when p_other_id > p_document_id then 'later'
    end;
    v_verdict_value := v_value;
    if v_verdict_reason is null and p_scope = 'earlier' then
        v_verdict_reason := v_reason;
    elsif v_verdict_reason is null then
        -- A verdict is made in scope earlier.
        select e.detail ->> 'reason', e.value into strict v_verdict_reason, v_verdict_value
        from sherlock.explain_match(p_document_id, p_other_id, 'earlier') as e
        where e.section = 'report' and e.item like 'find_duplicates(%';
    end if;
    if v_verdict_reason = 'reported' and v_match.document_id is null then
        select case
                   when d.indexed_at > v_verdict.detected_at then 'judged_before'
                   when v_verdict.short_circuited then 'short_circuit'
                   else 'changed_since'
               end
        into strict v_verdict_reason
        from sherlock.documents as d
        where d.document_id = p_other_id;
    end if;
    return query
    select 'report', format('stored verdict on %s', p_document_id),
           case v_verdict_reason
               when 'no_verdict' then format(
                   'none yet; to make it: select * from sherlock.record_detection(%s)',
                   p_document_id)
               when 'reported' then format(
                   'yes: %s, score %s, by configuration %s', v_match.confidence,
                   v_match.final_score, v_match.config_id)
               when 'later' then format(
                   'no: document %s arrived later; see explain_match(%s, %s)',
                   p_other_id, p_other_id, p_document_id)
               when 'judged_before' then format(
                   'no: it was made before document %s was indexed as it is now; to judge again: '
                   'select * from sherlock.record_detection(%s)', p_other_id, p_document_id)
               when 'changed_since' then format(
                   'no: the search finds it now, so settings, the vocabulary or other documents '
                   'changed since; to judge again: select * from sherlock.record_detection(%s)',
                   p_document_id)
               when 'short_circuit' then 'no: an exact copy of another document ended the search'
               else v_verdict_value
           end,
           jsonb_strip_nulls(jsonb_build_object(
               'reason', v_verdict_reason, 'detected_at', v_verdict.detected_at,
               'config_id', v_match.config_id, 'scheme_id', v_match.scheme_id,
               'model_id', v_match.model_id));

    return query
    select 'documents', d.document_id::text,
           format('%s: %s, %s', coalesce(d.name, '(no name)'), d.doc_type,
                  case d.text_state
                      when 'indexed' then format('indexed, %s words', d.word_count)
                      else sherlock._explain_text_state(d.document_id, d.text_state, v_scheme)
                  end),
           jsonb_build_object(
               'collection', c.name, 'created_at', d.created_at, 'word_count', d.word_count)
    from unnest(array[p_document_id, p_other_id]) with ordinality as a (document_id, ordinal)
    join sherlock.documents as d on d.document_id = a.document_id
    join sherlock.collections as c on c.collection_id = d.collection_id
    order by a.ordinal;

    return query
    select 'scores', l.level,
           case
               when l.level = 'exact'
                    and (v_query.canonical_sha256 is null or v_other.canonical_sha256 is null)
               then format(
                   'no words to compare: document %s has no letter or digit',
                   case when v_query.canonical_sha256 is null then p_document_id
                        else p_other_id end)
               else sherlock._explain_score(v_levels -> l.level, v_config)
           end,
           jsonb_strip_nulls(
               (v_levels -> l.level -> 'evidence') - '{shared,differing,top_shared_terms}'::text[]
               || (v_levels -> l.level) - '{level,evidence}'::text[]
               || jsonb_build_object(
                   'threshold', case l.level when 'minhash' then v_config.minhash_threshold end,
                   'fuzzy_threshold', case l.level when 'entity' then v_config.fuzzy_threshold end,
                   'top_shared_terms', nullif(
                       v_levels #> array[l.level, 'evidence', 'top_shared_terms'], '[]')))
    from unnest(array['exact', 'minhash', 'tfidf', 'entity', 'final'])
        with ordinality as l (level, ordinal)
    where v_levels ? l.level
    order by l.ordinal;

    return query
    select 'retrieval', r.level, concat(
               case when r.reason = 'retrieved' then 'yes: ' else 'no: ' end,
               case r.reason
                   when 'later' then format('document %s arrived later', p_other_id)
                   when 'text_state' then 'a text that is short, empty or excluded is not searched'
                   else r.value
               end),
           jsonb_build_object('reason', r.reason)
               || jsonb_strip_nulls(r.detail - '{hot_keys,cut_keys,band_key_limit}'::text[])
    from jsonb_to_recordset(v_retrieval)
        as r (ordinal integer, level text, reason text, value text, detail jsonb)
    union all
    select 'retrieval', 'hot keys',
           format('%s of %s shared keys are hot (%s documents or more), %s end before document %s',
                  cardinality(h.hot_keys), h.shared_bands, h.band_key_limit,
                  coalesce(cardinality(h.cut_keys), 0), p_other_id),
           jsonb_build_object('hot_keys', h.hot_keys, 'cut_keys', coalesce(h.cut_keys, '{}'))
    from jsonb_to_record(v_retrieval -> 0 -> 'detail')
        as h (hot_keys bigint[], cut_keys bigint[], shared_bands integer, band_key_limit integer)
    where h.hot_keys is not null;

    return query
    select 'entities', format('%s %s', k.kind, e.entity ->> 'role'),
           concat_ws(case k.kind when 'shared' then ' ~ ' else ' <> ' end,
                     e.entity ->> 'value', e.entity ->> 'other'),
           e.entity
    from unnest(array['shared', 'differing']) with ordinality as k (kind, ordinal)
    cross join lateral jsonb_array_elements(
        nullif(v_levels #> array['entity', 'evidence', k.kind], 'null'))
        with ordinality as e (entity, ordinal)
    order by k.ordinal, e.ordinal;

    return query
    select 'text', t.item, t.value, t.detail
    from sherlock._explain_texts(p_document_id, p_other_id, v_scheme) as t;

    return query
    select 'settings', 'configuration',
           format('%s: type %s, %s', v_config.config_id, v_config.doc_type,
                  case when v_config.collection_id is null then 'any collection'
                       else 'this collection' end),
           jsonb_build_object(
               'config_id', v_config.config_id, 'created_at', v_config.created_at)
    union all
    select 'settings', 'scheme',
           format('%s: %s, %s bands of %s slots', v_scheme.scheme_id, v_scheme.name,
                  v_scheme.band_count, v_scheme.rows_per_band),
           jsonb_build_object('scheme_id', v_scheme.scheme_id)
    union all
    select 'settings', 'model',
           case when v_model_id is null then 'none yet'
                else format('%s: %s terms, fitted on %s documents', v_model_id, m.feature_count,
                            m.fitted_document_count) end,
           jsonb_build_object('model_id', v_model_id)
    from (select) as one
    left join sherlock.tfidf_models as m on m.model_id = v_model_id;
end;
$$;

comment on function sherlock.explain_match(bigint, bigint, text) is
'Why the search reports p_other_id for p_document_id, or why not: rows to be read in order. '
'Sections: report (does sherlock.find_duplicates with p_scope, all or earlier, list it, and does the '
'stored verdict, which is made in scope earlier), documents, scores (of each level, score * weight = '
'share; class before and after a conflict), retrieval (does each level find it; if not, what it '
'failed on), entities (shared and differing), text (counts of shingles and the longest passages that '
'both or only one have), settings (what is in force now). value is for people; detail holds figures, '
'and in report and retrieval a reason code. Costs some searches and reads both texts. Errors: SH001 '
'no such document, SH004 not indexed yet, SH005 unknown scope, SH008 no text, SH024 no configuration '
'in force.';
