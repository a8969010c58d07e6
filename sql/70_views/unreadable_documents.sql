-- What waits for a person: files that could not be read, and texts that were read too badly.

-- The same sentences as on the command line (sherlock_pg/ingest/reasons.py); a test compares them.
create or replace function sherlock._reading_advice(p_code text)
returns text
language sql immutable parallel safe
return case p_code
    when 'missing_file' then
        'check the path, or run again without it'
    when 'unreadable' then
        'check its permissions; folders, pipes and devices cannot be loaded'
    when 'empty_file' then
        'get the document again'
    when 'changed_while_read' then
        'run again when it is complete'
    when 'unsupported_type' then
        'save it as PDF and load that (an old DOC also as DOCX, an Outlook MSG as EML)'
    when 'too_big' then
        'split the file into smaller ones, or scan it again at 200 to 300 dpi'
    when 'encrypted' then
        'remove the password and load it again'
    when 'damaged' then
        'get the document again'
    when 'no_pages' then
        'get the document again'
    when 'too_many_pages' then
        'raise --max-pages, or split it'
    when 'xfa_form' then
        'print it to PDF from Adobe Reader and load that'
    when 'no_text' then
        'if it should hold text, get the file again; if it is a scan, scan it again, darker'
    when 'ocr_disabled' then
        'load it with --ocr auto'
    when 'ocr_error' then
        'see the detail; open the file and scan it again'
    when 'timeout' then
        'raise --timeout and retry the failed ones'
    when 'memory' then
        'split the file into smaller ones, or scan it again at 200 to 300 dpi'
    when 'crashed' then
        'retry the failed ones; if it happens again, report it with the detail'
    when 'ocr_timeout_pages' then
        'raise --timeout and load it again'
    when 'low_yield' then
        'check the scan: is it upright, sharp, dark enough?'
    when 'low_quality' then
        'scan it again at 200 to 300 dpi'
end;

create or replace view sherlock.unreadable_documents as
select d.document_id, d.name, c.name as collection, d.doc_type, d.status, d.text_state, d.reason,
       d.reason_detail, d.flags, d.page_count, p.pages, p.quality, d.word_count,
       (select s.source_uri from sherlock.document_sources as s
        where s.document_id = d.document_id
        order by s.seen_at desc, s.source_uri limit 1) as source_uri,
       a.advice,
       coalesce(d.indexed_at, d.created_at) as since
from sherlock.documents as d
join sherlock.collections as c using (collection_id)
left join lateral (
    select array_agg(g.page_number order by g.page_number)
               filter (where g.method in ('skipped', 'failed')
                          or g.quality < 0.6
                          or g.method = 'ocr' and g.char_count < 200) as pages,
           sum(g.quality * g.char_count)
               / nullif(sum(g.char_count) filter (where g.quality is not null), 0) as quality
    from sherlock.document_pages as g
    where g.document_id = d.document_id
) as p on true
left join lateral (
    select string_agg(distinct k.advice, '; ') as advice
    from unnest(d.flags || d.reason) as f (code)
    cross join lateral (select sherlock._reading_advice(f.code) as advice) as k
) as a on true
where d.text_state = 'excluded' or d.status = 'failed';

comment on view sherlock.unreadable_documents is
'Documents that wait for a person: files that could not be read (status failed), and those that were '
'read too badly or not as a whole (text_state excluded), which only exact copies match. Have them read '
'again (sherlock-pg reprocess --ocr), or accept the reading (select sherlock.accept_reading(...)).';
comment on column sherlock.unreadable_documents.document_id is 'The document.';
comment on column sherlock.unreadable_documents.name is 'Its name.';
comment on column sherlock.unreadable_documents.collection is 'Its collection.';
comment on column sherlock.unreadable_documents.doc_type is 'Its type.';
comment on column sherlock.unreadable_documents.status is 'ok, partial or failed.';
comment on column sherlock.unreadable_documents.text_state is 'excluded; null where there is no text.';
comment on column sherlock.unreadable_documents.reason is 'Why reading it failed; null for the others.';
comment on column sherlock.unreadable_documents.reason_detail is 'What was seen, for a person.';
comment on column sherlock.unreadable_documents.flags is 'Quality flags of the extraction.';
comment on column sherlock.unreadable_documents.page_count is 'Pages of the file.';
comment on column sherlock.unreadable_documents.pages is
'Pages that were skipped or failed, whose text does not look like words, or of which OCR read almost '
'nothing; null if there are none.';
comment on column sherlock.unreadable_documents.quality is
'Share of word-like text, 0 to 1, over its pages; null where there was too little to judge.';
comment on column sherlock.unreadable_documents.word_count is 'Words that were read.';
comment on column sherlock.unreadable_documents.source_uri is
'Where its file was seen last; null for texts without a file.';
comment on column sherlock.unreadable_documents.advice is 'What a person can do about it.';
comment on column sherlock.unreadable_documents.since is
'When it was read so; of files that could not be read, when they arrived.';
