-- The verdict. A document is judged against those that arrived before it: of two copies the later
-- one is the duplicate, and the answer does not change when more documents come.
create or replace function sherlock._detection(
    p_query sherlock._query,
    p_before bigint,
    p_limit integer
)
returns sherlock.detection
language plpgsql stable
set search_path from current
as $$
declare
    v_started timestamptz := clock_timestamp();
    v_found sherlock._search_result;
    v_detection sherlock.detection;
begin
    v_found := sherlock._search(p_query, p_before, p_limit);
    v_detection.document_id := p_query.document_id;
    v_detection.total_checked := v_found.total_checked;
    v_detection.short_circuited := v_found.short_circuited;
    v_detection.level_scores := v_found.level_scores;
    select coalesce(
               jsonb_agg(to_jsonb(m) order by o.ordinal)
                   filter (where p_limit is null or o.ordinal <= p_limit),
               '[]'),
           count(*) filter (where (m).confidence in ('EXACT', 'HIGH')),
           count(*) filter (where (m).confidence = 'MEDIUM'),
           count(*) filter (where (m).confidence = 'LOW'),
           case
               when bool_or((m).action = 'REJECT') then 'REJECT'
               when bool_or((m).action = 'REVIEW') then 'REVIEW'
               else 'ACCEPT'
           end
    into v_detection.candidates, v_detection.high_confidence_count,
         v_detection.medium_confidence_count, v_detection.low_confidence_count,
         v_detection.recommended_action
    from generate_subscripts(v_found.matches, 1) as o (ordinal)
    cross join lateral (select v_found.matches[o.ordinal]) as x (m);
    v_detection.total_latency_ms :=
        round((extract(epoch from clock_timestamp() - v_started) * 1000)::numeric, 3);
    return v_detection;
end;
$$;

create or replace function sherlock.detect(
    p_document_id bigint,
    p_limit integer default null,
    p_scope text default 'earlier'
)
returns sherlock.detection
language plpgsql stable
set search_path from current
as $$
begin
    return sherlock._detection(
        sherlock._query_of_document(p_document_id),
        sherlock._scope_before(p_document_id, p_scope), p_limit);
end;
$$;

comment on function sherlock.detect(bigint, integer, text) is
'The verdict on a stored document, without storing it: recommended action, candidates with scores '
'and evidence, counts by class. By default against the documents that arrived before it (p_scope '
'earlier), so that of two copies the later one is the duplicate; all asks the whole collection. '
'p_limit cuts the list of candidates only (0 to 1000; default: max_results of the configuration). '
'Errors: SH001 no such document, SH004 not indexed yet, SH013 limit out of range.';

create or replace function sherlock.detect_text(
    p_text text,
    p_entities jsonb default '[]',
    p_collection text default 'default',
    p_doc_type text default 'auto',
    p_limit integer default null
)
returns sherlock.detection
language plpgsql stable
set search_path from current
as $$
begin
    return sherlock._detection(
        sherlock._query_of_text(
            sherlock.collection_id(p_collection),
            case when p_doc_type = 'auto' then sherlock.guess_doc_type(p_text)
                 else p_doc_type end,
            p_text, p_entities),
        null, p_limit);
end;
$$;

comment on function sherlock.detect_text(text, jsonb, text, text, integer) is
'The verdict on a text that is not stored; document_id is null. Arguments as for '
'sherlock.find_duplicates_of_text.';

create or replace function sherlock.record_detection(p_document_id bigint)
returns sherlock.detection
language plpgsql volatile
set search_path from current
as $$
declare
    v_detection sherlock.detection;
    v_later bigint;
begin
    v_detection := sherlock._store_detection(p_document_id);
    -- A document that was read slowly may be matched by one that arrived later and was judged
    -- before this one could be seen: judge those again.
    if exists (
        select 1 from sherlock.detections as d where d.document_id > p_document_id
    ) then
        for v_later in
            select m.document_id
            from sherlock.find_duplicates(p_document_id) as m
            join sherlock.detections as d on d.document_id = m.document_id
            where m.document_id > p_document_id
            order by m.document_id
        loop
            perform sherlock._store_detection(v_later);
        end loop;
    end if;
    return v_detection;
end;
$$;

comment on function sherlock.record_detection(bigint) is
'Judges a stored document as sherlock.detect does, stores the verdict and its matches, and '
'judges again those later documents that match it. Call it after the document is committed.';

create or replace function sherlock._store_detection(p_document_id bigint)
returns sherlock.detection
language plpgsql volatile
set search_path from current
as $$
declare
    v_query sherlock._query := sherlock._query_of_document(p_document_id);
    v_config_id integer;
    v_scheme_id integer;
    v_model_id integer := sherlock.active_tfidf_model(v_query.collection_id);
    v_detection sherlock.detection;
begin
    -- Two sessions that judge one document take turns.
    perform 1 from sherlock.documents as d
    where d.document_id = p_document_id
    for no key update;
    v_detection := sherlock._detection(v_query, p_document_id, null);
    v_config_id :=
        (sherlock.detection_config(v_query.collection_id, v_query.doc_type)).config_id;
    select c.scheme_id into strict v_scheme_id
    from sherlock.collections as c
    where c.collection_id = v_query.collection_id;

    insert into sherlock.detections as d (
        document_id, recommended_action, confidence, best_match_id, best_score, total_checked,
        high_confidence_count, medium_confidence_count, low_confidence_count, total_latency_ms,
        short_circuited, level_scores, detected_at)
    values (
        p_document_id, v_detection.recommended_action,
        v_detection.candidates -> 0 ->> 'confidence',
        (v_detection.candidates -> 0 ->> 'document_id')::bigint,
        (v_detection.candidates -> 0 ->> 'final_score')::double precision,
        v_detection.total_checked, v_detection.high_confidence_count,
        v_detection.medium_confidence_count, v_detection.low_confidence_count,
        v_detection.total_latency_ms, v_detection.short_circuited, v_detection.level_scores,
        clock_timestamp())
    on conflict (document_id) do update set
        recommended_action = excluded.recommended_action,
        confidence = excluded.confidence,
        best_match_id = excluded.best_match_id,
        best_score = excluded.best_score,
        total_checked = excluded.total_checked,
        high_confidence_count = excluded.high_confidence_count,
        medium_confidence_count = excluded.medium_confidence_count,
        low_confidence_count = excluded.low_confidence_count,
        total_latency_ms = excluded.total_latency_ms,
        short_circuited = excluded.short_circuited,
        level_scores = excluded.level_scores,
        detected_at = excluded.detected_at;

    delete from sherlock.matches as m where m.document_id = p_document_id;
    insert into sherlock.matches (
        document_id, matched_document_id, confidence, action, final_score, minhash_score,
        tfidf_score, entity_score, has_conflict, evidence, config_id, scheme_id, model_id)
    select p_document_id, m.document_id, m.confidence, m.action, m.final_score, m.minhash_score,
           m.tfidf_score, m.entity_score, m.has_conflict, m.evidence, v_config_id, v_scheme_id,
           v_model_id
    from jsonb_populate_recordset(null::sherlock.match, v_detection.candidates) as m;

    if v_detection.recommended_action <> 'ACCEPT' then
        perform pg_notify('sherlock_duplicate', jsonb_build_object(
            'document_id', p_document_id,
            'confidence', v_detection.candidates -> 0 -> 'confidence',
            'action', v_detection.recommended_action,
            'best_match_id', v_detection.candidates -> 0 -> 'document_id',
            'score', v_detection.candidates -> 0 -> 'final_score')::text);
    end if;
    return v_detection;
end;
$$;
