-- Judging: a verdict made, stored, made again. Documents that may match each other are judged one
-- after the other, so that of two that arrive at the same moment the later one finds the earlier.

-- What documents can be found by, as numbers of buckets: band keys, text, identifiers.
create or replace function sherlock._judging_buckets(p_document_ids bigint[])
returns table (collection_id integer, bucket integer)
language plpgsql stable
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    -- Few enough that the table stays small, so many that unrelated documents seldom meet.
    c_bucket_mask constant bigint := 4194303;
begin
    return query
    select distinct k.collection_id, (k.key & c_bucket_mask)::integer
    from (
        select d.collection_id, b.key
        from sherlock.document_signatures as s
        join sherlock.documents as d using (document_id)
        join sherlock.shingle_schemes as c using (scheme_id)
        cross join lateral unnest(sherlock.band_keys(
            s.signature, s.scheme_id, d.collection_id, c.band_count, c.rows_per_band)) as b (key)
        where s.document_id = any(p_document_ids)
        union all
        select d.collection_id, hashtextextended(encode(d.canonical_sha256, 'hex'), 0)
        from sherlock.documents as d
        where d.document_id = any(p_document_ids) and d.canonical_sha256 is not null
        union all
        select e.collection_id,
               hashtextextended(e.role || ' ' || coalesce(e.name_key, e.normalised), 0)
        from sherlock.entities as e
        where e.document_id = any(p_document_ids)
          and e.is_comparable
          and e.role in ('demandante', 'cedula', 'correo', 'radicado')
    ) as k
    order by 1, 2;
end;
$$;

-- Rows, not advisory locks: they don't fill the lock table when a statement brings thousands of
-- documents; taken in one order, two statements can't wait for each other; and because they are
-- updated, a transaction whose snapshot is older than another's judgement fails with SQLSTATE 40001
-- instead of missing it. What this transaction holds already is not taken again.
create or replace function sherlock._lock_for_judging(p_document_ids bigint[])
returns void
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_transaction constant xid := pg_current_xact_id()::xid;
begin
    insert into sherlock.judging_locks as l (collection_id, bucket, locked_at)
    select b.collection_id, b.bucket, clock_timestamp()
    from sherlock._judging_buckets(p_document_ids) as b
    -- A scalar, so that it is looked up by the index for each bucket.
    where (
        select h.xmin
        from sherlock.judging_locks as h
        where h.collection_id = b.collection_id and h.bucket = b.bucket
    ) is distinct from v_transaction
    order by b.collection_id, b.bucket
    on conflict (collection_id, bucket) do update set locked_at = excluded.locked_at;
end;
$$;

create or replace function sherlock._store_detection(p_document_id bigint)
returns sherlock.detection
language plpgsql volatile
set search_path from current
as $$
declare
    v_query sherlock._query := sherlock._query_of_document(p_document_id);
    v_config_id integer;
    v_scheme_id integer;
    v_detection sherlock.detection;
    v_before sherlock.detections;
    v_closed sherlock.matches[];
    v_confidence text;
    v_best_match_id bigint;
    v_is_new boolean;
