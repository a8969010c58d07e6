-- Documents processed again: entities or features are replaced, what stood before is kept, and who
-- was judged by it is judged again.

create or replace function sherlock._entities_as_json(p_document_id bigint)
returns jsonb
language sql stable
begin atomic
    select coalesce(
        jsonb_agg(
            jsonb_strip_nulls(jsonb_build_object(
                'role', e.role, 'value', e.value, 'id_type', e.id_type, 'owner', e.owner_role,
                'source', e.source, 'score', e.score, 'start', e.start_offset,
                'end', e.end_offset, 'is_comparable', e.is_comparable))
            order by e.role, e.ordinal),
        '[]')
    from sherlock.entities as e
    where e.document_id = p_document_id;
end;

-- Documents as they stand, as rows of the history.
create or replace function sherlock._present_readings(p_document_ids bigint[], p_kind text)
returns setof sherlock.document_readings
language sql stable
begin atomic
    select d.document_id,
           coalesce((
               select max(r.reading_number)
               from sherlock.document_readings as r
               where r.document_id = d.document_id), 0) + 1,
           p_kind, now(), session_user::text, d.status, d.reason, d.reason_detail, d.flags,
           d.doc_type, case when p_kind = 'ocr' then d.content end, d.text_state,
           d.feature_version, sherlock._entities_as_json(d.document_id),
           case when p_kind = 'ocr' then (
               select jsonb_agg(
                   jsonb_build_object(
                       'number', p.page_number, 'method', p.method, 'char_count', p.char_count,
                       'quality', p.quality)
                   order by p.page_number)
               from sherlock.document_pages as p
               where p.document_id = d.document_id)
           end,
           d.processing, d.accepted_by, d.accepted_at
    from sherlock.documents as d
    where d.document_id = any(p_document_ids)
    order by d.document_id;
end;

create or replace function sherlock._lock_documents(p_document_ids bigint[])
returns void
language plpgsql volatile
set search_path from current
as $$
-- In the order of the ids: sessions with overlapping documents then wait in one direction.
declare
    v_missing bigint;
begin
    perform 1
    from sherlock.documents as d
    where d.document_id = any(p_document_ids)
    order by d.document_id
    for no key update;
    select i.id into v_missing
    from unnest(p_document_ids) as i (id)
    where not exists (select from sherlock.documents as d where d.document_id = i.id)
    limit 1;
    if found then
        raise exception using
            errcode = 'SH001',
            message = format('there is no document %s', coalesce(v_missing::text, 'null')),
            hint = 'documents are listed by: select document_id, name from sherlock.documents';
    end if;
end;
$$;

-- Documents that were judged against these, not among them.
create or replace function sherlock._judged_against(p_document_ids bigint[])
returns bigint[]
language sql stable
return array(
    select distinct m.document_id
    from sherlock.matches as m
    where m.matched_document_id = any(p_document_ids) and m.document_id <> all(p_document_ids)
    order by m.document_id
);

create or replace function sherlock._last_closed_detection()
returns bigint
language sql stable
return coalesce((select max(c.closed_detection_id) from sherlock.closed_detections as c), 0);

