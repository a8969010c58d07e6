-- How the queue of files stands: for whoever is on call, and for a tool that draws it. None of these
-- views reads the items that ended long ago, however many they are.
create or replace view sherlock.queue_status as
select c.name as collection,
       coalesce(u.queued_count, 0) as queued_count,
       coalesce(u.due_count, 0) as due_count,
       coalesce(u.backing_off_count, 0) as backing_off_count,
       coalesce(u.waiting_copy_count, 0) as waiting_copy_count,
       coalesce(u.leased_count, 0) as leased_count,
       coalesce(u.stored_count, 0) as stored_count,
       coalesce(u.lapsed_count, 0) as lapsed_count,
       coalesce(u.worker_count, 0) as worker_count,
       coalesce(x.dead_count, 0) as dead_count,
       coalesce(f.done_last_minute, 0) as done_last_minute,
       coalesce(f.done_last_hour, 0) as done_last_hour,
       coalesce(f.done_last_day, 0) as done_last_day,
       coalesce(f.dead_last_day, 0) as dead_last_day,
       u.oldest_queued_seconds,
       u.oldest_stored_seconds
from sherlock.collections as c
left join (
    select o.collection_id,
           count(*) filter (where o.state = 'queued') as queued_count,
           count(*) filter (
               where o.state = 'queued' and not o.is_copy and o.run_after <= now()) as due_count,
           count(*) filter (
               where o.state = 'queued' and not o.is_copy and o.run_after > now())
               as backing_off_count,
           count(*) filter (where o.is_copy) as waiting_copy_count,
           count(*) filter (where o.state = 'leased') as leased_count,
           count(*) filter (where o.state = 'stored') as stored_count,
           count(*) filter (where o.leased_by is not null and o.leased_until < now())
               as lapsed_count,
           count(distinct o.leased_by) filter (where o.leased_until >= now()) as worker_count,
           extract(epoch from now() - min(o.enqueued_at) filter (where o.state = 'queued'))
               ::double precision as oldest_queued_seconds,
           extract(epoch from now() - min(o.stored_at) filter (where o.state = 'stored'))
               ::double precision as oldest_stored_seconds
    from (
        -- Each part by the index that workers have for it.
        select i.collection_id, i.state, false as is_copy, i.run_after, i.leased_by, i.leased_until,
               i.enqueued_at, i.stored_at
        from sherlock.inbox as i
        where i.state = 'queued' and i.gate is distinct from 'hit'
        union all
        select i.collection_id, i.state, true, i.run_after, i.leased_by, i.leased_until,
               i.enqueued_at, i.stored_at
        from sherlock.inbox as i
        where i.state = 'queued' and i.gate = 'hit'
        union all
        select i.collection_id, i.state, false, i.run_after, i.leased_by, i.leased_until,
               i.enqueued_at, i.stored_at
        from sherlock.inbox as i
        where i.state in ('leased', 'stored')
    ) as o
    group by o.collection_id
) as u on u.collection_id = c.collection_id
left join (
    select i.collection_id, count(*) as dead_count
    from sherlock.inbox as i
    where i.state = 'dead'
      and (i.document_id is null or exists (
          select
          from sherlock.documents as d
          where d.collection_id = i.collection_id
            and d.document_id = i.document_id
            and d.status in ('pending', 'failed')))
    group by i.collection_id
) as x on x.collection_id = c.collection_id
left join (
    select i.collection_id,
           count(*) filter (
               where i.state = 'done' and i.finished_at > now() - interval '1 minute')
               as done_last_minute,
           count(*) filter (
               where i.state = 'done' and i.finished_at > now() - interval '1 hour')
               as done_last_hour,
           count(*) filter (where i.state = 'done') as done_last_day,
           count(*) filter (where i.state = 'dead') as dead_last_day
    from sherlock.inbox as i
    where i.finished_at > now() - interval '1 day'
    group by i.collection_id
) as f on f.collection_id = c.collection_id;

comment on view sherlock.queue_status is
'The queue of files, one row for each collection. Reads the items that wait, are dead or ended within '
'a day.';
comment on column sherlock.queue_status.collection is 'The collection.';
comment on column sherlock.queue_status.queued_count is
'Items that wait: due, backing off, and copies that wait for the reading of the same bytes.';
comment on column sherlock.queue_status.due_count is 'Of these, items that a worker may take now.';
comment on column sherlock.queue_status.backing_off_count is
'Of these, items that failed and wait for their next attempt.';
comment on column sherlock.queue_status.waiting_copy_count is
'Of these, copies of a file that is still being read; they end with it, no worker takes them.';
comment on column sherlock.queue_status.leased_count is 'Items that workers read.';
comment on column sherlock.queue_status.stored_count is 'Items that are read and wait for the verdict.';
comment on column sherlock.queue_status.lapsed_count is
'Of leased and stored items, those whose worker let its lease lapse: it died or hangs. The next worker '
'takes them.';
comment on column sherlock.queue_status.worker_count is 'Workers whose leases hold.';
comment on column sherlock.queue_status.dead_count is
'Items that were given up and wait for a person: see sherlock.dead_items.';
comment on column sherlock.queue_status.done_last_minute is 'Items done within the last minute.';
comment on column sherlock.queue_status.done_last_hour is 'Items done within the last hour.';
comment on column sherlock.queue_status.done_last_day is 'Items done within the last 24 hours.';
comment on column sherlock.queue_status.dead_last_day is
'Items that were given up within the last 24 hours, also where another attempt has read the document.';
comment on column sherlock.queue_status.oldest_queued_seconds is
'How long the oldest waiting item has been here, in seconds; null if none waits.';
comment on column sherlock.queue_status.oldest_stored_seconds is
'How long the oldest item has waited for its verdict, in seconds; null if none does.';

