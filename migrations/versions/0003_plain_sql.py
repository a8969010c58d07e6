"""Texts inserted by plain SQL: watched tables, the locks of judgements, what no longer holds.

Adds a column and defaults to documents under a short exclusive lock; rewrites nothing.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables; drop a function whose arguments have no defaults any more."""
    op.execute("drop function if exists sherlock.signature(text, text, integer)")
    op.create_table(
        "closed_detections",
        sa.Column(
            "closed_detection_id",
            sa.BigInteger(),
            sa.Identity(always=False),
            nullable=False,
            comment="The verdict.",
        ),
        sa.Column(
            "document_id", sa.BigInteger(), nullable=False, comment="The document it was about."
        ),
        sa.Column("name", sa.Text(), nullable=True, comment="Its name then."),
        sa.Column(
            "recommended_action", sa.Text(), nullable=False, comment="REJECT, REVIEW or ACCEPT."
        ),
        sa.Column(
            "confidence",
            sa.Text(),
            nullable=True,
            comment="Class of the best match; null if there was none.",
        ),
        sa.Column(
            "best_match_id", sa.BigInteger(), nullable=True, comment="Document of the best match."
        ),
        sa.Column("best_score", sa.Double(), nullable=True, comment="Its score."),
        sa.Column(
            "detected_at", sa.DateTime(timezone=True), nullable=True, comment="When it was made."
        ),
        sa.Column(
            "closed_reason",
            sa.Text(),
            nullable=False,
            comment="deleted, changed or rejudged, as for matches.",
        ),
        sa.Column(
            "closed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was replaced or withdrawn.",
        ),
        sa.CheckConstraint(
            "closed_reason in ('deleted', 'changed', 'rejudged')",
            name=op.f("closed_detections_closed_reason_check"),
        ),
        sa.PrimaryKeyConstraint("closed_detection_id", name=op.f("closed_detections_pkey")),
        schema="sherlock",
        comment="Verdicts that no longer hold, because the document or what it matched changed.",
    )
    op.create_index(
        "closed_detections_document_id_idx",
        "closed_detections",
        ["document_id"],
        unique=False,
        schema="sherlock",
    )
    op.create_table(
        "closed_matches",
        sa.Column(
            "closed_match_id",
            sa.BigInteger(),
            sa.Identity(always=False),
            nullable=False,
            comment="The closed match.",
        ),
        sa.Column("document_id", sa.BigInteger(), nullable=False, comment="The later document."),
        sa.Column("name", sa.Text(), nullable=True, comment="Its name then."),
        sa.Column(
            "matched_document_id", sa.BigInteger(), nullable=False, comment="The earlier document."
        ),
        sa.Column("matched_name", sa.Text(), nullable=True, comment="Its name then."),
        sa.Column("confidence", sa.Text(), nullable=False, comment="EXACT, HIGH, MEDIUM or LOW."),
        sa.Column("action", sa.Text(), nullable=False, comment="REJECT, REVIEW or ACCEPT."),
        sa.Column("final_score", sa.Double(), nullable=False, comment="Ensemble score, 0 to 1."),
        sa.Column(
            "minhash_score",
            sa.Double(),
            nullable=True,
            comment="Level 1, 0 to 1; null if the level was absent.",
        ),
        sa.Column(
            "tfidf_score",
            sa.Double(),
            nullable=True,
            comment="Level 2, 0 to 1; null if the level was absent.",
        ),
        sa.Column(
            "entity_score",
            sa.Double(),
            nullable=True,
            comment="Level 3, 0 to 1; null if nothing was comparable.",
        ),
        sa.Column("has_conflict", sa.Boolean(), nullable=False, comment="Identities differed."),
        sa.Column(
            "evidence",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="What agreed, what differed.",
        ),
        sa.Column(
            "config_id",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Configuration that made the match.",
        ),
        sa.Column(
            "scheme_id",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Scheme of level 1.",
        ),
        sa.Column(
            "model_id",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Model of level 2.",
        ),
        sa.Column(
            "detected_at", sa.DateTime(timezone=True), nullable=True, comment="When it was found."
        ),
        sa.Column(
            "closed_reason",
            sa.Text(),
            nullable=False,
            comment="deleted: one of the two is gone. changed: a text changed. rejudged: a later judgement did not find it, or found another class.",
        ),
        sa.Column(
            "closed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it ended.",
        ),
        sa.CheckConstraint(
            "closed_reason in ('deleted', 'changed', 'rejudged')",
            name=op.f("closed_matches_closed_reason_check"),
        ),
        sa.PrimaryKeyConstraint("closed_match_id", name=op.f("closed_matches_pkey")),
        schema="sherlock",
        comment="Matches that no longer hold: nothing that was reported is lost.",
    )
    op.create_index(
        "closed_matches_document_id_idx",
        "closed_matches",
        ["document_id"],
        unique=False,
        schema="sherlock",
    )
    op.create_index(
        "closed_matches_matched_document_id_idx",
        "closed_matches",
        ["matched_document_id"],
        unique=False,
        schema="sherlock",
    )
    op.create_table(
        "judging_locks",
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The collection whose documents are judged.",
        ),
        sa.Column(
            "bucket",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Hash of a band key, an identifier or a canonical text, 0 to 4194303.",
        ),
        sa.Column(
            "locked_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When a judgement last took it.",
        ),
        sa.PrimaryKeyConstraint("collection_id", "bucket", name=op.f("judging_locks_pkey")),
        schema="sherlock",
        comment="Documents that may match each other share a bucket: their judgements take turns. Holds nothing that matters after a crash.",
        postgresql_with={"fillfactor": "80"},
        prefixes=["UNLOGGED"],
    )
    op.create_table(
        "review_queue",
        sa.Column(
            "review_id",
            sa.BigInteger(),
            sa.Identity(always=False),
            nullable=False,
            comment="The entry.",
        ),
        sa.Column("document_id", sa.BigInteger(), nullable=False, comment="The later document."),
        sa.Column(
            "matched_document_id", sa.BigInteger(), nullable=False, comment="Its best match."
        ),
        sa.Column(
            "confidence",
            sa.Text(),
            nullable=False,
            comment="Class of the match when it was queued.",
        ),
        sa.Column("final_score", sa.Double(), nullable=False, comment="Its score, 0 to 1."),
        sa.Column(
            "queued_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was queued.",
        ),
        sa.Column(
            "decision",
            sa.Text(),
            nullable=True,
            comment="duplicate or distinct, as a reviewer said; withdrawn: the pair ended. Null: open.",
        ),
        sa.Column("decided_by", sa.Text(), nullable=True, comment="Who decided."),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True, comment="When."),
        sa.CheckConstraint(
            "decision in ('duplicate', 'distinct', 'withdrawn')",
            name=op.f("review_queue_decision_check"),
        ),
        sa.CheckConstraint(
            "(decision is null) = (decided_at is null)", name=op.f("review_queue_decided_check")
        ),
        sa.PrimaryKeyConstraint("review_id", name=op.f("review_queue_pkey")),
        schema="sherlock",
        comment="Pairs that wait for a person, and what became of them.",
    )
    op.create_index(
        "review_queue_open_idx",
        "review_queue",
        ["document_id"],
        unique=True,
        schema="sherlock",
        postgresql_where=sa.text("decision is null"),
    )
    op.create_index(
        "review_queue_pair_idx",
        "review_queue",
        ["document_id", "matched_document_id"],
        unique=False,
        schema="sherlock",
    )
    op.create_table(
        "watches",
        sa.Column(
            "watch_id",
            sa.Integer(),
            sa.Identity(always=False),
            nullable=False,
            comment="The watch.",
        ),
        sa.Column("relation", postgresql.REGCLASS(), nullable=False, comment="The watched table."),
        sa.Column(
            "collection_id",
            sa.Integer(),
            nullable=False,
            comment="The collection that its rows are documents of.",
        ),
        sa.Column(
            "key_columns",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="Columns that identify a row.",
        ),
        sa.Column(
            "text_columns",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="Columns that make the text.",
        ),
        sa.Column(
            "doc_type",
            sa.Text(),
            server_default=sa.text("'default'"),
            nullable=False,
            comment="Type of its documents; auto: guessed from each text.",
        ),
        sa.Column(
            "on_duplicate",
            sa.Text(),
            server_default=sa.text("'flag'"),
            nullable=False,
            comment="flag, queue or reject.",
        ),
        sa.Column(
            "min_class",
            sa.Text(),
            nullable=False,
            comment="Class from which on_duplicate acts: EXACT, HIGH, MEDIUM or LOW.",
        ),
        sa.Column(
            "is_backfilled",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="The rows that were there before are documents too.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the watch began.",
        ),
        sa.CheckConstraint(
            "min_class in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')", name=op.f("watches_min_class_check")
        ),
        sa.CheckConstraint(
            "on_duplicate in ('flag', 'queue', 'reject')", name=op.f("watches_on_duplicate_check")
        ),
        sa.CheckConstraint(
            "cardinality(key_columns) > 0 and cardinality(text_columns) > 0",
            name=op.f("watches_columns_check"),
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("watches_collection_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("watch_id", name=op.f("watches_pkey")),
        sa.UniqueConstraint("relation", name=op.f("watches_relation_key")),
        schema="sherlock",
        comment="Tables of users whose rows are judged as they come; their text stays where it is.",
    )
    op.create_table(
        "watched_rows",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column("watch_id", sa.Integer(), nullable=False, comment="The watch."),
        sa.Column(
            "row_key",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="Values of the key columns, an array.",
        ),
        sa.Column(
            "text_sha256",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of the row's text: it is signed again only if this changes.",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("watched_rows_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["watch_id"], ["sherlock.watches.watch_id"], name=op.f("watched_rows_watch_id_fkey")
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("watched_rows_pkey")),
        sa.UniqueConstraint("watch_id", "row_key", name=op.f("watched_rows_watch_id_key")),
        schema="sherlock",
        comment="Which row of a watched table a document is.",
    )
    op.add_column(
        "documents",
        sa.Column(
            "supplied_entities",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Entities that came with an inserted text, as sherlock.store_entities takes them; null: they are looked for in the text.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "collections",
        sa.Column(
            "scheme_changed_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When a move to another scheme began; null: none is under way.",
        ),
        schema="sherlock",
    )
    op.add_column(
        "detections",
        sa.Column(
            "hot_band_keys",
            sa.Integer(),
            server_default=sa.text("0"),
            autoincrement=False,
            nullable=False,
            comment="Band keys that more documents share than were read, at least.",
        ),
        schema="sherlock",
    )
    op.alter_column(
        "documents",
        "collection_id",
        existing_type=sa.INTEGER(),
        server_default=sa.text("1"),
        comment="The collection it belongs to; 1 is the one named default.",
        existing_comment="The collection it belongs to.",
        existing_nullable=False,
        schema="sherlock",
    )
    op.alter_column(
        "documents",
        "doc_type",
        existing_type=sa.TEXT(),
        comment="default, tutela, habeas_corpus or a type of your own; auto until it is guessed from the text.",
        existing_comment="default, tutela, habeas_corpus or a type of your own.",
        existing_nullable=False,
        existing_server_default=sa.text("'default'::text"),
        server_default=sa.text("'auto'"),
        schema="sherlock",
    )


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
