-- Watched tables, their pairs, and what waits for a person.
create or replace view sherlock.watched as
select w.watch_id,
       w.relation::text as table_name,
       case
           when p.relation_count = 0 then 'table dropped'
           when p.has_missing_columns then 'columns missing'
           when p.trigger_count < 4 * p.relation_count then 'triggers missing'
           when p.enabled_count < 4 * p.relation_count then 'triggers disabled'
           when exists (
               select
               from pg_catalog.pg_trigger as g
               where g.tgfoid = 'sherlock.tg_watched_tables__follow()'::regprocedure
                 and g.tgargs = convert_to(w.watch_id::text, 'UTF8') || '\x00'::bytea
                 and g.tgrelid <> w.relation
                 and not exists (
                     select from pg_partition_ancestors(g.tgrelid) as a (relation)
                     where a.relation = w.relation))
           then 'partitions detached'
           when not w.is_backfilled then 'backfilling'
           when r.unjudged_count > 0 then 'verdicts missing'
           else 'active'
       end as state,
       w.key_columns, w.text_columns, w.on_duplicate, w.min_class, w.doc_type,
       c.name as collection, c.profile,
       r.row_count, r.exact_count, r.high_count, r.medium_count, r.low_count,
       (select count(*)
        from sherlock.review_queue as q
        join sherlock.watched_rows as k using (document_id)
        where k.watch_id = w.watch_id and q.decision is null) as open_review_count,
       w.created_at, r.unjudged_count
from sherlock.watches as w
join sherlock.collections as c using (collection_id)
cross join lateral (
    select count(distinct l.oid) as relation_count,
           count(t.oid) as trigger_count,
           count(t.oid) filter (where t.tgenabled in ('O', 'A')) as enabled_count,
           exists (
               select
               from unnest(w.key_columns || w.text_columns) as n (name)
               where not exists (
                   select from pg_catalog.pg_attribute as a
                   where a.attrelid = w.relation
                     and a.attname = n.name
                     and not a.attisdropped)) as has_missing_columns
    from (
        select w.relation::oid as relation
        union
        select x.relid from pg_partition_tree(w.relation) as x
    ) as s
    join pg_catalog.pg_class as l on l.oid = s.relation
    left join pg_catalog.pg_trigger as t
        on t.tgrelid = l.oid
       and t.tgfoid = 'sherlock.tg_watched_tables__follow()'::regprocedure
       and t.tgargs = convert_to(w.watch_id::text, 'UTF8') || '\x00'::bytea
) as p
cross join lateral (
    select count(*) as row_count,
           count(*) filter (where v.document_id is null) as unjudged_count,
           count(*) filter (where v.confidence = 'EXACT') as exact_count,
           count(*) filter (where v.confidence = 'HIGH') as high_count,
           count(*) filter (where v.confidence = 'MEDIUM') as medium_count,
           count(*) filter (where v.confidence = 'LOW') as low_count
    from sherlock.watched_rows as k
    left join sherlock.detections as v using (document_id)
    where k.watch_id = w.watch_id
) as r;

comment on view sherlock.watched is 'Watched tables: what is known of them and whether all is well.';
comment on column sherlock.watched.watch_id is 'The watch.';
comment on column sherlock.watched.table_name is 'The table; a number if it was dropped.';
comment on column sherlock.watched.state is
'active. backfilling: rows that were there wait for call sherlock.backfill. verdicts missing: too many '
'rows were deleted or changed at once to judge all that matched them again: call sherlock.backfill. triggers '
'missing (as on a partition that was attached later) or disabled: call sherlock.watch again. partitions '
'detached: their rows are still known: call sherlock.watch again. columns missing: writing '
'to the table fails until sherlock.watch is called with the new names. table dropped: call '
'sherlock.unwatch_by_id, or watch the new table of that name. A partition that was dropped leaves no '
'trace: call sherlock.backfill.';
comment on column sherlock.watched.key_columns is 'Columns that identify a row.';
comment on column sherlock.watched.text_columns is 'Columns that make the text.';
comment on column sherlock.watched.on_duplicate is 'flag, queue or reject.';
comment on column sherlock.watched.min_class is 'Class from which on_duplicate acts.';
comment on column sherlock.watched.doc_type is 'Type of the documents; auto: guessed.';
comment on column sherlock.watched.collection is 'Collection of its documents.';
comment on column sherlock.watched.profile is 'Profile of the collection: legal or text.';
comment on column sherlock.watched.row_count is 'Rows that are known.';
comment on column sherlock.watched.exact_count is 'Rows whose best match is EXACT.';
comment on column sherlock.watched.high_count is 'Rows whose best match is HIGH.';
comment on column sherlock.watched.medium_count is 'Rows whose best match is MEDIUM.';
comment on column sherlock.watched.low_count is 'Rows whose best match is LOW.';
comment on column sherlock.watched.open_review_count is 'Pairs that wait for a person.';
comment on column sherlock.watched.created_at is 'When the watch began.';
comment on column sherlock.watched.unjudged_count is 'Rows that are known and have no verdict.';