create or replace view sherlock.workers as
select i.leased_by as worker,
       split_part(i.leased_by, ':', 1) as host,
       count(*) filter (where i.state = 'leased') as leased_count,
       count(*) filter (where i.state = 'stored') as stored_count,
       count(*) filter (where i.leased_until < now()) as lapsed_count,
       max(i.leased_until) >= now() as is_alive,
       min(i.started_at) as since,
       max(i.leased_until) as leased_until,
       array_agg(distinct c.name order by c.name) as collections
from sherlock.inbox as i
join sherlock.collections as c on c.collection_id = i.collection_id
where i.state in ('leased', 'stored') and i.leased_by is not null
group by i.leased_by;

comment on view sherlock.workers is
'Who reads files now, one row for each worker that holds a lease. A worker without work holds none, '
'so it does not stand here.';
comment on column sherlock.workers.worker is 'Name of the worker: host, process, random part.';
comment on column sherlock.workers.host is 'Its host, as its name says.';
comment on column sherlock.workers.leased_count is 'Items that it reads now.';
comment on column sherlock.workers.stored_count is 'Items that it has read and not judged yet.';
comment on column sherlock.workers.lapsed_count is 'Of all these, items whose lease it let lapse.';
comment on column sherlock.workers.is_alive is
'It has renewed a lease in time; false: it died or hangs, and others take its items.';
comment on column sherlock.workers.since is 'Since when it has read the oldest of them.';
comment on column sherlock.workers.leased_until is
'When its last lease lapses unless it is renewed.';
comment on column sherlock.workers.collections is 'Collections of its items.';

create or replace view sherlock.dead_items as
select i.item_id, c.name as collection, i.name, i.path, i.host, i.document_id,
       i.parent_document_id, i.reason, i.reason_detail, i.attempts, i.gate, i.file_size_bytes,
       i.enqueued_at, i.finished_at as dead_since
from sherlock.inbox as i
join sherlock.collections as c on c.collection_id = i.collection_id
where i.state = 'dead'
  and (i.document_id is null or exists (
      select
      from sherlock.documents as d
      where d.collection_id = i.collection_id
        and d.document_id = i.document_id
        and d.status in ('pending', 'failed')));

comment on view sherlock.dead_items is
'Items that were given up, with the reason; not those whose document was read by another attempt. '
'sherlock.retry_dead queues them again.';
comment on column sherlock.dead_items.item_id is 'The item.';
comment on column sherlock.dead_items.collection is 'Its collection.';
comment on column sherlock.dead_items.name is 'Name of the file.';
comment on column sherlock.dead_items.path is 'Where the file was; null if its bytes were handed over.';
comment on column sherlock.dead_items.host is 'Host of the path; null: any.';
comment on column sherlock.dead_items.document_id is
'Its document, with status failed; null if the file was never identified.';
comment on column sherlock.dead_items.parent_document_id is
'The document that it is attached to; null for others.';
comment on column sherlock.dead_items.reason is 'Reason code of the last attempt.';
comment on column sherlock.dead_items.reason_detail is 'What was seen, for a person.';
comment on column sherlock.dead_items.attempts is 'How often it was tried.';
comment on column sherlock.dead_items.gate is
'hit: the bytes were known and had failed before, nothing was read again.';
comment on column sherlock.dead_items.file_size_bytes is 'Size of the file; null if unknown.';
comment on column sherlock.dead_items.enqueued_at is 'When it came.';
comment on column sherlock.dead_items.dead_since is 'When it was given up.';

create or replace view sherlock.failures_by_day as
select date_trunc('day', i.finished_at)::date as day, c.name as collection, i.reason,
       count(*) as item_count,
       count(distinct coalesce(i.document_id, -i.item_id)) as file_count,
       (array_agg(i.item_id order by i.finished_at desc, i.item_id desc))[1] as last_item_id,
       max(i.finished_at) as last_at
from sherlock.inbox as i
join sherlock.collections as c on c.collection_id = i.collection_id
where i.state = 'dead'
group by date_trunc('day', i.finished_at), c.name, i.reason;

comment on view sherlock.failures_by_day is
'Items that were given up, by day, collection and reason, also where another attempt read the document '
'later. Days are those of the session''s time zone.';
comment on column sherlock.failures_by_day.day is 'The day.';
comment on column sherlock.failures_by_day.collection is 'The collection.';
comment on column sherlock.failures_by_day.reason is 'Reason code.';
comment on column sherlock.failures_by_day.item_count is 'Items, copies of failed files among them.';
comment on column sherlock.failures_by_day.file_count is 'Different files.';
comment on column sherlock.failures_by_day.last_item_id is 'The last of them, as an example.';
comment on column sherlock.failures_by_day.last_at is 'When it was given up.';
