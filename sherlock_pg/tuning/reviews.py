"""What reviewers decided, as labelled pairs."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from sherlock_pg.evaluation.scored import ScoredPair

_KIND = "review"

# Of several decisions on a pair the last one counts. Its scores are those of the texts that were
# looked at: what was closed because a text changed afterwards, before what is stored now, before
# what a later judgement closed.
_DECISIONS = """
select d.document_id::text, d.matched_document_id::text, d.decision = 'duplicate', o.doc_type,
       m.minhash_score, m.tfidf_score, m.entity_score, m.final_score,
       m.confidence = 'EXACT', m.has_conflict, m.confidence,
       array(select jsonb_array_elements_text(m.evidence -> 'found_by')),
       m.model_id is distinct from sherlock.active_tfidf_model(o.collection_id)
from (
    select distinct on (q.document_id, q.matched_document_id) q.*
    from sherlock.review_queue as q
    where q.decision in ('duplicate', 'distinct')
    order by q.document_id, q.matched_document_id, q.decided_at desc, q.review_id desc
) as d
join sherlock.documents as o on o.document_id = d.document_id
left join lateral (
    select s.*
    from (
        select c.minhash_score, c.tfidf_score, c.entity_score, c.final_score, c.confidence,
               c.has_conflict, c.evidence, c.model_id, c.closed_at,
               case c.closed_reason when 'changed' then 1 else 3 end as preference
        from sherlock.closed_matches as c
        where c.document_id = d.document_id
          and c.matched_document_id = d.matched_document_id
          and c.closed_at >= d.decided_at
        union all
        select c.minhash_score, c.tfidf_score, c.entity_score, c.final_score, c.confidence,
               c.has_conflict, c.evidence, c.model_id, null, 2
        from sherlock.matches as c
        where c.document_id = d.document_id
          and c.matched_document_id = d.matched_document_id
    ) as s
    order by s.preference, s.closed_at
    limit 1
) as m on true
where o.collection_id = sherlock.collection_id(%s)
order by d.document_id, d.matched_document_id
"""


@dataclass(frozen=True, slots=True)
class Reviews:
    """Decisions that can be used, and what became of the others.

    Attributes:
        pairs: one for each pair that was decided and has scores.
        without_scores: decided pairs of which no match is stored any more.
        older_model: pairs that were scored with another vocabulary than today's.
    """

    pairs: list[ScoredPair]
    without_scores: int
    older_model: int


def read_reviews(conn: psycopg.Connection, collection: str) -> Reviews:
    """Read the decisions on documents of a collection, with the scores that were decided on."""
    pairs: list[ScoredPair] = []
    without_scores = older_model = 0
    for row in conn.execute(_DECISIONS, [collection]):
        *values, confidence, found_by, is_older_model = row
        if confidence is None:
            without_scores += 1
            continue
        left, right, is_duplicate, doc_type, *levels, score, is_same_text, has_conflict = values
        minhash, tfidf, entity = levels
        older_model += is_older_model and not is_same_text
        pairs.append(
            ScoredPair(
                left=left,
                right=right,
                is_duplicate=is_duplicate,
                kind=_KIND,
                doc_type=doc_type,
                minhash=minhash,
                tfidf=tfidf,
                entity=entity,
                score=score,
                is_same_text=is_same_text,
                has_conflict=has_conflict,
                confidence=confidence,
                reported=confidence,
                retrieved_by=frozenset(found_by),
            )
        )
    return Reviews(pairs, without_scores, older_model)
