"""The inbox: files are queued and leased there; documents themselves are no longer claimed.

Drops two columns of documents, which locks it for a moment. A claim that an older loader holds at
that moment is gone: its file is read again by the next load.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the queue; let claims go."""
    op.execute(
        "drop function if exists sherlock.claim_file("
        "bytea, bigint, text, text, text, text, interval, boolean)"
    )
    # What was to be read again is as it was before; of the others it is as if their files were
    # never seen.
    op.execute(
        "update sherlock.documents"
        " set status = case when content is null then 'failed' else 'partial' end"
        " where status = 'pending' and (content is not null or reason is not null)"
    )
    op.execute("delete from sherlock.documents where status = 'pending'")
    op.create_table(
        "file_contents",
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="SHA-256 of the bytes."),
        sa.Column("file_size_bytes", sa.BigInteger(), nullable=False, comment="Size."),
        sa.Column("content", sa.LargeBinary(), nullable=False, comment="The bytes."),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When they arrived first.",
        ),
        sa.PrimaryKeyConstraint("sha256", "file_size_bytes", name=op.f("file_contents_pkey")),
        schema="sherlock",
        comment="The bytes of files that came as bytes, each once; read again from here.",
    )
    op.create_table(
        "inbox",
        sa.Column(
            "item_id",
            sa.BigInteger(),
            sa.Identity(always=False),
            nullable=False,
            comment="The item; a lower one arrived earlier.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            server_default=sa.text("1"),
            nullable=False,
            comment="The collection it goes to; 1 is the one named default.",
        ),
        sa.Column(
            "doc_type",
            sa.Text(),
            server_default=sa.text("'auto'"),
            nullable=False,
            comment="Type of the document; auto: guessed from its text.",
        ),
        sa.Column(
            "name", sa.Text(), nullable=True, comment="File name or another name for people."
        ),
        sa.Column(
            "content",
            sa.LargeBinary(),
            nullable=True,
            comment="The file's bytes, on insert; they are kept in file_contents, here it is null.",
        ),
        sa.Column(
            "path", sa.Text(), nullable=True, comment="The file, where the bytes are not given."
        ),
        sa.Column(
            "host",
            sa.Text(),
            nullable=True,
            comment="The machine that can read the path; null: every one.",
        ),
        sa.Column(
            "sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="SHA-256 of the bytes; null until a path is read.",
        ),
        sa.Column(
            "file_size_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Size; null until a path is read.",
        ),
        sa.Column(
            "priority",
            sa.Integer(),
            server_default=sa.text("0"),
            autoincrement=False,
            nullable=False,
            comment="Higher ones are read first.",
        ),
        sa.Column(
            "ocr",
            sa.Text(),
            nullable=True,
            comment="auto, never or force; null: as the worker is set.",
        ),
        sa.Column(
            "is_reread",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="A document that is known is read again.",
        ),
        sa.Column(
            "state",
            sa.Text(),
            server_default=sa.text("'queued'"),
            nullable=False,
            comment="queued: to be read. leased: a worker reads it. stored: read, the verdict "
            "is due. done: read and judged, or a copy of such a file. dead: it could "
            "not be read, see reason.",
        ),
        sa.Column(
            "gate",
            sa.Text(),
            nullable=True,
            comment="new: these bytes were not known. hit: they were; while queued, it waits "
            "for the reading of that document and ends with it. Null until the bytes "
            "are known.",
        ),
        sa.Column(
            "attempts",
            sa.Integer(),
            server_default=sa.text("0"),
            autoincrement=False,
            nullable=False,
            comment="How often its reading was begun.",
        ),
        sa.Column(
            "max_attempts",
            sa.Integer(),
            server_default=sa.text("3"),
            autoincrement=False,
            nullable=False,
            comment="How often it is tried.",
        ),
        sa.Column(
            "run_after",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="It is not read before this time.",
        ),
        sa.Column(
            "leased_by", sa.Text(), nullable=True, comment="Who reads it now (host, process)."
        ),
        sa.Column(
            "leased_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When the lease lapses and another may read it.",
        ),
        sa.Column(
            "document_id",
            sa.BigInteger(),
            nullable=True,
            comment="The document with these bytes, once known.",
        ),
        sa.Column(
            "parent_document_id",
            sa.BigInteger(),
            nullable=True,
            comment="The document that it was attached to.",
        ),
        sa.Column(
            "owner",
            sa.Text(),
            nullable=True,
            comment="The loader that put it there for itself: interrupted, it takes it back. Null: "
            "whoever sent it counts on it.",
        ),
        sa.Column(
            "depth",
            sa.Integer(),
            server_default=sa.text("0"),
            autoincrement=False,
            nullable=False,
            comment="In how many containers it was, one in the other.",
        ),
        sa.Column(
            "reason",
            sa.Text(),
            nullable=True,
            comment="Reason code of the last attempt that failed.",
        ),
        sa.Column(
            "reason_detail", sa.Text(), nullable=True, comment="What was seen then, for a person."
        ),
        sa.Column(
            "enqueued_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it arrived.",
        ),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When the last attempt began.",
        ),
        sa.Column(
            "stored_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its text was stored.",
        ),
        sa.Column(
            "finished_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was done or given up.",
        ),
        sa.CheckConstraint(
            "(state = 'leased') <= (leased_until is not null)", name=op.f("inbox_lease_check")
        ),
        sa.CheckConstraint("gate in ('new', 'hit')", name=op.f("inbox_gate_check")),
        sa.CheckConstraint("ocr in ('auto', 'never', 'force')", name=op.f("inbox_ocr_check")),
        sa.CheckConstraint(
            "state in ('queued', 'leased', 'stored', 'done', 'dead')",
            name=op.f("inbox_state_check"),
        ),
        sa.CheckConstraint(
            "(sha256 is null) = (file_size_bytes is null)", name=op.f("inbox_file_check")
        ),
        sa.CheckConstraint("max_attempts >= 1", name=op.f("inbox_max_attempts_check")),
        sa.CheckConstraint("octet_length(sha256) = 32", name=op.f("inbox_sha256_length_check")),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("inbox_collection_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("item_id", name=op.f("inbox_pkey")),
        schema="sherlock",
        comment="Files on their way in: one row per file that arrived, copies too.",
    )
    op.create_index(
        "inbox_finished_idx",
        "inbox",
        ["finished_at"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("finished_at is not null"),
    )
    op.create_index(
        "inbox_leased_idx",
        "inbox",
        ["leased_until"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("state in ('leased', 'stored')"),
    )
    op.create_index(
        "inbox_open_idx",
        "inbox",
        ["document_id"],
        unique=True,
        schema="sherlock",
        postgresql_where=sa.text("state in ('queued', 'leased', 'stored') and gate = 'new'"),
    )
    op.create_index(
        "inbox_queued_idx",
        "inbox",
        [sa.text("priority desc"), "item_id"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("state = 'queued' and gate is distinct from 'hit'"),
    )
    op.create_index(
        "inbox_document_idx",
        "inbox",
        ["document_id"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("document_id is not null"),
    )
    op.create_table(
        "document_attachments",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "ordinal",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Place among the attachments, from 1.",
        ),
        sa.Column(
            "attached_document_id",
            sa.BigInteger(),
            nullable=False,
            comment="The attachment, a document of its own.",
        ),
        sa.Column("name", sa.Text(), nullable=True, comment="Its name there."),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("document_attachments_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "ordinal", name=op.f("document_attachments_pkey")),
        schema="sherlock",
        comment="What a message or an archive contained.",
    )
    op.create_index(
        "document_attachments_attached_idx",
        "document_attachments",
        ["attached_document_id"],
        unique=False,
        schema="sherlock",
    )
    op.alter_column(
        "documents",
        "status",
        existing_type=sa.TEXT(),
        comment="pending: not read yet. ok: all of it read. partial: some pages are missing. "
        "failed: see reason.",
        existing_comment="pending: claimed, being read. ok: all of it read. partial: some pages "
        "are missing. failed: see reason.",
        existing_nullable=False,
        existing_server_default=sa.text("'ok'::text"),
        schema="sherlock",
    )
    op.drop_column("documents", "claimed_until", schema="sherlock")
    op.drop_column("documents", "claimed_by", schema="sherlock")
    # Files are compressed already, or are read whole: compressing them again would only cost time.
    op.execute("alter table sherlock.file_contents alter column content set storage external")


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
