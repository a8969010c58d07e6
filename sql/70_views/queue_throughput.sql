-- What went through the queue, and what the gate kept from being read again.

-- A number in documents.processing; null if it is missing or something else, for whoever stores
-- documents may put other things there.
create or replace function sherlock._processing_seconds(p_processing jsonb, p_stage text)
returns double precision
language sql immutable parallel safe
return case
    when jsonb_typeof(p_processing -> p_stage) = 'number'
    then (p_processing -> p_stage)::double precision
end;

create or replace function sherlock.measure_throughput(
    p_from timestamptz default now() - interval '1 hour',
    p_until timestamptz default now(),
    p_bucket interval default '1 minute'
)
returns table (
    bucket timestamptz,
    collection text,
    read_count bigint,
    gate_hit_count bigint,
    dead_count bigint,
    page_count bigint,
    byte_count bigint,
    mean_wait_seconds double precision,
    p95_wait_seconds double precision,
    mean_processing_seconds double precision,
    p95_processing_seconds double precision,
    extract_seconds double precision,
    ocr_seconds double precision,
    ner_seconds double precision
)
language sql stable
begin atomic
    select f.bucket, c.name,
           count(*) filter (where f.is_read),
           count(*) filter (where f.state = 'done' and not f.is_read),
           count(*) filter (where f.state = 'dead'),
           coalesce(sum(d.page_count), 0),
           coalesce(sum(f.file_size_bytes) filter (where f.is_read), 0)::bigint,
           avg(f.wait_seconds),
           percentile_cont(0.95) within group (order by f.wait_seconds),
           avg(f.processing_seconds),
           percentile_cont(0.95) within group (order by f.processing_seconds),
           sum(sherlock._processing_seconds(d.processing, 'extract_seconds')),
           sum(sherlock._processing_seconds(d.processing, 'ocr_seconds')),
           sum(sherlock._processing_seconds(d.processing, 'ner_seconds'))
    from (
        select date_bin(p_bucket, i.finished_at, timestamptz 'epoch') as bucket,
               i.collection_id, i.state, i.document_id, i.file_size_bytes,
               i.state = 'done' and i.gate is distinct from 'hit' as is_read,
               extract(epoch from i.started_at - i.enqueued_at)::double precision as wait_seconds,
               extract(epoch from i.finished_at - i.started_at)::double precision
                   as processing_seconds
        from sherlock.inbox as i
        where i.finished_at >= p_from and i.finished_at < p_until
    ) as f
    join sherlock.collections as c on c.collection_id = f.collection_id
    left join sherlock.documents as d on f.is_read and d.document_id = f.document_id
    group by f.bucket, c.name;
end;

comment on function sherlock.measure_throughput(timestamptz, timestamptz, interval) is
'What ended in the queue from p_from until before p_until, by time slices of p_bucket (days at the '
'longest, not months) and collection; slices in which nothing ended are left out. The columns are '
'those of sherlock.ingest_throughput.';

create or replace view sherlock.ingest_throughput as
select t.bucket, t.collection, t.read_count, t.gate_hit_count, t.dead_count, t.page_count,
       t.byte_count, t.mean_wait_seconds, t.p95_wait_seconds, t.mean_processing_seconds,
       t.p95_processing_seconds, t.extract_seconds, t.ocr_seconds, t.ner_seconds
from sherlock.measure_throughput(now() - interval '1 hour', 'infinity', '1 minute') as t;