begin
    -- Two sessions that judge one document take turns.
    perform 1 from sherlock.documents as d
    where d.document_id = p_document_id
    for no key update;
    v_detection := sherlock._detection(v_query, p_document_id, null);
    v_confidence := v_detection.candidates -> 0 ->> 'confidence';
    v_best_match_id := (v_detection.candidates -> 0 ->> 'document_id')::bigint;
    v_config_id :=
        (sherlock.detection_config(v_query.collection_id, v_query.doc_type)).config_id;
    select c.scheme_id into strict v_scheme_id
    from sherlock.collections as c
    where c.collection_id = v_query.collection_id;

    select v.* into v_before from sherlock.detections as v where v.document_id = p_document_id;
    v_is_new := v_before.document_id is null
        or (v_before.recommended_action, v_before.confidence, v_before.best_match_id)
           is distinct from (v_detection.recommended_action, v_confidence, v_best_match_id);
    if v_before.document_id is not null then
        if v_is_new then
            insert into sherlock.closed_detections (
                document_id, name, recommended_action, confidence, best_match_id, best_score,
                detected_at, closed_reason)
            select p_document_id, d.name, v_before.recommended_action, v_before.confidence,
                   v_before.best_match_id, v_before.best_score, v_before.detected_at, 'rejudged'
            from sherlock.documents as d
            where d.document_id = p_document_id;
        end if;
        with closed as (
            delete from sherlock.matches as m
            where m.document_id = p_document_id
              and not exists (
                  select
                  from jsonb_populate_recordset(null::sherlock.match, v_detection.candidates) as n
                  where n.document_id = m.matched_document_id and n.confidence = m.confidence)
            returning m
        )
        select array_agg(c.m) into v_closed from closed as c;
        perform sherlock._close_matches(v_closed, 'rejudged');
    end if;

    insert into sherlock.detections as d (
        document_id, recommended_action, confidence, best_match_id, best_score, total_checked,
        high_confidence_count, medium_confidence_count, low_confidence_count, total_latency_ms,
        short_circuited, level_scores, hot_band_keys, detected_at)
    values (
        p_document_id, v_detection.recommended_action, v_confidence, v_best_match_id,
        (v_detection.candidates -> 0 ->> 'final_score')::double precision,
        v_detection.total_checked, v_detection.high_confidence_count,
        v_detection.medium_confidence_count, v_detection.low_confidence_count,
        v_detection.total_latency_ms, v_detection.short_circuited, v_detection.level_scores,
        v_detection.hot_band_keys, clock_timestamp())
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
        hot_band_keys = excluded.hot_band_keys,
        detected_at = excluded.detected_at;

    insert into sherlock.matches as o (
        document_id, matched_document_id, confidence, action, final_score, minhash_score,
        tfidf_score, entity_score, has_conflict, evidence, config_id, scheme_id, model_id)
    select p_document_id, m.document_id, m.confidence, m.action, m.final_score, m.minhash_score,
           m.tfidf_score, m.entity_score, m.has_conflict, m.evidence, v_config_id, v_scheme_id,
           v_query.model_id
    from jsonb_populate_recordset(null::sherlock.match, v_detection.candidates) as m
    on conflict (document_id, matched_document_id) do update set
        action = excluded.action,
        final_score = excluded.final_score,
        minhash_score = excluded.minhash_score,
        tfidf_score = excluded.tfidf_score,
        entity_score = excluded.entity_score,
        has_conflict = excluded.has_conflict,
        evidence = excluded.evidence,
        config_id = excluded.config_id,
        scheme_id = excluded.scheme_id,
        model_id = excluded.model_id;

    if v_is_new and v_detection.recommended_action <> 'ACCEPT' then
        perform pg_notify('sherlock_duplicate', jsonb_build_object(
            'document_id', p_document_id,
            'confidence', v_confidence,
            'action', v_detection.recommended_action,
            'best_match_id', v_best_match_id,
            'score', v_detection.candidates -> 0 -> 'final_score')::text);
    end if;
    return v_detection;
end;
$$;

-- In the order of the ids: of two equal documents the later one is the duplicate.
create or replace function sherlock._judge(p_document_ids bigint[])
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_id bigint;
    v_first_id bigint := (select min(i.id) from unnest(p_document_ids) as i (id));
    v_others_are_later boolean;
