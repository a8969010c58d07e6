-- How reading the files went: what came out well, what did not and why, and what it cost.
create or replace view sherlock.extraction_status as
select c.name as collection, d.status, d.reason, d.flags,
       count(*) as document_count,
       count(*) filter (where d.text_state = 'indexed') as indexed_count,
       coalesce(sum(p.page_count), 0)::bigint as page_count,
       coalesce(sum(p.native_pages), 0)::bigint as native_pages,
       coalesce(sum(p.native_ocr_pages), 0)::bigint as native_ocr_pages,
       coalesce(sum(p.ocr_pages), 0)::bigint as ocr_pages,
       coalesce(sum(p.blank_pages), 0)::bigint as blank_pages,
       coalesce(sum(p.skipped_pages), 0)::bigint as skipped_pages,
       coalesce(sum(p.failed_pages), 0)::bigint as failed_pages,
       sum(p.quality_sum) / nullif(sum(p.quality_count), 0) as average_quality,
       sum(t.extract_seconds) as extract_seconds,
       sum(t.extract_seconds) filter (where p.ocr_pages > 0) as extract_seconds_with_ocr,
       sum(t.ner_seconds) as ner_seconds,
       min(d.created_at) as oldest_at,
       max(d.created_at) as newest_at,
       min(d.document_id) as first_document_id,
       sum(s.boilerplate_count)::double precision / nullif(sum(s.shingle_count), 0)
           as boilerplate_share
from sherlock.documents as d
join sherlock.collections as c on c.collection_id = d.collection_id
left join (
    select g.document_id, count(*) as page_count,
           count(*) filter (where g.method = 'native') as native_pages,
           count(*) filter (where g.method = 'native_ocr') as native_ocr_pages,
           count(*) filter (where g.method = 'ocr') as ocr_pages,
           count(*) filter (where g.method = 'blank') as blank_pages,
           count(*) filter (where g.method = 'skipped') as skipped_pages,
           count(*) filter (where g.method = 'failed') as failed_pages,
           sum(g.quality) as quality_sum,
           count(g.quality) as quality_count
    from sherlock.document_pages as g
    group by g.document_id
) as p on p.document_id = d.document_id
left join sherlock.document_signatures as s
    on s.document_id = d.document_id and s.scheme_id = c.scheme_id
-- Whoever stores documents may put other things there: only numbers are added up.
cross join lateral (
    select case when jsonb_typeof(d.processing -> 'extract_seconds') = 'number'
                then (d.processing -> 'extract_seconds')::double precision
           end as extract_seconds,
           case when jsonb_typeof(d.processing -> 'ner_seconds') = 'number'
                then (d.processing -> 'ner_seconds')::double precision
           end as ner_seconds
) as t
group by c.name, d.status, d.reason, d.flags;

comment on view sherlock.extraction_status is
'How reading went, one row for each collection, status, reason and set of flags: documents, pages by '
'method, quality and seconds. Reads all documents and pages.';
comment on column sherlock.extraction_status.collection is 'The collection.';
comment on column sherlock.extraction_status.status is 'pending, ok, partial or failed.';
comment on column sherlock.extraction_status.reason is
'Why reading failed or stayed partial; null for the others.';
comment on column sherlock.extraction_status.flags is 'Quality flags of the extraction.';
comment on column sherlock.extraction_status.document_count is 'Documents.';
comment on column sherlock.extraction_status.indexed_count is
'Of these, documents whose text takes part in all levels.';
comment on column sherlock.extraction_status.page_count is 'Pages of the documents, of all methods.';
comment on column sherlock.extraction_status.native_pages is 'Pages with a text layer.';
comment on column sherlock.extraction_status.native_ocr_pages is
'Pages with a good text layer that an earlier OCR left.';
comment on column sherlock.extraction_status.ocr_pages is 'Pages read by OCR.';
comment on column sherlock.extraction_status.blank_pages is 'Pages with nothing on them.';
comment on column sherlock.extraction_status.skipped_pages is 'Pages beyond a limit, not read.';
comment on column sherlock.extraction_status.failed_pages is 'Pages that could not be read.';
comment on column sherlock.extraction_status.average_quality is
'Mean quality of the pages that have one, 0 to 1.';
comment on column sherlock.extraction_status.extract_seconds is
'Seconds that extracting the text took; null if none was measured.';
comment on column sherlock.extraction_status.extract_seconds_with_ocr is
'Of these, seconds of documents with pages read by OCR; single pages are not timed.';
comment on column sherlock.extraction_status.ner_seconds is
'Seconds that finding the parties took; null if none was measured.';
comment on column sherlock.extraction_status.oldest_at is 'When the first of them arrived.';
comment on column sherlock.extraction_status.newest_at is 'When the last of them arrived.';
comment on column sherlock.extraction_status.first_document_id is
'The first of them, as an example.';
comment on column sherlock.extraction_status.boilerplate_share is
'Share of the text that level 1 leaves out, because it is on the scheme''s list of boilerplate; null '
'if none of them is signed with the scheme in use.';
