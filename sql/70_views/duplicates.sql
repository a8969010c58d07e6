-- What people who only read look at.
create or replace view sherlock.duplicate_pairs as
select m.document_id, d.name, m.matched_document_id, o.name as matched_name, c.name as collection,
       d.doc_type, m.confidence, m.action, m.final_score, m.minhash_score, m.tfidf_score,
       m.entity_score, m.has_conflict, m.evidence, m.detected_at,
       o.doc_type as matched_doc_type, d.created_at, o.created_at as matched_created_at,
       d.word_count, o.word_count as matched_word_count,
       -- In the list of columns, so that who does not ask for them does not pay for them.
       (select s.source_uri from sherlock.document_sources as s
        where s.document_id = m.document_id
        order by s.seen_at, s.source_uri limit 1) as source_uri,
       (select s.source_uri from sherlock.document_sources as s
        where s.document_id = m.matched_document_id
        order by s.seen_at, s.source_uri limit 1) as matched_source_uri,
       m.evidence ->> 'capped_from' as uncapped_confidence,
       (m.evidence -> 'hot_band_keys')::integer as hot_band_keys,
       m.config_id, m.scheme_id, m.model_id
from sherlock.matches as m
join sherlock.documents as d on d.document_id = m.document_id
join sherlock.documents as o on o.document_id = m.matched_document_id
join sherlock.collections as c on c.collection_id = d.collection_id;

comment on view sherlock.duplicate_pairs is
'Each pair that detection found, the later document first, with names and scores.';
comment on column sherlock.duplicate_pairs.document_id is 'The later document.';
comment on column sherlock.duplicate_pairs.name is 'Its name.';
comment on column sherlock.duplicate_pairs.matched_document_id is 'The document that was there before.';
comment on column sherlock.duplicate_pairs.matched_name is 'Its name.';
comment on column sherlock.duplicate_pairs.collection is 'Their collection.';
comment on column sherlock.duplicate_pairs.doc_type is 'Type of the later document.';
comment on column sherlock.duplicate_pairs.confidence is 'EXACT, HIGH, MEDIUM or LOW.';
comment on column sherlock.duplicate_pairs.action is 'REJECT, REVIEW or ACCEPT.';
comment on column sherlock.duplicate_pairs.final_score is 'Ensemble score, 0 to 1.';
comment on column sherlock.duplicate_pairs.minhash_score is 'Estimated Jaccard, 0 to 1.';
comment on column sherlock.duplicate_pairs.tfidf_score is 'Cosine, 0 to 1.';
comment on column sherlock.duplicate_pairs.entity_score is 'Agreement of entities, 0 to 1.';
comment on column sherlock.duplicate_pairs.has_conflict is 'Their identities differ.';
comment on column sherlock.duplicate_pairs.evidence is 'What agreed, what differed, who found it.';
comment on column sherlock.duplicate_pairs.detected_at is 'When the pair was found.';
comment on column sherlock.duplicate_pairs.matched_doc_type is 'Type of the earlier document.';
comment on column sherlock.duplicate_pairs.created_at is 'When the later document arrived.';
comment on column sherlock.duplicate_pairs.matched_created_at is 'When the earlier one arrived.';
comment on column sherlock.duplicate_pairs.word_count is 'Words of the later document.';
comment on column sherlock.duplicate_pairs.matched_word_count is 'Words of the earlier one.';
comment on column sherlock.duplicate_pairs.source_uri is
'Where the later document''s file was seen first; null for texts without a file.';
comment on column sherlock.duplicate_pairs.matched_source_uri is 'The same of the earlier one.';
comment on column sherlock.duplicate_pairs.uncapped_confidence is
'Class before a conflict of identities lowered it; null if none did.';
comment on column sherlock.duplicate_pairs.hot_band_keys is
'Shared band keys of which not all documents were read; null if there are none.';
comment on column sherlock.duplicate_pairs.config_id is 'Configuration that made the match.';
comment on column sherlock.duplicate_pairs.scheme_id is 'Scheme of level 1 then.';
comment on column sherlock.duplicate_pairs.model_id is 'Model of level 2 then; null if there was none.';

create or replace view sherlock.latest_verdicts as
select d.document_id, d.name, c.name as collection, d.doc_type, d.status, d.reason, d.flags,
       d.text_state, v.recommended_action, v.confidence, v.best_score,
       v.best_match_id, o.name as best_match_name, v.total_checked, v.short_circuited,
       v.total_latency_ms, d.created_at, v.detected_at,
       d.reason_detail, d.media_type, d.page_count, d.word_count,
       (select s.source_uri from sherlock.document_sources as s
        where s.document_id = d.document_id
        order by s.seen_at, s.source_uri limit 1) as source_uri,
       v.high_confidence_count, v.medium_confidence_count, v.low_confidence_count,
       (select m.has_conflict from sherlock.matches as m
        where m.document_id = v.document_id and m.matched_document_id = v.best_match_id)
           as best_match_has_conflict
from sherlock.documents as d
join sherlock.collections as c on c.collection_id = d.collection_id
left join sherlock.detections as v on v.document_id = d.document_id
left join sherlock.documents as o on o.document_id = v.best_match_id;

comment on view sherlock.latest_verdicts is
'Every document with its latest verdict; verdict columns are null where there is none yet.';
comment on column sherlock.latest_verdicts.document_id is 'The document.';
comment on column sherlock.latest_verdicts.name is 'Its name.';
comment on column sherlock.latest_verdicts.collection is 'Its collection.';
comment on column sherlock.latest_verdicts.doc_type is 'Its type.';
comment on column sherlock.latest_verdicts.status is 'pending, ok, partial or failed.';
comment on column sherlock.latest_verdicts.reason is 'Why reading it failed or stayed partial.';
comment on column sherlock.latest_verdicts.flags is 'Quality flags of the extraction.';
comment on column sherlock.latest_verdicts.text_state is 'indexed, short, empty or excluded.';
comment on column sherlock.latest_verdicts.recommended_action is 'REJECT, REVIEW or ACCEPT.';
comment on column sherlock.latest_verdicts.confidence is 'Class of the best match, if any.';
comment on column sherlock.latest_verdicts.best_score is 'Score of the best match.';
comment on column sherlock.latest_verdicts.best_match_id is 'Document of the best match.';
comment on column sherlock.latest_verdicts.best_match_name is 'Its name.';
comment on column sherlock.latest_verdicts.total_checked is 'Candidates that were scored.';
comment on column sherlock.latest_verdicts.short_circuited is 'An exact copy ended the search.';
comment on column sherlock.latest_verdicts.total_latency_ms is 'Time of the detection.';
comment on column sherlock.latest_verdicts.created_at is 'When the document arrived.';
comment on column sherlock.latest_verdicts.detected_at is 'When the verdict was made.';
comment on column sherlock.latest_verdicts.reason_detail is 'What was seen, for a person.';
comment on column sherlock.latest_verdicts.media_type is 'Type of the file by content.';
comment on column sherlock.latest_verdicts.page_count is 'Pages of the file.';
comment on column sherlock.latest_verdicts.word_count is 'Words of the text.';
comment on column sherlock.latest_verdicts.source_uri is
'Where its file was seen first; null for texts without a file.';
comment on column sherlock.latest_verdicts.high_confidence_count is 'Matches that are EXACT or HIGH.';
comment on column sherlock.latest_verdicts.medium_confidence_count is 'Matches that are MEDIUM.';
comment on column sherlock.latest_verdicts.low_confidence_count is 'Matches that are LOW.';
comment on column sherlock.latest_verdicts.best_match_has_conflict is
'The identities of the document and its best match differ.';
