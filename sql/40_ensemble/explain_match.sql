-- Why the search reports a pair, or why not, for people: what each level says, whether each
-- retrieval brings the other document, which entities and passages the two share. Whatever is said
-- about the search comes from the search's own functions, run again for this pair.

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
        '%s: %s, lowered from %s because the identities or the matters conflict',
        p_compared ->> 'score', p_compared ->> 'confidence', p_compared #>> '{evidence,uncapped_class}')
end;

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
    v_model_id constant integer := v_query.model_id;
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
                      when 'indexed' then concat_ws(
                          ', ', format('indexed, %s words', d.word_count), b.description)
                      else sherlock._explain_text_state(d.document_id, d.text_state, v_scheme)
                  end),
           jsonb_build_object(
               'collection', c.name, 'created_at', d.created_at, 'word_count', d.word_count)
               || coalesce(b.detail, '{}')
    from unnest(array[p_document_id, p_other_id]) with ordinality as a (document_id, ordinal)
    join sherlock.documents as d on d.document_id = a.document_id
    join sherlock.collections as c on c.collection_id = d.collection_id
    left join lateral (
        select format('%s %% boilerplate', round(100.0 * s.boilerplate_count / s.shingle_count))
                   as description,
               jsonb_build_object(
                   'shingle_count', s.shingle_count, 'boilerplate_count', s.boilerplate_count)
                   as detail
        from sherlock.document_signatures as s
        where s.document_id = d.document_id
          and s.scheme_id = v_scheme.scheme_id
          and v_scheme.stop_list_id is not null
    ) as b on true
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
'both or only one have, without the boilerplate that the scheme leaves out), settings (what is in '
'force now). value is for people; detail holds figures, and in report and retrieval a reason code. '
'Costs some searches and reads both texts. Errors: SH001 no such document, SH004 not indexed yet, '
'SH005 unknown scope, SH008 no text, SH024 no configuration in force.';
