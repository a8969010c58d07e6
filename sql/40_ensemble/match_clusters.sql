-- Clusters from the matches. The documents are ranked, the survivor's order first: whom a better ranked
-- principal matches belongs to the best of those; who has none is a principal himself. In mode connected
-- all that matches connect belongs to the best ranked. Both depend on matches and ranks alone, not on
-- the order in which they came, so to follow changes gives what making all anew would.

-- All of the text before a part of it, no flags before flags, then the mean quality of the pages.
create or replace function sherlock._read_quality(
    p_document_id bigint,
    p_status text,
    p_flags text[]
)
returns double precision
language sql stable parallel safe
return case when p_status = 'ok' then 4 else 0 end
    + case when p_flags = '{}' then 2 else 0 end
    + coalesce(
        (select avg(p.quality) from sherlock.document_pages as p
         where p.document_id = p_document_id),
        1);

-- The lower the better; ties go to the lower document_id. Read where the documents are, because it may
-- change.
create or replace function sherlock._survivor_rank(
    p_order text,
    p_preferred_ids bigint[],
    p_document_id bigint
)
returns double precision
language sql stable parallel safe
return coalesce(
    array_position(p_preferred_ids, p_document_id) - 1e15::float8,
    (
        select (case when p_order like '% desc' then -1 else 1 end) * case split_part(p_order, ' ', 1)
                   when 'document_id' then d.document_id
                   when 'created_at' then extract(epoch from d.created_at)::float8
                   when 'word_count' then d.word_count
                   when 'page_count' then d.page_count
                   when 'file_size_bytes' then d.file_size_bytes
                   when 'read_quality' then sherlock._read_quality(d.document_id, d.status, d.flags)
               end
        from sherlock.documents as d
        where d.document_id = p_document_id
    ),
    'infinity'::float8);

create or replace function sherlock._cluster_neighbours(
    p_document_id bigint,
    p_class_rank integer
)
returns table (document_id bigint)
language sql stable parallel safe
begin atomic
    select m.matched_document_id
    from sherlock.matches as m
    where m.document_id = p_document_id
      and sherlock._class_rank(m.confidence) <= p_class_rank
    union
    select m.document_id
    from sherlock.matches as m
    where m.matched_document_id = p_document_id
      and sherlock._class_rank(m.confidence) <= p_class_rank;
end;

create or replace function sherlock._by_survivor_rank(
    p_clustering sherlock.clusterings,
    p_document_ids bigint[]
)
returns bigint[]
language sql stable parallel safe
return array(
    select i.id
    from (select distinct u.id from unnest(p_document_ids) as u (id)) as i
    order by sherlock._survivor_rank(
                 (p_clustering).survivor_order, (p_clustering).preferred_ids, i.id),
             i.id);

-- Whether a document is a principal depends on those that rank before it: in the order of the ranks each
-- is decided once, and who changes sides makes those after it be asked again. A few rows of large tables,
-- whose statistics the plan is older than: never read whole.
create or replace function sherlock._cluster_by_principals(
    p_clustering sherlock.clusterings,
    p_document_ids bigint[]
)
returns void
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_class_rank constant integer := sherlock._class_rank(p_clustering.min_class);
    v_order constant text := p_clustering.survivor_order;
    v_preferred_ids constant bigint[] := p_clustering.preferred_ids;
    v_waiting bigint[] := sherlock._by_survivor_rank(p_clustering, p_document_ids);
    v_next bigint[];
    v_touched bigint[] := '{}';
    v_document_id bigint;
    v_rank double precision;
    v_principal_id bigint;
    v_before_id bigint;
begin
    while v_waiting <> '{}' loop
        v_next := '{}';
        foreach v_document_id in array v_waiting loop
            v_rank := sherlock._survivor_rank(v_order, v_preferred_ids, v_document_id);
            v_principal_id := (
                select n.document_id
                from sherlock._cluster_neighbours(v_document_id, v_class_rank) as n
                cross join lateral sherlock._survivor_rank(
                    v_order, v_preferred_ids, n.document_id) as r (rank)
                where (r.rank, n.document_id) < (v_rank, v_document_id)
                  and not exists (
                      select from sherlock.cluster_members as m
                      where m.document_id = n.document_id and m.cluster_id <> n.document_id)
                order by r.rank, n.document_id
                limit 1
            );
            -- Null for principals, whether they have members or not.
            v_before_id := (
                select m.cluster_id
                from sherlock.cluster_members as m
                where m.document_id = v_document_id and m.cluster_id <> v_document_id
            );
            v_touched := v_touched || v_document_id;
            continue when v_principal_id is not distinct from v_before_id;
            if v_principal_id is null then
                delete from sherlock.cluster_members as m where m.document_id = v_document_id;
            else
                insert into sherlock.cluster_members as m (document_id, collection_id, cluster_id)
                values (v_document_id, p_clustering.collection_id, v_principal_id)
                on conflict (document_id) do update set cluster_id = excluded.cluster_id;
            end if;
            v_touched := v_touched || v_before_id || v_principal_id;
            if (v_principal_id is null) <> (v_before_id is null) then
                v_next := v_next || array(
                    select n.document_id
                    from sherlock._cluster_neighbours(v_document_id, v_class_rank) as n
                    cross join lateral sherlock._survivor_rank(
                        v_order, v_preferred_ids, n.document_id) as r (rank)
                    where (r.rank, n.document_id) > (v_rank, v_document_id)
                );
            end if;
        end loop;
        v_waiting := sherlock._by_survivor_rank(p_clustering, v_next);
    end loop;

    -- Principals are members of their own clusters as long as they have others.
    insert into sherlock.cluster_members as m (document_id, collection_id, cluster_id)
    select distinct m.cluster_id, m.collection_id, m.cluster_id
    from unnest(v_touched) as t (id)
    join sherlock.cluster_members as m on m.cluster_id = t.id
    on conflict (document_id) do nothing;
    delete from sherlock.cluster_members as m
    using unnest(v_touched) as t (id)
    where m.document_id = t.id
      and m.cluster_id = t.id
      and not exists (
          select from sherlock.cluster_members as o
          where o.cluster_id = t.id and o.document_id <> t.id);