create or replace view sherlock.watched_pairs as
select w.relation::text as table_name, r.row_key, sherlock._readable_key(r.row_key) as key,
       o.relation::text as matched_table_name, s.row_key as matched_row_key,
       sherlock._readable_key(s.row_key) as matched_key,
       m.confidence, m.action, m.final_score, m.minhash_score, m.tfidf_score, m.entity_score,
       m.has_conflict, m.evidence, m.document_id, m.matched_document_id, m.detected_at
from sherlock.watched_rows as r
join sherlock.watches as w on w.watch_id = r.watch_id
join sherlock.matches as m on m.document_id = r.document_id
left join sherlock.watched_rows as s on s.document_id = m.matched_document_id
left join sherlock.watches as o on o.watch_id = s.watch_id;

comment on view sherlock.watched_pairs is
'Each pair of a watched row with what was there before it, by their keys.';
comment on column sherlock.watched_pairs.table_name is 'Table of the later row.';
comment on column sherlock.watched_pairs.row_key is 'Its key, an array.';
comment on column sherlock.watched_pairs.key is
'Its key as text, values separated by a comma: equals the key column as text if it is one.';
comment on column sherlock.watched_pairs.matched_table_name is
'Table of the earlier row; null if it is a document that no watched table has.';
comment on column sherlock.watched_pairs.matched_row_key is 'Its key, an array.';
comment on column sherlock.watched_pairs.matched_key is 'Its key as text.';
comment on column sherlock.watched_pairs.confidence is 'EXACT, HIGH, MEDIUM or LOW.';
comment on column sherlock.watched_pairs.action is 'REJECT, REVIEW or ACCEPT.';
comment on column sherlock.watched_pairs.final_score is 'Ensemble score, 0 to 1.';
comment on column sherlock.watched_pairs.minhash_score is 'Estimated Jaccard, 0 to 1.';
comment on column sherlock.watched_pairs.tfidf_score is 'Cosine, 0 to 1.';
comment on column sherlock.watched_pairs.entity_score is 'Agreement of entities, 0 to 1.';
comment on column sherlock.watched_pairs.has_conflict is 'Their identities differ.';
comment on column sherlock.watched_pairs.evidence is 'What agreed, what differed, who found it.';
comment on column sherlock.watched_pairs.document_id is 'Document of the later row.';
comment on column sherlock.watched_pairs.matched_document_id is 'Document of the earlier row.';
comment on column sherlock.watched_pairs.detected_at is 'When the pair was found.';

create or replace function sherlock.watched_duplicates(p_table regclass)
returns setof sherlock.watched_pairs
language plpgsql stable
set search_path from current
as $$
begin
    perform sherlock._watch_of(p_table);
    return query
    select p.*
    from sherlock.watched_pairs as p
    where p.table_name = p_table::text;
end;
$$;

comment on function sherlock.watched_duplicates(regclass) is
'Pairs whose later row is in this watched table: rows of sherlock.watched_pairs. To see the rows: '
'select t.*, d.matched_key, d.confidence from sherlock.watched_duplicates(''feed'') as d join feed as t '
'on t.id = d.key::bigint. Error: SH046 not watched.';

create or replace view sherlock.open_reviews as
select q.review_id, w.relation::text as table_name, r.row_key,
       sherlock._readable_key(r.row_key) as key, o.relation::text as matched_table_name,
       s.row_key as matched_row_key, sherlock._readable_key(s.row_key) as matched_key,
       q.confidence, q.final_score, q.document_id, q.matched_document_id, q.queued_at
from sherlock.review_queue as q
left join sherlock.watched_rows as r on r.document_id = q.document_id
left join sherlock.watches as w on w.watch_id = r.watch_id
left join sherlock.watched_rows as s on s.document_id = q.matched_document_id
left join sherlock.watches as o on o.watch_id = s.watch_id
where q.decision is null;

comment on view sherlock.open_reviews is
'Pairs that wait for a person; answer with: select sherlock.decide(review_id, ''duplicate'') or '
'''distinct''.';
comment on column sherlock.open_reviews.review_id is 'The entry.';
comment on column sherlock.open_reviews.table_name is 'Table of the later row.';
comment on column sherlock.open_reviews.row_key is 'Its key, an array.';
comment on column sherlock.open_reviews.key is 'Its key as text.';
comment on column sherlock.open_reviews.matched_table_name is
'Table of the earlier row; null if it is a document that no watched table has.';
comment on column sherlock.open_reviews.matched_row_key is 'Its key, an array.';
comment on column sherlock.open_reviews.matched_key is 'Its key as text.';
comment on column sherlock.open_reviews.confidence is 'Class of the match.';
comment on column sherlock.open_reviews.final_score is 'Its score, 0 to 1.';
comment on column sherlock.open_reviews.document_id is 'Document of the later row.';
comment on column sherlock.open_reviews.matched_document_id is 'Document of the earlier row.';
comment on column sherlock.open_reviews.queued_at is 'When it was queued.';