-- Verdicts before and after: of documents that were processed again and of others that were judged
-- again because of them. p_last_closed: the last verdict that had been closed before.
create or replace function sherlock._verdict_changes(
    p_document_ids bigint[],
    p_changed_ids bigint[],
    p_judged_against bigint[],
    p_last_closed bigint
)
returns table (
    document_id bigint,
    is_changed boolean,
    confidence_before text,
    confidence text,
    action_before text,
    action text
)
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
begin
    return query
    with affected as (
        select i.id, true as is_asked_for
        from unnest(p_document_ids) as i (id)
        union all
        (
            select o.id, false
            from unnest(p_judged_against) as o (id)
            union
            select m.document_id, false
            from sherlock.matches as m
            where m.matched_document_id = any(p_changed_ids)
              and m.document_id <> all(p_document_ids)
        )
    ),
    compared as (
        select a.id, a.is_asked_for, a.id = any(p_changed_ids) as is_changed,
               case when b.document_id is null then v.confidence else b.confidence end
                   as confidence_before,
               v.confidence,
               case when b.document_id is null then v.recommended_action
                    else b.recommended_action end as action_before,
               v.recommended_action as action
        from affected as a
        left join sherlock.detections as v on v.document_id = a.id
        left join lateral (
            select c.document_id, c.confidence, c.recommended_action
            from sherlock.closed_detections as c
            where c.document_id = a.id and c.closed_detection_id > p_last_closed
            order by c.closed_detection_id
            limit 1
        ) as b on true
    )
    select c.id, c.is_changed, c.confidence_before, c.confidence, c.action_before, c.action
    from compared as c
    where c.is_asked_for
       or (c.confidence_before, c.action_before) is distinct from (c.confidence, c.action)
    order by c.id;
end;
$$;

-- p_changed_ids have other entities or features now: judged again, those that had a verdict, and
-- those that were judged against them. The others are judged when it is their turn.
create or replace function sherlock._judge_changed(
    p_changed_ids bigint[],
    p_judged_against bigint[]
)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    if p_changed_ids <> '{}' then
        perform sherlock._judge(array(
            select d.document_id
            from sherlock.documents as d
            join sherlock.detections as v using (document_id)
            where d.document_id = any(p_changed_ids) and d.text_state is not null
            order by d.document_id));
        perform sherlock._rejudge(p_judged_against, 'rejudged');
    end if;
end;
$$;

-- What of an entity decides how documents compare, or is shown to people.
create or replace function sherlock._comparable_entities(p_entities sherlock.entities[])
returns text[]
language sql immutable parallel safe
return (
    select array_agg(
        row(e.role, e.value, e.normalised, e.owner_role, e.id_type, e.is_comparable)::text
        order by e.role, e.normalised, e.value)
    from unnest(p_entities) as e
);

create or replace function sherlock.replace_entities(
    p_document_ids bigint[],
    p_entities jsonb[],
    p_processing jsonb[] default null
)
returns table (
    document_id bigint,
    is_changed boolean,
    confidence_before text,
    confidence text,
    action_before text,
    action text
)
language plpgsql volatile
set search_path from current
as $$
#variable_conflict use_column
declare
    v_changed_ids bigint[];
    v_judged_against bigint[];
    v_last_closed bigint;
begin
    if cardinality(p_document_ids) is distinct from cardinality(p_entities)
       or p_processing is not null
          and cardinality(p_document_ids) <> cardinality(p_processing)
       or (select count(distinct i.id) from unnest(p_document_ids) as i (id))
          <> cardinality(p_document_ids)
    then
        raise exception using
            errcode = 'SH055',
            message = 'the arrays do not fit together',
            detail = format('%s documents, %s arrays of entities, %s of processing',
                            cardinality(p_document_ids), cardinality(p_entities),
                            coalesce(cardinality(p_processing)::text, 'no')),
            hint = 'one element of each array for each document, and each document once';
    end if;
    perform sherlock._lock_documents(p_document_ids);
    v_changed_ids := array(
        select n.document_id
        from unnest(p_document_ids, p_entities) as n (document_id, entities)
        where sherlock._comparable_entities(
                  array(select e from sherlock._read_entities(n.entities) as e))
              is distinct from sherlock._comparable_entities(array(
                  select e from sherlock.entities as e where e.document_id = n.document_id))
        order by n.document_id
    );
    v_judged_against := sherlock._judged_against(v_changed_ids);
    v_last_closed := sherlock._last_closed_detection();
    -- By the old entities: who judges against them now is waited for.
    perform sherlock._lock_for_judging(v_changed_ids);
    insert into sherlock.document_readings
    select r.* from sherlock._present_readings(v_changed_ids, 'ner') as r;

    perform sherlock.store_entities(n.document_id, n.entities)
    from (
        select u.document_id, u.entities
        from unnest(p_document_ids, p_entities) as u (document_id, entities)
        order by u.document_id
    ) as n;
    update sherlock.documents as d
    set processing = coalesce(d.processing, '{}') || coalesce(n.processing, '{}'),
        flags = array_remove(d.flags, 'ner_failed'),
        supplied_entities = case when d.supplied_entities is not null then n.entities end
    from unnest(p_document_ids, p_entities, p_processing)
        as n (document_id, entities, processing)
    where d.document_id = n.document_id;

    perform sherlock._judge_changed(v_changed_ids, v_judged_against);
    return query
    select c.* from sherlock._verdict_changes(
        p_document_ids, v_changed_ids, v_judged_against, v_last_closed) as c;
