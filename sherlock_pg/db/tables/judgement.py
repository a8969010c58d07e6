"""Configuration, matches and verdicts."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from sherlock_pg.db.tables.columns import (
    SCHEMA,
    document_id_column,
    integer_column,
    metadata,
    share_column,
    text_column,
    timestamp_column,
)

detection_configs = Table(
    "detection_configs",
    metadata,
    Column("config_id", Integer, Identity(), primary_key=True, comment="The configuration."),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id"),
        comment="The collection it is for; null: all that have none of their own.",
    ),
    text_column(
        "doc_type", "The document type it is for; default: all that have none of their own."
    ),
    Column(
        "is_active",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Rows are never edited: a change adds a row and retires the old one.",
    ),
    *share_column("minhash_weight", "Weight of level 1.", default="0.25"),
    *share_column("tfidf_weight", "Weight of level 2.", default="0.40"),
    *share_column("entity_weight", "Weight of level 3.", default="0.35"),
    *share_column("both_parties_boost", "Share of level 3: both parties agree.", default="0.20"),
    *share_column("cedula_boost", "Share of level 3: an id agrees.", default="0.10"),
    *share_column("correo_boost", "Share of level 3: an address agrees.", default="0.05"),
    *share_column(
        "fuzzy_threshold", "Ratcliff/Obershelp ratio from which names agree.", default="0.85"
    ),
    *share_column("high_threshold", "Score from which a pair is HIGH.", default="0.80"),
    *share_column("medium_threshold", "Score from which a pair is MEDIUM.", default="0.65"),
    *share_column("low_threshold", "Score from which a pair is LOW and reported.", default="0.50"),
    *share_column(
        "minhash_threshold", "Jaccard from which level 1 counts as a hit.", default="0.50"
    ),
    text_column(
        "conflict_cap",
        "Highest class of a pair whose identities conflict (HIGH, MEDIUM, LOW); null: no cap.",
        null=True,
    ),
    integer_column("minhash_candidate_limit", "Candidates taken from level 1.", default=64),
    integer_column("tfidf_candidate_limit", "Candidates taken from level 2.", default=48),
    integer_column(
        "entity_candidate_limit", "Candidates taken from level 3, per entity.", default=50
    ),
    integer_column("max_results", "Candidates reported, at most.", default=10),
    Column(
        "use_short_circuit",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="An exact copy ends the search: the fuzzy levels are not asked.",
    ),
    timestamp_column("created_at", "When the configuration was made.", default=True),
    Column(
        "use_references",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Numbers and dates of the texts count: as level 3 where no parties or ids can be "
        "compared, and as a conflict.",
    ),
    CheckConstraint(
        "abs(minhash_weight + tfidf_weight + entity_weight - 1) < 1e-9", name="weights"
    ),
    CheckConstraint(
        "high_threshold > medium_threshold and medium_threshold > low_threshold",
        name="thresholds",
    ),
    CheckConstraint(
        "entity_weight = 0 or both_parties_boost + cedula_boost + correo_boost > 0", name="boosts"
    ),
    CheckConstraint("conflict_cap in ('HIGH', 'MEDIUM', 'LOW')", name="conflict_cap"),
    CheckConstraint(
        "minhash_candidate_limit > 0 and tfidf_candidate_limit > 0 "
        "and entity_candidate_limit > 0 and max_results between 1 and 100",
        name="limits",
    ),
    Index(
        "detection_configs_active_idx",
        "collection_id",
        "doc_type",
        unique=True,
        postgresql_where=text("is_active"),
        postgresql_nulls_not_distinct=True,
    ),
    comment="Weights, thresholds and limits of the ensemble, by collection and document type.",
)


matches = Table(
    "matches",
    metadata,
    document_id_column(),
    Column(
        "matched_document_id",
        BigInteger,
        nullable=False,
        comment="The document that was there before.",
    ),
    text_column("confidence", "EXACT, HIGH, MEDIUM or LOW."),
    text_column("action", "REJECT, REVIEW or ACCEPT."),
    Column("final_score", Double, nullable=False, comment="Ensemble score, 0 to 1."),
    Column("minhash_score", Double, comment="Level 1, 0 to 1; null if the level was absent."),
    Column("tfidf_score", Double, comment="Level 2, 0 to 1; null if the level was absent."),
    Column("entity_score", Double, comment="Level 3, 0 to 1; null if nothing was comparable."),
    Column("has_conflict", Boolean, nullable=False, comment="Identities differ."),
    Column("evidence", JSONB, nullable=False, comment="What agreed, what differed, who found it."),
    integer_column("config_id", "Configuration that made the match.", null=True),
    integer_column("scheme_id", "Scheme of level 1.", null=True),
    integer_column("model_id", "Model of level 2.", null=True),
    timestamp_column("detected_at", "When it was found.", default=True),
    PrimaryKeyConstraint("document_id", "matched_document_id"),
    CheckConstraint("confidence in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')", name="confidence"),
    CheckConstraint("action in ('REJECT', 'REVIEW', 'ACCEPT')", name="action"),
    Index("matches_matched_document_id_idx", "matched_document_id", "document_id"),
    comment="What detection found, the later document first.",
)


detections = Table(
    "detections",
    metadata,
    document_id_column(),
    text_column("recommended_action", "REJECT, REVIEW or ACCEPT."),
    text_column("confidence", "Class of the best match; null if there is none.", null=True),
    Column("best_match_id", BigInteger, comment="Document of the best match."),
    Column("best_score", Double, comment="Its score."),
    integer_column("total_checked", "Candidates whose levels were scored."),
    integer_column("high_confidence_count", "Matches that are EXACT or HIGH."),
    integer_column("medium_confidence_count", "Matches that are MEDIUM."),
    integer_column("low_confidence_count", "Matches that are LOW."),
    Column("total_latency_ms", Double, nullable=False, comment="Time of the detection."),
    Column("short_circuited", Boolean, nullable=False, comment="An exact copy ended it early."),
    Column("level_scores", JSONB, nullable=False, comment="Best score of each level."),
    integer_column(
        "hot_band_keys",
        "Band keys that more documents share than were read, at least.",
        default=0,
    ),
    timestamp_column("detected_at", "When it was made.", default=True),
    PrimaryKeyConstraint("document_id"),
    CheckConstraint("recommended_action in ('REJECT', 'REVIEW', 'ACCEPT')", name="action"),
    comment="The latest verdict on each document.",
)


closed_matches = Table(
    "closed_matches",
    metadata,
    Column(
        "closed_match_id", BigInteger, Identity(), primary_key=True, comment="The closed match."
    ),
    Column("document_id", BigInteger, nullable=False, comment="The later document."),
    text_column("name", "Its name then.", null=True),
    Column("matched_document_id", BigInteger, nullable=False, comment="The earlier document."),
    text_column("matched_name", "Its name then.", null=True),
    text_column("confidence", "EXACT, HIGH, MEDIUM or LOW."),
    text_column("action", "REJECT, REVIEW or ACCEPT."),
    Column("final_score", Double, nullable=False, comment="Ensemble score, 0 to 1."),
    Column("minhash_score", Double, comment="Level 1, 0 to 1; null if the level was absent."),
    Column("tfidf_score", Double, comment="Level 2, 0 to 1; null if the level was absent."),
    Column("entity_score", Double, comment="Level 3, 0 to 1; null if nothing was comparable."),
    Column("has_conflict", Boolean, nullable=False, comment="Identities differed."),
    Column("evidence", JSONB, nullable=False, comment="What agreed, what differed."),
    integer_column("config_id", "Configuration that made the match.", null=True),
    integer_column("scheme_id", "Scheme of level 1.", null=True),
    integer_column("model_id", "Model of level 2.", null=True),
    timestamp_column("detected_at", "When it was found."),
    text_column(
        "closed_reason",
        "deleted: one of the two is gone. changed: a text changed. rejudged: a later judgement "
        "did not find it, or found another class.",
    ),
    timestamp_column("closed_at", "When it ended.", default=True),
    CheckConstraint("closed_reason in ('deleted', 'changed', 'rejudged')", name="closed_reason"),
    Index("closed_matches_document_id_idx", "document_id"),
    Index("closed_matches_matched_document_id_idx", "matched_document_id"),
    comment="Matches that no longer hold: nothing that was reported is lost.",
)


closed_detections = Table(
    "closed_detections",
    metadata,
    Column("closed_detection_id", BigInteger, Identity(), primary_key=True, comment="The verdict."),
    Column("document_id", BigInteger, nullable=False, comment="The document it was about."),
    text_column("name", "Its name then.", null=True),
    text_column("recommended_action", "REJECT, REVIEW or ACCEPT."),
    text_column("confidence", "Class of the best match; null if there was none.", null=True),
    Column("best_match_id", BigInteger, comment="Document of the best match."),
    Column("best_score", Double, comment="Its score."),
    timestamp_column("detected_at", "When it was made."),
    text_column("closed_reason", "deleted, changed or rejudged, as for matches."),
    timestamp_column("closed_at", "When it was replaced or withdrawn.", default=True),
    CheckConstraint("closed_reason in ('deleted', 'changed', 'rejudged')", name="closed_reason"),
    Index("closed_detections_document_id_idx", "document_id"),
    comment="Verdicts that no longer hold, because the document or what it matched changed.",
)


judging_locks = Table(
    "judging_locks",
    metadata,
    integer_column("collection_id", "The collection whose documents are judged."),
    integer_column(
        "bucket", "Hash of a band key, an identifier or a canonical text, 0 to 4194303."
    ),
    timestamp_column("locked_at", "When a judgement last took it.", default=True),
    PrimaryKeyConstraint("collection_id", "bucket"),
    prefixes=["UNLOGGED"],
    postgresql_with={"fillfactor": "80"},
    comment="Documents that may match each other share a bucket: their judgements take turns. "
    "Holds nothing that matters after a crash.",
)

review_queue = Table(
    "review_queue",
    metadata,
    Column("review_id", BigInteger, Identity(), primary_key=True, comment="The entry."),
    Column("document_id", BigInteger, nullable=False, comment="The later document."),
    Column("matched_document_id", BigInteger, nullable=False, comment="Its best match."),
    text_column("confidence", "Class of the match when it was queued."),
    Column("final_score", Double, nullable=False, comment="Its score, 0 to 1."),
    timestamp_column("queued_at", "When it was queued.", default=True),
    text_column(
        "decision",
        "duplicate or distinct, as a reviewer said; withdrawn: the pair ended. Null: open.",
        null=True,
    ),
    text_column("decided_by", "Who decided.", null=True),
    timestamp_column("decided_at", "When."),
    CheckConstraint("decision in ('duplicate', 'distinct', 'withdrawn')", name="decision"),
    CheckConstraint("(decision is null) = (decided_at is null)", name="decided"),
    Index("review_queue_pair_idx", "document_id", "matched_document_id"),
    Index(
        "review_queue_open_idx",
        "document_id",
        unique=True,
        postgresql_where=text("decision is null"),
    ),
    comment="Pairs that wait for a person, and what became of them.",
)
