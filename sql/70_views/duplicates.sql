-- What people who only read look at.
create or replace view sherlock.duplicate_pairs as
select m.document_id, d.name, m.matched_document_id, o.name as matched_name, c.name as collection,
       d.doc_type, m.confidence, m.action, m.final_score, m.minhash_score, m.tfidf_score,
       m.entity_score, m.has_conflict, m.evidence, m.detected_at
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

create or replace view sherlock.latest_verdicts as
select d.document_id, d.name, c.name as collection, d.doc_type, d.status, d.reason, d.flags,
       d.text_state, v.recommended_action, v.confidence, v.best_score,
       v.best_match_id, o.name as best_match_name, v.total_checked, v.short_circuited,
       v.total_latency_ms, d.created_at, v.detected_at
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