end;
$$;

comment on function sherlock.replace_entities(bigint[], jsonb[], jsonb[]) is
'Replaces the entities of documents by others that were found in the same texts, keeps the old ones '
'in sherlock.document_readings, and judges again: the documents and those judged against them. '
'p_entities: one array for each document, as sherlock.store_entities takes it. p_processing: what is '
'to be noted with each, {"ner_versions": ...}; added to what is there. Returns a row for each document '
'(is_changed: its entities differ from before) and for each other one whose verdict is another now, '
'with class and action before and after. Where nothing differs nothing is kept and nothing judged. '
'Errors: SH001 no such document, SH020 unknown role, SH021 entities of another shape, SH055 arrays of '
'different lengths; 40P01 and 40001: try again.';

create or replace function sherlock.replace_entities(
    p_document_id bigint,
    p_entities jsonb,
    p_processing jsonb default '{}'
)
returns boolean
language sql volatile
begin atomic
    select r.is_changed
    from sherlock.replace_entities(
        array[p_document_id], array[p_entities], array[p_processing]) as r
    where r.document_id = p_document_id;
end;

comment on function sherlock.replace_entities(bigint, jsonb, jsonb) is
'The same for one document: whether its entities differ from before.';

create or replace function sherlock._feature_digests(p_document_ids bigint[])
returns table (document_id bigint, digest text)
language sql stable
begin atomic
    select d.document_id,
           md5(concat_ws('|',
               d.text_state, encode(d.canonical_sha256, 'hex'),
               (select string_agg(md5(concat_ws(' ', s.scheme_id, s.signature::text)), ','
                                  order by s.scheme_id)
                from sherlock.document_signatures as s
                where s.document_id = d.document_id),
               (select string_agg(md5(concat_ws(' ', v.model_id, v.vector::text)), ','
                                  order by v.model_id)
                from sherlock.document_vectors as v
                where v.document_id = d.document_id),
               (select md5(concat_ws(' ', r.numbers::text, r.dates::text))
                from sherlock.document_references as r
                where r.document_id = d.document_id)))
    from sherlock.documents as d
    where d.document_id = any(p_document_ids);
end;

-- p_readings: the documents as they stood before, for those whose features turn out to be others.
create or replace function sherlock._reindex(
    p_document_ids bigint[],
    p_readings sherlock.document_readings[]
)
returns table (
    document_id bigint,
    is_changed boolean,
    confidence_before text,
    confidence text,
    action_before text,
    action text
)
language plpgsql volatile
set search_path from current
as $$
#variable_conflict use_column
declare
    v_digests jsonb;
    v_changed_ids bigint[];
    v_judged_against bigint[];
    v_last_closed bigint;
