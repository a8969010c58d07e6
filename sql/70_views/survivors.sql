-- Every document with the cluster it is in, those that survive, and whether clusters are up to date.
create or replace view sherlock.document_clusters as
select d.document_id, d.name, c.name as collection, d.doc_type,
       w.relation::text as table_name, r.row_key, sherlock._readable_key(r.row_key) as key,
       coalesce(s.document_id, d.document_id) as cluster_id,
       s.document_id is null or s.document_id = d.document_id as is_survivor,
       coalesce(s.name, d.name) as survivor_name,
       -- Counted once a cluster, so that a large one does not count itself for each member.
       case
           when s.document_id is null then 1
           when s.document_id = d.document_id
           then (select count(*) from sherlock.cluster_members as n where n.cluster_id = m.cluster_id)
       end as cluster_size,
       coalesce(l.confidence, e.confidence) as confidence,
       coalesce(l.final_score, e.final_score) as similarity,
       d.word_count, d.created_at
from sherlock.documents as d
join sherlock.collections as c on c.collection_id = d.collection_id
left join sherlock.cluster_members as m on m.document_id = d.document_id
-- Where the survivor is gone since the clusters were made, its members stand for themselves: else all
-- of them would be missing.
left join sherlock.documents as s
    on s.document_id = m.cluster_id and s.status in ('ok', 'partial')
left join sherlock.matches as l
    on l.document_id = d.document_id and l.matched_document_id = m.cluster_id
left join sherlock.matches as e
    on e.document_id = m.cluster_id and e.matched_document_id = d.document_id
left join sherlock.watched_rows as r on r.document_id = d.document_id
left join sherlock.watches as w on w.watch_id = r.watch_id
where d.status in ('ok', 'partial');

comment on view sherlock.document_clusters is
'Every document that was read, rows of watched tables too, with its cluster as '
'sherlock.rebuild_clusters made it. A document without a cluster is one of its own and survives.';
comment on column sherlock.document_clusters.document_id is 'The document.';
comment on column sherlock.document_clusters.name is 'Its name.';
comment on column sherlock.document_clusters.collection is 'Its collection.';
comment on column sherlock.document_clusters.doc_type is 'Its type.';
comment on column sherlock.document_clusters.table_name is
'The watched table it is a row of; null if it is none.';
comment on column sherlock.document_clusters.row_key is 'Key of that row, an array.';
comment on column sherlock.document_clusters.key is
'The key as text, values separated by a comma: equals the key column as text if it is one.';
comment on column sherlock.document_clusters.cluster_id is
'Its cluster, named by the document that survives.';
comment on column sherlock.document_clusters.is_survivor is 'It is the one that survives.';
comment on column sherlock.document_clusters.survivor_name is 'Name of the one that survives.';
comment on column sherlock.document_clusters.cluster_size is
'Documents that it stands for, itself counted; null if it does not survive.';
comment on column sherlock.document_clusters.confidence is
'Class of its match with the survivor; null if they do not match each other.';
comment on column sherlock.document_clusters.similarity is
'Final score of that match, 0 to 1; null for the survivor itself.';
comment on column sherlock.document_clusters.word_count is 'Words of its text.';
comment on column sherlock.document_clusters.created_at is 'When it arrived.';

create or replace view sherlock.survivors as
select d.document_id, d.name, d.collection, d.doc_type, d.table_name, d.row_key, d.key,
       d.cluster_size, d.word_count, d.created_at,
       sherlock.document_text(d.document_id) as content
from sherlock.document_clusters as d
where d.is_survivor;

comment on view sherlock.survivors is
'One document of each cluster, and all that are in none, with their texts: what is left when '
'duplicates are left out. Out of psql: \copy (select * from sherlock.survivors where collection = '
'''default'') to ''survivors.csv'' csv header. See sherlock.clustering_status first.';
comment on column sherlock.survivors.document_id is 'The document.';
comment on column sherlock.survivors.name is 'Its name.';
comment on column sherlock.survivors.collection is 'Its collection.';
comment on column sherlock.survivors.doc_type is 'Its type.';
comment on column sherlock.survivors.table_name is
'The watched table it is a row of; null if it is none.';
comment on column sherlock.survivors.row_key is 'Key of that row, an array.';
comment on column sherlock.survivors.key is 'The key as text.';
comment on column sherlock.survivors.cluster_size is
'Documents that it stands for, itself counted.';
comment on column sherlock.survivors.word_count is 'Words of its text.';
comment on column sherlock.survivors.created_at is 'When it arrived.';
comment on column sherlock.survivors.content is
'Its text, stored here or read from its watched table; null if the row is gone or not yours to read.';

create or replace view sherlock.clustering_status as
select c.name as collection, g.mode, g.min_class, g.is_kept, g.rebuilt_at,
       case
           when g.collection_id is null then 'missing'
           when f.match_count > 0 or l.member_count > 0 then 'stale'
           else 'current'
       end as state,
       f.match_count as unfollowed_match_count,
       l.member_count as lost_member_count
from sherlock.collections as c
left join sherlock.clusterings as g on g.collection_id = c.collection_id
cross join lateral (
    select count(*) as match_count
    from sherlock.matches as m
    join sherlock.documents as d on d.document_id = m.document_id
    left join sherlock.cluster_members as a on a.document_id = m.document_id
    left join sherlock.cluster_members as b on b.document_id = m.matched_document_id
    where d.collection_id = g.collection_id
      and sherlock._class_rank(m.confidence) <= sherlock._class_rank(g.min_class)
      and case
              when g.mode = 'principal'
              then coalesce(a.cluster_id = a.document_id, true)
                  and coalesce(b.cluster_id = b.document_id, true)
              else coalesce(a.cluster_id <> b.cluster_id, true)
          end
) as f
cross join lateral (
    select count(*) as member_count
    from sherlock.cluster_members as m
    where m.collection_id = g.collection_id
      and m.document_id <> m.cluster_id
      and not exists (
          select
          from sherlock._cluster_neighbours(
              m.document_id, sherlock._class_rank(g.min_class)) as n
          where n.document_id = m.cluster_id or g.mode = 'connected')
) as l;

comment on view sherlock.clustering_status is
'Whether the clusters of each collection say what its matches say. Reads all matches of a collection.';
comment on column sherlock.clustering_status.collection is 'The collection.';
comment on column sherlock.clustering_status.mode is
'principal or connected; null: clusters were never made.';
comment on column sherlock.clustering_status.min_class is 'Lowest class of the matches that count.';
comment on column sherlock.clustering_status.is_kept is 'Clusters follow the matches.';
comment on column sherlock.clustering_status.rebuilt_at is 'When they were last made anew.';
comment on column sherlock.clustering_status.state is
'missing: never made. stale: matches came or went since: call sherlock.rebuild_clusters. current: '
'neither.';
comment on column sherlock.clustering_status.unfollowed_match_count is
'Matches that count and whose documents are in no common cluster though they should be.';
comment on column sherlock.clustering_status.lost_member_count is
'Members that do not match their survivor any more; in mode connected, that match nothing any more.';