begin
    perform sherlock._lock_for_judging(p_document_ids);
    for v_document_id in select i.id from unnest(p_document_ids) as i (id) order by i.id loop
        perform sherlock._store_detection(v_document_id);
    end loop;
    -- A document that was read slowly may be matched by one that arrived later and was judged
    -- before this one could be seen: judge those again.
    select count(*) = cardinality(p_document_ids) into v_others_are_later
    from (
        select from sherlock.detections as v
        where v.document_id > v_first_id
        limit cardinality(p_document_ids)
    ) as l;
    if v_others_are_later then
        for v_document_id in
            select distinct m.document_id
            from unnest(p_document_ids) as i (id)
            cross join lateral sherlock.find_duplicates(i.id) as m
            join sherlock.detections as v on v.document_id = m.document_id
            where m.document_id > i.id and m.document_id <> all(p_document_ids)
            order by m.document_id
        loop
            perform sherlock._store_detection(v_document_id);
        end loop;
    end if;
end;
$$;

create or replace function sherlock.record_detection(p_document_id bigint)
returns sherlock.detection
language plpgsql volatile
set search_path from current
as $$
begin
    perform sherlock._judge(array[p_document_id]);
    perform sherlock._complete_items(array[p_document_id]);
    return sherlock.verdict(p_document_id);
end;
$$;

comment on function sherlock.record_detection(bigint) is
'Judges a stored document as sherlock.detect does, stores the verdict and its matches, and '
'judges again those later documents that match it. Documents that may match each other are judged '
'one after the other: it waits for other transactions that judge such a one. Errors: SH001 no such '
'document, SH004 not indexed yet, SH008 no text; 40001 (repeatable read) and 40P01 if transactions '
'got in each other''s way: try again.';

create or replace function sherlock.verdict(p_document_id bigint)
returns sherlock.detection
language plpgsql stable
set search_path from current
as $$
declare
    v_detection sherlock.detection;
begin
    select v.document_id, v.recommended_action,
           (select coalesce(
                jsonb_agg(jsonb_build_object(
                    'document_id', m.matched_document_id, 'name', d.name,
                    'confidence', m.confidence, 'action', m.action,
                    'final_score', m.final_score, 'minhash_score', m.minhash_score,
                    'tfidf_score', m.tfidf_score, 'entity_score', m.entity_score,
                    'has_conflict', m.has_conflict, 'evidence', m.evidence)
                    order by sherlock._class_rank(m.confidence), m.final_score desc,
                             m.matched_document_id),
                '[]')
            from sherlock.matches as m
            left join sherlock.documents as d on d.document_id = m.matched_document_id
            where m.document_id = p_document_id),
           v.total_checked, v.high_confidence_count, v.medium_confidence_count,
           v.low_confidence_count, v.level_scores, v.short_circuited, v.total_latency_ms,
           v.hot_band_keys
    into v_detection
    from sherlock.detections as v
    where v.document_id = p_document_id;
    if not found then
        -- Says why there is none.
        perform sherlock._query_of_document(p_document_id);
        raise exception using
            errcode = 'SH023',
            message = format('document %s has no verdict yet', p_document_id),
            hint = format('run: select * from sherlock.record_detection(%s)', p_document_id);
    end if;
    return v_detection;
end;
$$;

comment on function sherlock.verdict(bigint) is
'The stored verdict on a document with its matches, without searching again. Errors: SH001 no such '
'document, SH004 not indexed yet, SH008 no text, SH023 not judged yet.';

create or replace function sherlock.judge_missing(
    p_collection text default 'default',
    p_limit integer default 1000
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_ids bigint[] := array(
        select d.document_id
        from sherlock.documents as d
        where d.collection_id = sherlock.collection_id(p_collection)
          and d.status in ('ok', 'partial')
          and d.text_state is not null
          and not exists (select from sherlock.detections as v where v.document_id = d.document_id)
        order by d.document_id
        limit p_limit
    );
begin
    perform sherlock._judge(v_document_ids);
    perform sherlock._complete_items(v_document_ids);
    return cardinality(v_document_ids);
end;
$$;

comment on function sherlock.judge_missing(text, integer) is
'Judges the next documents of a collection that have no verdict, and returns how many: after a bulk '
'load, or where a deleted document had too many matches to judge them all at once. Call it until it '
'returns 0. Error: SH002 no such collection.';
