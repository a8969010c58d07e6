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
    v_detection.hot_band_keys := v_found.hot_band_keys;
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
