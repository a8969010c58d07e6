-- Which documents containment knows nothing of.
create or replace view sherlock.containment_status as
select c.name as collection, n.indexed_count, n.unsampled_count
from sherlock.collections as c
cross join lateral (
    select count(*) as indexed_count,
           count(*) filter (where s.containment_sample is null) as unsampled_count
    from sherlock.documents as d
    join sherlock.document_signatures as s
        on s.document_id = d.document_id and s.scheme_id = c.scheme_id
    where d.collection_id = c.collection_id
) as n;

comment on view sherlock.containment_status is
'How many documents of each collection sherlock.find_containers and sherlock.find_contained can find. '
'Reads all documents.';
comment on column sherlock.containment_status.collection is 'The collection.';
comment on column sherlock.containment_status.indexed_count is
'Documents that are long enough and were read well enough.';
comment on column sherlock.containment_status.unsampled_count is
'Of these, those that were indexed before containment was known, and are not found: '
'sherlock-pg reprocess --features.';
