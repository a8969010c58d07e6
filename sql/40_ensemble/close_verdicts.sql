-- Verdicts and matches end when a text changes or goes: they are kept as history, and what was judged
-- against them is judged again.
create or replace function sherlock._close_matches(
    p_matches sherlock.matches[],
    p_closed_reason text,
    p_gone_ids bigint[] default '{}',
    p_gone_names text[] default '{}'
)
returns void
language plpgsql volatile
set search_path from current
as $$
-- p_gone_ids, p_gone_names: documents that can't be looked up any more.
begin
    insert into sherlock.closed_matches (
        document_id, name, matched_document_id, matched_name, confidence, action, final_score,
        minhash_score, tfidf_score, entity_score, has_conflict, evidence, config_id, scheme_id,
        model_id, detected_at, closed_reason)
    select m.document_id,
           coalesce(d.name, p_gone_names[array_position(p_gone_ids, m.document_id)]),
           m.matched_document_id,
           coalesce(o.name, p_gone_names[array_position(p_gone_ids, m.matched_document_id)]),
           m.confidence, m.action, m.final_score, m.minhash_score, m.tfidf_score, m.entity_score,
           m.has_conflict, m.evidence, m.config_id, m.scheme_id, m.model_id, m.detected_at,
           p_closed_reason
    from unnest(p_matches) as m
    left join sherlock.documents as d on d.document_id = m.document_id
    left join sherlock.documents as o on o.document_id = m.matched_document_id;
end;
$$;

-- The verdict on a document ends, and what it was found to match.
create or replace function sherlock._close_verdict(p_document_id bigint, p_closed_reason text)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_matches sherlock.matches[];
begin
    with closed as (
        delete from sherlock.matches as m where m.document_id = p_document_id returning m
    )
    select array_agg(c.m) into v_matches from closed as c;
    perform sherlock._close_matches(v_matches, p_closed_reason);
    with closed as (
        delete from sherlock.detections as v where v.document_id = p_document_id returning v.*
    )
    insert into sherlock.closed_detections (
        document_id, name, recommended_action, confidence, best_match_id, best_score, detected_at,
        closed_reason)
    select c.document_id, d.name, c.recommended_action, c.confidence, c.best_match_id,
           c.best_score, c.detected_at, p_closed_reason
    from closed as c
    left join sherlock.documents as d using (document_id);
end;
$$;

-- Matches with documents that are gone or changed end. Returns the documents that were judged
-- against them.
create or replace function sherlock._close_matches_with(
    p_document_ids bigint[],
    p_names text[],
    p_closed_reason text
)
returns bigint[]
language plpgsql volatile
set search_path from current
as $$
declare
    v_matches sherlock.matches[];
begin
    with closed as (
        delete from sherlock.matches as m
        where m.matched_document_id = any(p_document_ids)
        returning m
    )
    select array_agg(c.m order by (c.m).document_id) into v_matches from closed as c;
    perform sherlock._close_matches(v_matches, p_closed_reason, p_document_ids, p_names);
    return array(
        select distinct v.document_id
        from unnest(v_matches) as m
        join sherlock.detections as v using (document_id)
        where v.document_id <> all(p_document_ids)
        order by v.document_id
    );
end;
$$;

create or replace function sherlock._rejudge(
    p_document_ids bigint[],
    p_closed_reason text,
    p_limit integer default 1000
)
returns void
language plpgsql volatile
set search_path from current
as $$
-- A search takes milliseconds and the transaction waits for all of them: p_limit at most.
declare
    v_document record;
    v_unjudged_count integer := 0;
    v_collection text;
begin
    for v_document in
        select d.document_id, d.collection_id,
               i.position <= p_limit and d.text_state is not null as is_judged_now
        from unnest(p_document_ids) with ordinality as i (document_id, position)
        join sherlock.documents as d using (document_id)
        order by i.position
    loop
        if v_document.is_judged_now then
            perform sherlock._store_detection(v_document.document_id);
        else
            perform sherlock._close_verdict(v_document.document_id, p_closed_reason);
            v_unjudged_count := v_unjudged_count + 1;
            v_collection := coalesce(v_collection, (
                select c.name
                from sherlock.collections as c
                where c.collection_id = v_document.collection_id));
        end if;
    end loop;
    if v_unjudged_count > 0 then
        raise warning using
            message = format('%s documents that matched what changed have no verdict now',
                             v_unjudged_count),
            hint = format('judge them, until it returns 0: select sherlock.judge_missing(%L)',
                          v_collection);
    end if;
end;
$$;
