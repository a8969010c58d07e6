-- How tightly clusters hang together: a chain of matches joins what has nothing in common.

-- The matches inside a cluster that count for it.
create or replace function sherlock._cluster_edges(p_cluster_id bigint)
returns table (document_id bigint, matched_document_id bigint)
language sql stable parallel safe
begin atomic
    select m.document_id, m.matched_document_id
    from sherlock.cluster_members as l
    join sherlock.clusterings as c on c.collection_id = l.collection_id
    join sherlock.matches as m on m.document_id = l.document_id
    join sherlock.cluster_members as r
        on r.document_id = m.matched_document_id and r.cluster_id = p_cluster_id
    where l.cluster_id = p_cluster_id
      and sherlock._class_rank(m.confidence) <= sherlock._class_rank(c.min_class);
end;

-- Matches that alone hold two parts of the cluster together. Without a third document that matches
-- both, the other end is looked for by other ways.
create or replace function sherlock._cluster_bridges(p_cluster_id bigint)
returns integer
language plpgsql stable
set search_path from current
as $$
declare
    v_lefts bigint[];
    v_rights bigint[];
begin
    select array_agg(e.document_id) || array_agg(e.matched_document_id),
           array_agg(e.matched_document_id) || array_agg(e.document_id)
    into v_lefts, v_rights
    from sherlock._cluster_edges(p_cluster_id) as e;
    return (
        with recursive edges as materialized (
            select u.l, u.r from unnest(v_lefts, v_rights) as u (l, r)
        ),
        unsupported as materialized (
            select e.l, e.r
            from edges as e
            where e.l < e.r
              and not exists (
                  select from edges as x join edges as y on y.l = x.r and y.r = e.r
                  where x.l = e.l)
        ),
        reached as (
            select u.l, u.r, u.l as at from unsupported as u
            union
            select r.l, r.r, e.r
            from reached as r
            join edges as e on e.l = r.at
            where (e.l, e.r) <> (r.l, r.r)
        )
        select count(*)
        from unsupported as u
        where not exists (
            select from reached as r where r.l = u.l and r.r = u.r and r.at = u.r)
    );
end;
$$;

-- Matches on the way between the two members that are farthest apart.
create or replace function sherlock._cluster_diameter(p_cluster_id bigint)
returns integer
language plpgsql stable
set search_path from current
as $$
declare
    v_ids bigint[];
    v_lefts integer[];
    v_rights integer[];
    v_count integer;
    v_front integer[];
    v_seen integer[];
    v_diameter integer := -1;
begin
    v_ids := array(
        select m.document_id from sherlock.cluster_members as m where m.cluster_id = p_cluster_id);
    v_count := cardinality(v_ids);
    select array_agg(i.l) || array_agg(i.r), array_agg(i.r) || array_agg(i.l)
    into v_lefts, v_rights
    from sherlock._cluster_edges(p_cluster_id) as e
    cross join lateral (
        select array_position(v_ids, e.document_id) - 1 as l,
               array_position(v_ids, e.matched_document_id) - 1 as r
    ) as i;
    -- Pairs of a start and where the ways from it have come to, as one number.
    v_front := array(select n * v_count + n from generate_series(0, v_count - 1) as n);
    v_seen := v_front;
    while v_front <> '{}' loop
        v_diameter := v_diameter + 1;
        v_front := array(
            select f.pair - f.pair % v_count + e.r
            from unnest(v_front) as f (pair)
            join unnest(v_lefts, v_rights) as e (l, r) on e.l = f.pair % v_count
            except
            select s.pair from unnest(v_seen) as s (pair)
        );
        v_seen := v_seen || v_front;
    end loop;
    return v_diameter;
end;
$$;

create or replace view sherlock.duplicate_clusters as
select s.cluster_id, c.name as collection, d.name as survivor_name, s.member_count,
       e.edge_count,
       e.edge_count / (s.member_count * (s.member_count - 1) / 2.0::float8) as density,
       -- In the list of columns, so that who does not ask for them does not pay for them.
       case when s.member_count <= 100 then sherlock._cluster_bridges(s.cluster_id) end
           as bridge_count,
       case when s.member_count <= 100 then sherlock._cluster_diameter(s.cluster_id) end
           as diameter,
       s.member_ids, g.mode, g.min_class, g.is_kept, g.rebuilt_at
from (
    select m.cluster_id, m.collection_id, count(*) as member_count,
           array_agg(m.document_id order by m.document_id) as member_ids
    from sherlock.cluster_members as m
    group by m.cluster_id, m.collection_id
) as s
join sherlock.clusterings as g on g.collection_id = s.collection_id
join sherlock.collections as c on c.collection_id = s.collection_id
left join sherlock.documents as d on d.document_id = s.cluster_id
cross join lateral (
    select count(*) as edge_count from sherlock._cluster_edges(s.cluster_id)
) as e;

comment on view sherlock.duplicate_clusters is
'Clusters of documents that match each other, as sherlock.rebuild_clusters makes them: who survives, '
'and how tightly each hangs together. Few matches for many members, bridges and a long diameter: '
'look at it before you believe it.';
comment on column sherlock.duplicate_clusters.cluster_id is
'The cluster, named by the document that survives.';
comment on column sherlock.duplicate_clusters.collection is 'Its collection.';
comment on column sherlock.duplicate_clusters.survivor_name is 'Name of the document that survives.';
comment on column sherlock.duplicate_clusters.member_count is 'Documents, the survivor counted.';
comment on column sherlock.duplicate_clusters.edge_count is
'Matches between its members, of the class that counts.';
comment on column sherlock.duplicate_clusters.density is
'Matches as a share of all pairs of members, 0 to 1. A document stores its ten best matches only, '
'so clusters of more than ten are never full.';
comment on column sherlock.duplicate_clusters.bridge_count is
'Matches without which it would fall apart; null above 100 members.';
comment on column sherlock.duplicate_clusters.diameter is
'Matches on the way between the two members farthest apart; null above 100 members.';
comment on column sherlock.duplicate_clusters.member_ids is 'Its documents.';
comment on column sherlock.duplicate_clusters.mode is 'principal or connected.';
comment on column sherlock.duplicate_clusters.min_class is 'Lowest class of the matches that count.';
comment on column sherlock.duplicate_clusters.is_kept is
'Clusters follow the matches; else they are as of rebuilt_at.';
comment on column sherlock.duplicate_clusters.rebuilt_at is 'When they were last made anew.';