end;
$$;

-- Clusters that a match connects become one. A cluster that lost a match is taken apart and connected
-- again.
create or replace function sherlock._cluster_by_connections(
    p_clustering sherlock.clusterings,
    p_document_ids bigint[],
    p_lost_ids bigint[]
)
returns void
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_class_rank constant integer := sherlock._class_rank(p_clustering.min_class);
    v_apart_ids bigint[];
    v_document_id bigint;
    v_met_ids bigint[];
    v_cluster_ids bigint[];
begin
    with apart as (
        delete from sherlock.cluster_members as m
        where m.cluster_id in (
            select l.cluster_id
            from sherlock.cluster_members as l
            where l.document_id = any(p_lost_ids))
        returning m.document_id
    )
    select array_agg(a.document_id) into v_apart_ids from apart as a;
    foreach v_document_id in array
        sherlock._by_survivor_rank(p_clustering, p_document_ids || v_apart_ids)
    loop
        v_met_ids := array(
            select n.document_id
            from sherlock._cluster_neighbours(v_document_id, v_class_rank) as n);
        continue when v_met_ids = '{}';
        v_met_ids := v_met_ids || v_document_id;
        v_cluster_ids := sherlock._by_survivor_rank(p_clustering, array(
            select coalesce(m.cluster_id, i.id)
            from unnest(v_met_ids) as i (id)
            left join sherlock.cluster_members as m on m.document_id = i.id));
        update sherlock.cluster_members as m
        set cluster_id = v_cluster_ids[1]
        where m.cluster_id = any(v_cluster_ids[2:]);
        insert into sherlock.cluster_members as m (document_id, collection_id, cluster_id)
        select i.id, p_clustering.collection_id, v_cluster_ids[1]
        from unnest(v_met_ids) as i (id)
        order by i.id
        on conflict (document_id) do nothing;
    end loop;
end;
$$;

-- At commit: what the transaction changed. The clustering is updated first, so that transactions take
-- turns and one whose snapshot is older fails with SQLSTATE 40001.
create or replace function sherlock._follow_matches(p_transaction_id bigint)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection_id integer;
    v_clustering sherlock.clusterings;
    v_changed_ids bigint[];
    v_lost_ids bigint[];
    v_ranked_ids bigint[];
begin
    -- Between its statements a cluster can be without its survivor.
    set constraints sherlock.cluster_members_survivor_fkey deferred;
    for v_collection_id in
        select distinct c.collection_id
        from sherlock.cluster_changes as c
        where c.transaction_id = p_transaction_id
        order by c.collection_id
    loop
        update sherlock.clusterings as c
        set changed_at = clock_timestamp()
        where c.collection_id = v_collection_id
        returning * into v_clustering;
        with gone as (
            delete from sherlock.cluster_changes as c
            where c.transaction_id = p_transaction_id and c.collection_id = v_collection_id
            returning c.document_id, c.change
        )
        select array_agg(g.document_id),
               array_agg(g.document_id) filter (where g.change in ('lost', 'rank')),
               array_agg(g.document_id) filter (where g.change = 'rank')
        into v_changed_ids, v_lost_ids, v_ranked_ids
        from gone as g;
        continue when v_clustering.is_kept is not true;
        if v_clustering.mode = 'connected' then
            perform sherlock._cluster_by_connections(v_clustering, v_changed_ids, v_lost_ids);
        else
            -- Where a rank changed, those that it matches may have another principal.
            perform sherlock._cluster_by_principals(
                v_clustering,
                v_changed_ids || array(
                    select n.document_id
                    from unnest(v_ranked_ids) as r (id)
                    cross join lateral sherlock._cluster_neighbours(
                        r.id, sherlock._class_rank(v_clustering.min_class)) as n));
        end if;
    end loop;
end;
$$;