begin
    -- By the old features: who judges against them now is waited for.
    perform sherlock._lock_for_judging(p_document_ids);
    v_judged_against := sherlock._judged_against(p_document_ids);
    v_last_closed := sherlock._last_closed_detection();
    select jsonb_object_agg(g.document_id, g.digest) into v_digests
    from sherlock._feature_digests(p_document_ids) as g;

    perform sherlock.index_documents(p_document_ids);

    v_changed_ids := array(
        select g.document_id
        from sherlock._feature_digests(p_document_ids) as g
        where g.digest is distinct from v_digests ->> g.document_id::text
        order by g.document_id
    );
    insert into sherlock.document_readings
    select r.* from unnest(p_readings) as r where r.document_id = any(v_changed_ids);
    perform sherlock._judge_changed(v_changed_ids, v_judged_against);
    return query
    select c.* from sherlock._verdict_changes(
        p_document_ids, v_changed_ids, v_judged_against, v_last_closed) as c;
end;
$$;

create or replace function sherlock.reindex(p_document_ids bigint[])
returns table (
    document_id bigint,
    is_changed boolean,
    confidence_before text,
    confidence text,
    action_before text,
    action text
)
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_ids bigint[] := array(
        select distinct i.id from unnest(p_document_ids) as i (id) order by i.id);
begin
    perform sherlock._lock_documents(v_document_ids);
    return query
    select r.* from sherlock._reindex(
        v_document_ids,
        array(select p from sherlock._present_readings(v_document_ids, 'features') as p)) as r;
end;
$$;

comment on function sherlock.reindex(bigint[]) is
'Computes the features of documents again by the rules and the scheme of today, keeps the readings '
'whose features differ in sherlock.document_readings, and judges those again, with the documents that '
'were judged against them. Returns a row for each document (is_changed: its features differ from '
'before) and for each other one whose verdict is another now, with class and action before and '
'after. Documents without a text are left as they are. Errors: SH001 no such document; 40P01 and '
'40001: try again.';

-- A person's word on a reading that its flags keep out.
create or replace function sherlock.accept_reading(
    p_document_id bigint,
    p_accepted_by text default session_user,
    p_withdraw boolean default false
)
returns text
language plpgsql volatile
set search_path from current
as $$
declare
    v_document sherlock.documents;
    v_readings sherlock.document_readings[];
begin
    perform sherlock._lock_documents(array[p_document_id]);
    select d.* into v_document
    from sherlock.documents as d
    where d.document_id = p_document_id;
    if v_document.text_state is null then
        raise exception using
            errcode = 'SH008',
            message = format('document %s has no text that could be accepted', p_document_id),
            hint = 'have its file read again: sherlock-pg reprocess --ocr --id '
                || p_document_id;
    end if;
    if p_withdraw and v_document.accepted_at is null
       or not p_withdraw
          and not sherlock._is_excluded(v_document.flags, v_document.accepted_at)
    then
        raise exception using
            errcode = 'SH056',
            message = case
                when p_withdraw then format('nobody accepted the reading of document %s',
                                            p_document_id)
                when v_document.accepted_at is not null
                then format('the reading of document %s was accepted by %s', p_document_id,
                            v_document.accepted_by)
                else format('no flag keeps document %s out', p_document_id)
            end,
            hint = 'what is kept out is listed by: select * from sherlock.unreadable_documents';
    end if;
    v_readings := array(
        select p from sherlock._present_readings(array[p_document_id], 'features') as p);
    update sherlock.documents as d
    set accepted_by = case when not p_withdraw then coalesce(p_accepted_by, session_user) end,
        accepted_at = case when not p_withdraw then clock_timestamp() end
    where d.document_id = p_document_id;
    perform sherlock._reindex(array[p_document_id], v_readings);
    return (
        select d.text_state from sherlock.documents as d where d.document_id = p_document_id
    );
end;
$$;

comment on function sherlock.accept_reading(bigint, text, boolean) is
'A person overrules the flags of a reading (low_yield, low_quality, ocr_timeout_pages): its text '
'takes part as any other, and it is judged again. Who and when stays in sherlock.documents. It holds '
'for this reading: when the file is read again it ends. p_withdraw takes it back. Returns the state of '
'the text then: indexed takes part in all levels, short and empty match exactly only. Errors: SH001 '
'no such document, SH008 no text, SH056 nothing to accept or withdraw.';
