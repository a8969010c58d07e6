-- Band keys that so many documents share that the search does not read all of them: templates,
-- stamps, pages of boilerplate. What sherlock.match calls hot_band_keys, over the whole database.
create or replace view sherlock.hot_band_keys as
select k.key, e.band, k.document_count, e.band_key_limit,
       k.document_count - e.band_key_limit as unread_count, e.scheme, e.collection,
       k.first_document_id, e.first_document_name
from (
    select b.key, count(*) as document_count, min(b.document_id) as first_document_id
    from sherlock.band_keys as b
    group by b.key
    having count(*) >= (select min(s.band_key_limit) from sherlock.shingle_schemes as s)
) as k
-- A key does not say whose it is; the first document's signatures do. One lookup per hot key: the
-- planner cannot know that few keys are hot and would read all signatures.
cross join lateral (
    select d.name as first_document_name, c.name as collection, s.name as scheme,
           s.band_key_limit,
           array_position(
               sherlock.band_keys(
                   g.signature, s.scheme_id, c.collection_id, s.band_count, s.rows_per_band),
               k.key) as band
    from sherlock.documents as d
    join sherlock.collections as c on c.collection_id = d.collection_id
    join sherlock.document_signatures as g on g.document_id = d.document_id
    join sherlock.shingle_schemes as s on s.scheme_id = g.scheme_id
    where d.document_id = k.first_document_id
    offset 0
) as e
where e.band is not null and k.document_count >= e.band_key_limit;

comment on view sherlock.hot_band_keys is
'Band keys that band_key_limit documents or more share: retrieval reads the first of them only, so '
'a pair that shares nothing else may not be seen by level 1. Reads the whole index of band_keys (32 '
'keys a document): about 15 seconds for a million documents, whatever is asked of it.';
comment on column sherlock.hot_band_keys.key is 'The key, as in sherlock.band_keys.';
comment on column sherlock.hot_band_keys.band is 'Number of its band, from 1.';
comment on column sherlock.hot_band_keys.document_count is 'Documents that have it.';
comment on column sherlock.hot_band_keys.band_key_limit is
'Documents that a search reads of it, those that arrived first; of the scheme.';
comment on column sherlock.hot_band_keys.unread_count is
'Documents that a search of the whole collection does not find by it.';
comment on column sherlock.hot_band_keys.scheme is 'Scheme that the key belongs to.';
comment on column sherlock.hot_band_keys.collection is 'Collection of its documents.';
comment on column sherlock.hot_band_keys.first_document_id is
'The first document that has it, as an example.';
comment on column sherlock.hot_band_keys.first_document_name is 'Its name.';