comment on view sherlock.ingest_throughput is
'What ended in the queue within the last hour, one row for each minute and collection in which '
'something did. Other spans and slices: sherlock.measure_throughput.';
comment on column sherlock.ingest_throughput.bucket is 'Beginning of the minute.';
comment on column sherlock.ingest_throughput.collection is 'The collection.';
comment on column sherlock.ingest_throughput.read_count is 'Files that were read and judged.';
comment on column sherlock.ingest_throughput.gate_hit_count is
'Exact copies that the gate answered, without reading them.';
comment on column sherlock.ingest_throughput.dead_count is 'Items that were given up.';
comment on column sherlock.ingest_throughput.page_count is 'Pages of the files that were read.';
comment on column sherlock.ingest_throughput.byte_count is 'Bytes of the files that were read.';
comment on column sherlock.ingest_throughput.mean_wait_seconds is
'Mean time from coming in to the last attempt''s start, in seconds; of the items that were started.';
comment on column sherlock.ingest_throughput.p95_wait_seconds is
'The time that 95 of 100 items waited at most, in seconds.';
comment on column sherlock.ingest_throughput.mean_processing_seconds is
'Mean time from the last attempt''s start to the verdict, in seconds.';
comment on column sherlock.ingest_throughput.p95_processing_seconds is
'The time that 95 of 100 items took at most from start to verdict, in seconds.';
comment on column sherlock.ingest_throughput.extract_seconds is
'Seconds that extracting the texts took in all, OCR included; null if none was measured.';
comment on column sherlock.ingest_throughput.ocr_seconds is 'Of these, seconds of OCR.';
comment on column sherlock.ingest_throughput.ner_seconds is
'Seconds that finding the parties took in all; null if none was measured.';

create or replace function sherlock.measure_gate_savings(
    p_from timestamptz default '-infinity',
    p_until timestamptz default 'infinity'
)
returns table (
    collection text,
    copy_count bigint,
    file_count bigint,
    byte_count bigint,
    page_count bigint,
    extract_seconds double precision,
    ocr_seconds double precision,
    ner_seconds double precision
)
language sql stable
begin atomic
    select c.name, sum(h.copy_count)::bigint, count(*), sum(h.byte_count)::bigint,
           coalesce(sum(h.copy_count * d.page_count), 0)::bigint,
           sum(h.copy_count * sherlock._processing_seconds(d.processing, 'extract_seconds')),
           sum(h.copy_count * sherlock._processing_seconds(d.processing, 'ocr_seconds')),
           sum(h.copy_count * sherlock._processing_seconds(d.processing, 'ner_seconds'))
    from (
        select i.collection_id, i.document_id, count(*) as copy_count,
               coalesce(sum(i.file_size_bytes), 0) as byte_count
        from sherlock.inbox as i
        where i.gate = 'hit' and i.state = 'done'
          and i.finished_at >= p_from and i.finished_at < p_until
        group by i.collection_id, i.document_id
    ) as h
    join sherlock.collections as c on c.collection_id = h.collection_id
    left join sherlock.documents as d on d.document_id = h.document_id
    group by c.name;
end;

comment on function sherlock.measure_gate_savings(timestamptz, timestamptz) is
'What the gate saved from p_from until before p_until, one row for each collection with a copy. The '
'columns are those of sherlock.gate_savings.';

create or replace view sherlock.gate_savings as
select s.collection, s.copy_count, s.file_count, s.byte_count, s.page_count, s.extract_seconds,
       s.ocr_seconds, s.ner_seconds
from sherlock.measure_gate_savings(now() - interval '1 day', 'infinity') as s;

comment on view sherlock.gate_savings is
'What the gate saved within the last 24 hours: exact copies that were not read, and what reading the '
'same bytes had cost the first time. Other spans: sherlock.measure_gate_savings.';
comment on column sherlock.gate_savings.collection is 'The collection.';
comment on column sherlock.gate_savings.copy_count is 'Exact copies that the gate answered.';
comment on column sherlock.gate_savings.file_count is 'Different files that they were copies of.';
comment on column sherlock.gate_savings.byte_count is 'Bytes of the copies.';
comment on column sherlock.gate_savings.page_count is 'Pages of the copies.';
comment on column sherlock.gate_savings.extract_seconds is
'Seconds that extracting their texts would have taken, OCR included; null if no first reading was '
'measured.';
comment on column sherlock.gate_savings.ocr_seconds is 'Of these, seconds of OCR.';
comment on column sherlock.gate_savings.ner_seconds is
'Seconds that finding the parties would have taken.';
