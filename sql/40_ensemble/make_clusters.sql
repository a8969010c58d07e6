-- All clusters of a collection at once, from its matches. The documents are numbered in the order of
-- their ranks, and what belongs to whom is found in arrays by these numbers: the same as to follow the
-- matches document by document, in a hundredth of the time.

-- In the order of the later document's number all before it are decided: it belongs to the first
-- principal that it matches; who matches none is a principal. Numbers: of the principal, 0 for one.
create or replace function sherlock._principals(
    p_count integer,
    p_later integer[],
    p_earlier integer[]
)
returns integer[]
language plpgsql immutable parallel safe
as $$
declare
    v_principals integer[] := array_fill(0, array[p_count]);
begin
    for v_edge in 1 .. cardinality(p_later) loop
        if v_principals[p_later[v_edge]] = 0 and v_principals[p_earlier[v_edge]] = 0 then
            v_principals[p_later[v_edge]] := p_earlier[v_edge];
        end if;
    end loop;
    return v_principals;
end;
$$;

-- Numbers: of the first that matches connect it to, 0 for that one itself. A tree's root is its first.
create or replace function sherlock._components(
    p_count integer,
    p_later integer[],
    p_earlier integer[]
)
returns integer[]
language plpgsql immutable parallel safe
as $$
declare
    v_parents integer[] := array(select i from generate_series(1, p_count) as i);
    v_one integer;
    v_other integer;
begin
    for v_edge in 1 .. cardinality(p_later) loop
        v_one := p_later[v_edge];
        v_other := p_earlier[v_edge];
        while v_parents[v_one] <> v_one loop
            v_parents[v_one] := v_parents[v_parents[v_one]];
            v_one := v_parents[v_one];
        end loop;
        while v_parents[v_other] <> v_other loop
            v_parents[v_other] := v_parents[v_parents[v_other]];
            v_other := v_parents[v_other];
        end loop;
        if v_one <> v_other then
            v_parents[greatest(v_one, v_other)] := least(v_one, v_other);
        end if;
    end loop;
    -- Parents come first, so theirs are roots already.
    for v_number in 1 .. p_count loop
        v_parents[v_number] := v_parents[v_parents[v_number]];
    end loop;
    return array(
        select nullif(p.number, p.position)
        from unnest(v_parents) with ordinality as p (number, position)
        order by p.position);
end;
$$;

-- The planner may know nothing of matches that were just stored: never all documents for each of them.
create or replace function sherlock._make_clusters(p_clustering sherlock.clusterings)
returns void
language plpgsql volatile
set search_path from current
set enable_nestloop = off
as $$
declare
    v_class_rank constant integer := sherlock._class_rank(p_clustering.min_class);
    v_document_ids bigint[];
    v_later integer[];
    v_earlier integer[];
    v_numbers integer[];
begin
    with pairs as materialized (
        select m.document_id, m.matched_document_id
        from sherlock.matches as m
        cross join lateral (
            select
            from sherlock.documents as d
            where d.document_id = m.document_id and d.collection_id = p_clustering.collection_id
            offset 0
        ) as d
        where sherlock._class_rank(m.confidence) <= v_class_rank
    ),
    ranked as materialized (
        select i.id,
               row_number() over (
                   order by sherlock._survivor_rank(
                                p_clustering.survivor_order, p_clustering.preferred_ids, i.id),
                            i.id)::integer as number
        from (select p.document_id as id from pairs as p
              union
              select p.matched_document_id from pairs as p) as i
    ),
    edges as (
        select greatest(l.number, r.number) as later, least(l.number, r.number) as earlier
        from pairs as p
        join ranked as l on l.id = p.document_id
        join ranked as r on r.id = p.matched_document_id
    )
    select (select array_agg(k.id order by k.number) from ranked as k),
           array_agg(e.later order by e.later, e.earlier),
           array_agg(e.earlier order by e.later, e.earlier)
    into v_document_ids, v_later, v_earlier
    from edges as e;
    if v_document_ids is null then
        return;
    end if;
    v_numbers := case
        when p_clustering.mode = 'connected'
        then sherlock._components(cardinality(v_document_ids), v_later, v_earlier)
        else sherlock._principals(cardinality(v_document_ids), v_later, v_earlier)
    end;
    insert into sherlock.cluster_members as m (document_id, collection_id, cluster_id)
    select i.id, p_clustering.collection_id, v_document_ids[i.number]
    from unnest(v_document_ids, v_numbers) as i (id, number)
    where i.number > 0
    union
    select v_document_ids[i.number], p_clustering.collection_id, v_document_ids[i.number]
    from unnest(v_numbers) as i (number)
    where i.number > 0;
end;
$$;
