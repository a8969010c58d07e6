-- Which scheme each collection uses, and how far a move to it is.
create or replace view sherlock.schemes as
select s.name as scheme, c.name as collection, s.shingle_kind, s.shingle_width, s.band_count,
       s.rows_per_band, s.min_shingles, s.band_key_limit,
       case when c.collection_id is not null then c.scheme_changed_at is not null end as is_moving,
       c.scheme_changed_at as moving_since,
       d.signed_count, d.unsigned_count, s.stop_list_id, d.boilerplate_only_count
from sherlock.shingle_schemes as s
left join sherlock.collections as c using (scheme_id)
left join lateral (
    select count(g.signature) as signed_count,
           count(*) - count(g.document_id) as unsigned_count,
           count(g.document_id) - count(g.signature) as boilerplate_only_count
    from sherlock.documents as i
    left join sherlock.document_signatures as g
        on g.document_id = i.document_id and g.scheme_id = s.scheme_id
    where i.collection_id = c.collection_id and i.text_state = 'indexed'
) as d on c.collection_id is not null;

comment on view sherlock.schemes is
'Each scheme with the collections that use it, one row each, and how far their documents are signed '
'with it. Reads all documents.';
comment on column sherlock.schemes.scheme is 'Name of the scheme.';
comment on column sherlock.schemes.collection is 'A collection that uses it; null: none does.';
comment on column sherlock.schemes.shingle_kind is 'word, skeleton or char.';
comment on column sherlock.schemes.shingle_width is 'Words or characters of a shingle.';
comment on column sherlock.schemes.band_count is 'Bands of a signature, keys of a document.';
comment on column sherlock.schemes.rows_per_band is 'Slots of a band.';
comment on column sherlock.schemes.min_shingles is
'Texts with fewer different shingles match exactly only.';
comment on column sherlock.schemes.band_key_limit is 'Documents that are read of a band key.';
comment on column sherlock.schemes.is_moving is
'A move to the scheme is not finished: it is under way or was interrupted. Verdicts can lack pairs '
'until sherlock.use_scheme has ended; call it again if nobody is at it. Null without collection.';
comment on column sherlock.schemes.moving_since is 'When that move began; null if there is none.';
comment on column sherlock.schemes.signed_count is
'Indexed documents of the collection that are signed with the scheme; null without collection.';
comment on column sherlock.schemes.unsigned_count is
'Indexed documents that are still to be signed with it, or whose text is gone.';
comment on column sherlock.schemes.stop_list_id is
'List of boilerplate that the scheme leaves out, see sherlock.boilerplate_status; null: none.';
comment on column sherlock.schemes.boilerplate_only_count is
'Indexed documents without a signature, because without that list too little of them is left.';
