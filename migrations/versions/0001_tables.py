"""The tables of the first release.

Locks nothing that exists; needs the extensions vector and pg_trgm.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

import pgvector.sqlalchemy
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "band_keys",
        sa.Column(
            "key",
            sa.BigInteger(),
            nullable=False,
            comment="Hash of scheme, collection, band number and the band's slots.",
        ),
        sa.Column("document_id", sa.BigInteger(), nullable=False, comment="The document."),
        sa.PrimaryKeyConstraint("key", "document_id", name=op.f("band_keys_pkey")),
        schema="sherlock",
        comment="Level 1 retrieval: documents that share a key are candidates of each other.",
    )
    op.create_table(
        "document_vectors",
        sa.Column("document_id", sa.BigInteger(), nullable=False, comment="The document."),
        sa.Column(
            "model_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Model that made the vector.",
        ),
        sa.Column(
            "vector",
            pgvector.sqlalchemy.SPARSEVEC(dim=5000),
            nullable=False,
            comment="TF-IDF, length 1.",
        ),
        sa.Column(
            "sign_bits",
            pgvector.sqlalchemy.BIT(length=512),
            nullable=True,
            comment="Signs of the projection; null where the text has no known term.",
        ),
        sa.PrimaryKeyConstraint("document_id", "model_id", name=op.f("document_vectors_pkey")),
        schema="sherlock",
        comment="Level 2: TF-IDF vectors, one partition per model.",
        postgresql_partition_by="list (model_id)",
    )
    op.create_table(
        "file_hashes",
        sa.Column(
            "sha256", sa.LargeBinary(), nullable=False, comment="SHA-256 of the file's bytes."
        ),
        sa.Column("file_size_bytes", sa.BigInteger(), nullable=False, comment="Size of the file."),
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The collection.",
        ),
        sa.Column(
            "document_id", sa.BigInteger(), nullable=False, comment="The document with these bytes."
        ),
        sa.CheckConstraint("file_size_bytes >= 0", name=op.f("file_hashes_file_size_bytes_check")),
        sa.CheckConstraint(
            "octet_length(sha256) = 32", name=op.f("file_hashes_sha256_length_check")
        ),
        sa.PrimaryKeyConstraint(
            "sha256", "file_size_bytes", "collection_id", name=op.f("file_hashes_pkey")
        ),
        schema="sherlock",
        comment="The gate before OCR: which document has these bytes.",
    )
    op.create_table(
        "party_names",
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The collection.",
        ),
        sa.Column("role", sa.Text(), nullable=False, comment="demandante or demandado."),
        sa.Column("normalised", sa.Text(), nullable=False, comment="Distinct normalised name."),
        sa.PrimaryKeyConstraint(
            "collection_id", "role", "normalised", name=op.f("party_names_pkey")
        ),
        schema="sherlock",
        comment="Level 3 retrieval: the distinct names, for similarity search by trigrams.",
    )
    op.create_index(
        "party_names_normalised_trgm_idx",
        "party_names",
        ["normalised"],
        unique=False,
        schema="sherlock",
        postgresql_using="gin",
        postgresql_ops={"normalised": "gin_trgm_ops"},
    )
    op.create_table(
        "shingle_schemes",
        sa.Column(
            "scheme_id",
            sa.Integer(),
            sa.Identity(always=False),
            nullable=False,
            comment="The scheme.",
        ),
        sa.Column("name", sa.Text(), nullable=False, comment="Short name, unique."),
        sa.Column(
            "normaliser_version",
            sa.Integer(),
            server_default=sa.text("1"),
            autoincrement=False,
            nullable=False,
            comment="Version of sherlock.canonical_text.",
        ),
        sa.Column("shingle_kind", sa.Text(), nullable=False, comment="word, skeleton or char."),
        sa.Column(
            "shingle_width",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Words or characters in a shingle.",
        ),
        sa.Column(
            "slot_count",
            sa.Integer(),
            server_default=sa.text("128"),
            autoincrement=False,
            nullable=False,
            comment="Slots of a signature.",
        ),
        sa.Column(
            "band_count",
            sa.Integer(),
            server_default=sa.text("32"),
            autoincrement=False,
            nullable=False,
            comment="Bands of the signature; each gives one key.",
        ),
        sa.Column(
            "rows_per_band",
            sa.Integer(),
            server_default=sa.text("4"),
            autoincrement=False,
            nullable=False,
            comment="Slots in a band.",
        ),
        sa.Column(
            "min_shingles",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="A text with fewer shingles is short: it matches exactly only, never by sketch.",
        ),
        sa.Column(
            "band_key_limit",
            sa.Integer(),
            server_default=sa.text("200"),
            autoincrement=False,
            nullable=False,
            comment="Documents read per band key; a key shared by more is hot: capped and reported.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the scheme was made.",
        ),
        sa.CheckConstraint(
            "shingle_kind in ('word', 'skeleton', 'char')",
            name=op.f("shingle_schemes_shingle_kind_check"),
        ),
        sa.CheckConstraint(
            "band_count > 0 and rows_per_band > 0 and band_count * rows_per_band <= slot_count",
            name=op.f("shingle_schemes_bands_check"),
        ),
        sa.CheckConstraint(
            "min_shingles >= 1 and band_key_limit >= 1", name=op.f("shingle_schemes_limits_check")
        ),
        sa.CheckConstraint("slot_count = 128", name=op.f("shingle_schemes_slot_count_check")),
        sa.PrimaryKeyConstraint("scheme_id", name=op.f("shingle_schemes_pkey")),
        sa.UniqueConstraint("name", name=op.f("shingle_schemes_name_key")),
        schema="sherlock",
        comment="How texts become signatures. Signatures of different schemes never meet.",
    )
    op.create_table(
        "tfidf_features",
        sa.Column(
            "model_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The model version.",
        ),
        sa.Column(
            "term", sa.Text(collation="C"), nullable=False, comment="Token, or two and a space."
        ),
        sa.Column(
            "feature_index",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Index in the vector, from 1.",
        ),
        sa.Column("idf", sa.Double(), nullable=False, comment="Inverse document frequency."),
        sa.CheckConstraint(
            "feature_index between 1 and 5000", name=op.f("tfidf_features_feature_index_check")
        ),
        sa.PrimaryKeyConstraint("model_id", "term", name=op.f("tfidf_features_pkey")),
        schema="sherlock",
        comment="Level 2: the vocabulary of each model.",
    )
    op.create_table(
        "tfidf_projection",
        sa.Column(
            "dimension",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Bit of the projection, 1 to 512.",
        ),
        sa.Column(
            "directions",
            pgvector.sqlalchemy.VECTOR(dim=1000),
            nullable=False,
            comment="+1 or -1 each.",
        ),
        sa.CheckConstraint(
            "dimension between 1 and 512", name=op.f("tfidf_projection_dimension_check")
        ),
        sa.PrimaryKeyConstraint("dimension", name=op.f("tfidf_projection_pkey")),
        schema="sherlock",
        comment="Level 2 retrieval: the fixed random projection of folded vectors, the same for every model.",
    )
    op.create_table(
        "tfidf_folding",
        sa.Column(
            "block",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Block of 1000 features of the vector, from 1.",
        ),
        sa.Column(
            "signs",
            pgvector.sqlalchemy.VECTOR(dim=1000),
            nullable=False,
            comment="+1 or -1 each.",
        ),
        sa.CheckConstraint("block between 1 and 5", name=op.f("tfidf_folding_block_check")),
        sa.PrimaryKeyConstraint("block", name=op.f("tfidf_folding_pkey")),
        schema="sherlock",
        comment="Level 2 retrieval: the signs with which the blocks of a vector are summed before it is projected, the same for every model.",
    )
    op.create_table(
        "collections",
        sa.Column(
            "collection_id",
            sa.Integer(),
            sa.Identity(always=False),
            nullable=False,
            comment="The collection.",
        ),
        sa.Column(
            "name", sa.Text(), nullable=False, comment="Name, unique; what --collection takes."
        ),
        sa.Column(
            "profile",
            sa.Text(),
            server_default=sa.text("'legal'"),
            nullable=False,
            comment="legal: texts with parties, three levels. text: no entities, levels 1 and 2 only.",
        ),
        sa.Column(
            "scheme_id",
            sa.Integer(),
            nullable=False,
            comment="Scheme that its documents are signed with.",
        ),
        sa.Column(
            "tfidf_max_features",
            sa.Integer(),
            server_default=sa.text("5000"),
            autoincrement=False,
            nullable=False,
            comment="Features that a fit keeps, at most.",
        ),
        sa.Column(
            "tfidf_ngram_min",
            sa.Integer(),
            server_default=sa.text("1"),
            autoincrement=False,
            nullable=False,
            comment="Shortest n-gram of the vocabulary, in tokens.",
        ),
        sa.Column(
            "tfidf_ngram_max",
            sa.Integer(),
            server_default=sa.text("2"),
            autoincrement=False,
            nullable=False,
            comment="Longest n-gram of the vocabulary, in tokens.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the collection was made.",
        ),
        sa.CheckConstraint("profile in ('legal', 'text')", name=op.f("collections_profile_check")),
        sa.CheckConstraint(
            "tfidf_max_features between 1 and 5000",
            name=op.f("collections_tfidf_max_features_check"),
        ),
        sa.CheckConstraint(
            "tfidf_ngram_min >= 1 and tfidf_ngram_max between tfidf_ngram_min and 2",
            name=op.f("collections_tfidf_ngram_range_check"),
        ),
        sa.ForeignKeyConstraint(
            ["scheme_id"],
            ["sherlock.shingle_schemes.scheme_id"],
            name=op.f("collections_scheme_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("collection_id", name=op.f("collections_pkey")),
        sa.UniqueConstraint("name", name=op.f("collections_name_key")),
        schema="sherlock",
        comment="Sets of documents that are compared with each other, and only with each other.",
    )
    op.create_table(
        "detection_configs",
        sa.Column(
            "config_id",
            sa.Integer(),
            sa.Identity(always=False),
            nullable=False,
            comment="The configuration.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            nullable=True,
            comment="The collection it is for; null: all that have none of their own.",
        ),
        sa.Column(
            "doc_type",
            sa.Text(),
            nullable=False,
            comment="The document type it is for; default: all that have none of their own.",
        ),
        sa.Column(
            "is_active",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="Rows are never edited: a change adds a row and retires the old one.",
        ),
        sa.Column(
            "minhash_weight",
            sa.Double(),
            server_default=sa.text("0.25"),
            nullable=False,
            comment="Weight of level 1.",
        ),
        sa.Column(
            "tfidf_weight",
            sa.Double(),
            server_default=sa.text("0.40"),
            nullable=False,
            comment="Weight of level 2.",
        ),
        sa.Column(
            "entity_weight",
            sa.Double(),
            server_default=sa.text("0.35"),
            nullable=False,
            comment="Weight of level 3.",
        ),
        sa.Column(
            "both_parties_boost",
            sa.Double(),
            server_default=sa.text("0.20"),
            nullable=False,
            comment="Share of level 3: both parties agree.",
        ),
        sa.Column(
            "cedula_boost",
            sa.Double(),
            server_default=sa.text("0.10"),
            nullable=False,
            comment="Share of level 3: an id agrees.",
        ),
        sa.Column(
            "correo_boost",
            sa.Double(),
            server_default=sa.text("0.05"),
            nullable=False,
            comment="Share of level 3: an address agrees.",
        ),
        sa.Column(
            "fuzzy_threshold",
            sa.Double(),
            server_default=sa.text("0.85"),
            nullable=False,
            comment="Ratcliff/Obershelp ratio from which names agree.",
        ),
        sa.Column(
            "high_threshold",
            sa.Double(),
            server_default=sa.text("0.80"),
            nullable=False,
            comment="Score from which a pair is HIGH.",
        ),
        sa.Column(
            "medium_threshold",
            sa.Double(),
            server_default=sa.text("0.65"),
            nullable=False,
            comment="Score from which a pair is MEDIUM.",
        ),
        sa.Column(
            "low_threshold",
            sa.Double(),
            server_default=sa.text("0.50"),
            nullable=False,
            comment="Score from which a pair is LOW and reported.",
        ),
        sa.Column(
            "minhash_threshold",
            sa.Double(),
            server_default=sa.text("0.50"),
            nullable=False,
            comment="Jaccard from which level 1 counts as a hit.",
        ),
        sa.Column(
            "conflict_cap",
            sa.Text(),
            nullable=True,
            comment="Highest class of a pair whose identities conflict (HIGH, MEDIUM, LOW); null: no cap.",
        ),
        sa.Column(
            "minhash_candidate_limit",
            sa.Integer(),
            server_default=sa.text("64"),
            autoincrement=False,
            nullable=False,
            comment="Candidates taken from level 1.",
        ),
        sa.Column(
            "tfidf_candidate_limit",
            sa.Integer(),
            server_default=sa.text("48"),
            autoincrement=False,
            nullable=False,
            comment="Candidates taken from level 2.",
        ),
        sa.Column(
            "entity_candidate_limit",
            sa.Integer(),
            server_default=sa.text("50"),
            autoincrement=False,
            nullable=False,
            comment="Candidates taken from level 3, per entity.",
        ),
        sa.Column(
            "max_results",
            sa.Integer(),
            server_default=sa.text("10"),
            autoincrement=False,
            nullable=False,
            comment="Candidates reported, at most.",
        ),
        sa.Column(
            "use_short_circuit",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="An exact copy ends the search: the fuzzy levels are not asked.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the configuration was made.",
        ),
        sa.CheckConstraint(
            "conflict_cap in ('HIGH', 'MEDIUM', 'LOW')",
            name=op.f("detection_configs_conflict_cap_check"),
        ),
        sa.CheckConstraint(
            "abs(minhash_weight + tfidf_weight + entity_weight - 1) < 1e-9",
            name=op.f("detection_configs_weights_check"),
        ),
        sa.CheckConstraint(
            "both_parties_boost >= 0 and both_parties_boost <= 1",
            name=op.f("detection_configs_both_parties_boost_check"),
        ),
        sa.CheckConstraint(
            "cedula_boost >= 0 and cedula_boost <= 1",
            name=op.f("detection_configs_cedula_boost_check"),
        ),
        sa.CheckConstraint(
            "correo_boost >= 0 and correo_boost <= 1",
            name=op.f("detection_configs_correo_boost_check"),
        ),
        sa.CheckConstraint(
            "entity_weight = 0 or both_parties_boost + cedula_boost + correo_boost > 0",
            name=op.f("detection_configs_boosts_check"),
        ),
        sa.CheckConstraint(
            "entity_weight >= 0 and entity_weight <= 1",
            name=op.f("detection_configs_entity_weight_check"),
        ),
        sa.CheckConstraint(
            "fuzzy_threshold >= 0 and fuzzy_threshold <= 1",
            name=op.f("detection_configs_fuzzy_threshold_check"),
        ),
        sa.CheckConstraint(
            "high_threshold > medium_threshold and medium_threshold > low_threshold",
            name=op.f("detection_configs_thresholds_check"),
        ),
        sa.CheckConstraint(
            "high_threshold >= 0 and high_threshold <= 1",
            name=op.f("detection_configs_high_threshold_check"),
        ),
        sa.CheckConstraint(
            "low_threshold >= 0 and low_threshold <= 1",
            name=op.f("detection_configs_low_threshold_check"),
        ),
        sa.CheckConstraint(
            "medium_threshold >= 0 and medium_threshold <= 1",
            name=op.f("detection_configs_medium_threshold_check"),
        ),
        sa.CheckConstraint(
            "minhash_candidate_limit > 0 and tfidf_candidate_limit > 0 and entity_candidate_limit > 0 and max_results between 1 and 100",
            name=op.f("detection_configs_limits_check"),
        ),
        sa.CheckConstraint(
            "minhash_threshold >= 0 and minhash_threshold <= 1",
            name=op.f("detection_configs_minhash_threshold_check"),
        ),
        sa.CheckConstraint(
            "minhash_weight >= 0 and minhash_weight <= 1",
            name=op.f("detection_configs_minhash_weight_check"),
        ),
        sa.CheckConstraint(
            "tfidf_weight >= 0 and tfidf_weight <= 1",
            name=op.f("detection_configs_tfidf_weight_check"),
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("detection_configs_collection_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("config_id", name=op.f("detection_configs_pkey")),
        schema="sherlock",
        comment="Weights, thresholds and limits of the ensemble, by collection and document type.",
    )
    op.create_index(
        "detection_configs_active_idx",
        "detection_configs",
        ["collection_id", "doc_type"],
        unique=True,
        schema="sherlock",
        postgresql_where=sa.text("is_active"),
        postgresql_nulls_not_distinct=True,
    )
    op.create_table(
        "documents",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            sa.Identity(always=False),
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "collection_id", sa.Integer(), nullable=False, comment="The collection it belongs to."
        ),
        sa.Column(
            "doc_type",
            sa.Text(),
            server_default=sa.text("'default'"),
            nullable=False,
            comment="default, tutela, habeas_corpus or a type of your own.",
        ),
        sa.Column(
            "name", sa.Text(), nullable=True, comment="File name or another name for people."
        ),
        sa.Column(
            "sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="SHA-256 of the file's bytes; null for texts.",
        ),
        sa.Column(
            "file_size_bytes",
            sa.BigInteger(),
            nullable=True,
            comment="Size of the file; null for texts.",
        ),
        sa.Column(
            "media_type", sa.Text(), nullable=True, comment="Type by content, e.g. application/pdf."
        ),
        sa.Column(
            "status",
            sa.Text(),
            server_default=sa.text("'ok'"),
            nullable=False,
            comment="pending: claimed, being read. ok: all of it read. partial: some pages are missing. failed: see reason.",
        ),
        sa.Column(
            "reason",
            sa.Text(),
            nullable=True,
            comment="Reason code of a failed or partial document.",
        ),
        sa.Column(
            "reason_detail", sa.Text(), nullable=True, comment="What was seen, for a person."
        ),
        sa.Column(
            "flags",
            postgresql.ARRAY(sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="Quality flags of the extraction, e.g. low_yield, repaired.",
        ),
        sa.Column(
            "content",
            sa.Text(),
            nullable=True,
            comment="The text; null until read, and where the text lives elsewhere.",
        ),
        sa.Column(
            "canonical_sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="SHA-256 of the canonical text; equal and not empty means same text.",
        ),
        sa.Column(
            "text_state",
            sa.Text(),
            nullable=True,
            comment="indexed: takes part in all levels. short, empty: matches exactly only. excluded: too badly read for the fuzzy levels. Null until the features are computed.",
        ),
        sa.Column(
            "word_count",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Tokens of the canonical text.",
        ),
        sa.Column(
            "page_count",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Pages of the file.",
        ),
        sa.Column(
            "processing",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Seconds per stage and versions of the engines.",
        ),
        sa.Column(
            "claimed_by",
            sa.Text(),
            nullable=True,
            comment="Who reads the file now (host, process).",
        ),
        sa.Column(
            "claimed_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When the claim lapses and another may read the file.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When the document arrived.",
        ),
        sa.Column(
            "indexed_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When its features were last computed.",
        ),
        sa.CheckConstraint(
            "status in ('pending', 'ok', 'partial', 'failed')", name=op.f("documents_status_check")
        ),
        sa.CheckConstraint(
            "text_state in ('indexed', 'short', 'empty', 'excluded')",
            name=op.f("documents_text_state_check"),
        ),
        sa.CheckConstraint(
            "(sha256 is null) = (file_size_bytes is null)", name=op.f("documents_file_check")
        ),
        sa.CheckConstraint(
            "octet_length(canonical_sha256) = 32",
            name=op.f("documents_canonical_sha256_length_check"),
        ),
        sa.CheckConstraint("octet_length(sha256) = 32", name=op.f("documents_sha256_length_check")),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("documents_collection_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("documents_pkey")),
        schema="sherlock",
        comment="One row per distinct file or text.",
    )
    op.create_index(
        "documents_canonical_sha256_idx",
        "documents",
        ["collection_id", "canonical_sha256", "document_id"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("canonical_sha256 is not null"),
    )
    op.create_index(
        "documents_unfinished_idx",
        "documents",
        ["collection_id", "document_id"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("status in ('pending', 'failed')"),
    )
    op.create_table(
        "tfidf_models",
        sa.Column(
            "model_id",
            sa.Integer(),
            sa.Identity(always=False),
            nullable=False,
            comment="The model version.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            nullable=False,
            comment="The collection whose documents it was fitted on and is used for.",
        ),
        sa.Column(
            "status",
            sa.Text(),
            server_default=sa.text("'building'"),
            nullable=False,
            comment="building, active (one per collection) or retired.",
        ),
        sa.Column(
            "feature_count",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Features in the vocabulary.",
        ),
        sa.Column(
            "fitted_document_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Documents in the sample that it was fitted on.",
        ),
        sa.Column(
            "ngram_min",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Shortest n-gram, in tokens.",
        ),
        sa.Column(
            "ngram_max",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Longest n-gram, in tokens.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was fitted.",
        ),
        sa.Column(
            "activated_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it became the active one.",
        ),
        sa.CheckConstraint(
            "status in ('building', 'active', 'retired')", name=op.f("tfidf_models_status_check")
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["sherlock.collections.collection_id"],
            name=op.f("tfidf_models_collection_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("model_id", name=op.f("tfidf_models_pkey")),
        schema="sherlock",
        comment="Level 2: versions of the TF-IDF vocabulary.",
    )
    op.create_index(
        "tfidf_models_active_idx",
        "tfidf_models",
        ["collection_id"],
        unique=True,
        schema="sherlock",
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_table(
        "detections",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "recommended_action", sa.Text(), nullable=False, comment="REJECT, REVIEW or ACCEPT."
        ),
        sa.Column(
            "confidence",
            sa.Text(),
            nullable=True,
            comment="Class of the best match; null if there is none.",
        ),
        sa.Column(
            "best_match_id", sa.BigInteger(), nullable=True, comment="Document of the best match."
        ),
        sa.Column("best_score", sa.Double(), nullable=True, comment="Its score."),
        sa.Column(
            "total_checked",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Candidates whose levels were scored.",
        ),
        sa.Column(
            "high_confidence_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Matches that are EXACT or HIGH.",
        ),
        sa.Column(
            "medium_confidence_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Matches that are MEDIUM.",
        ),
        sa.Column(
            "low_confidence_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Matches that are LOW.",
        ),
        sa.Column(
            "total_latency_ms", sa.Double(), nullable=False, comment="Time of the detection."
        ),
        sa.Column(
            "short_circuited", sa.Boolean(), nullable=False, comment="An exact copy ended it early."
        ),
        sa.Column(
            "level_scores",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="Best score of each level.",
        ),
        sa.Column(
            "detected_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was made.",
        ),
        sa.CheckConstraint(
            "recommended_action in ('REJECT', 'REVIEW', 'ACCEPT')",
            name=op.f("detections_action_check"),
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("detections_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("detections_pkey")),
        schema="sherlock",
        comment="The latest verdict on each document.",
    )
    op.create_table(
        "document_pages",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "page_number",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Page, from 1.",
        ),
        sa.Column(
            "method",
            sa.Text(),
            nullable=False,
            comment="native, native_ocr, ocr, blank, skipped or failed.",
        ),
        sa.Column(
            "char_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Characters read on the page.",
        ),
        sa.Column(
            "quality",
            sa.Float(),
            nullable=True,
            comment="Share of word-like characters, 0 to 1; null if unknown.",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("document_pages_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "page_number", name=op.f("document_pages_pkey")),
        schema="sherlock",
        comment="How each page of a document was read.",
    )
    op.create_table(
        "document_signatures",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "scheme_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Scheme of the signature.",
        ),
        sa.Column(
            "shingle_count",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Shingles of the text, repeats counted.",
        ),
        sa.Column(
            "signature", postgresql.ARRAY(sa.Integer()), nullable=False, comment="128 slots."
        ),
        sa.Column(
            "sketch",
            pgvector.sqlalchemy.BIT(length=2048),
            nullable=False,
            comment="16 bits of a hash of each slot: a first estimate of the Jaccard at 1 microsecond.",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("document_signatures_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "scheme_id", name=op.f("document_signatures_pkey")),
        schema="sherlock",
        comment="Level 1: MinHash signatures (Fast Similarity Sketching).",
    )
    op.create_table(
        "document_sources",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "source_uri",
            sa.Text(),
            nullable=False,
            comment="Path or address where the file was seen.",
        ),
        sa.Column(
            "seen_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was seen there first.",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("document_sources_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "source_uri", name=op.f("document_sources_pkey")),
        schema="sherlock",
        comment="Every place where a document's file was seen.",
    )
    op.create_table(
        "entities",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "role",
            sa.Text(),
            nullable=False,
            comment="demandante, demandado, cedula, correo, radicado or referencia.",
        ),
        sa.Column(
            "ordinal",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="Number within the role, from 1.",
        ),
        sa.Column(
            "collection_id",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="The document's collection.",
        ),
        sa.Column("value", sa.Text(), nullable=False, comment="As it stands in the text, cleaned."),
        sa.Column(
            "normalised",
            sa.Text(),
            nullable=False,
            comment="Comparable form: accent-free lower case, digits only, and so on.",
        ),
        sa.Column(
            "name_key",
            sa.Text(),
            nullable=True,
            comment="Sorted tokens of a name; null for other roles.",
        ),
        sa.Column(
            "owner_role",
            sa.Text(),
            nullable=True,
            comment="Whose id or address it is; null if unknown.",
        ),
        sa.Column(
            "id_type",
            sa.Text(),
            nullable=True,
            comment="CC, CE, TI, RC, PA, PPT or NIT; null for other roles.",
        ),
        sa.Column(
            "is_comparable",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="False for initials and for courts' and institutions' addresses.",
        ),
        sa.Column(
            "source",
            sa.Text(),
            server_default=sa.text("'supplied'"),
            nullable=False,
            comment="Rule or model that found it.",
        ),
        sa.Column(
            "score",
            sa.Float(),
            server_default=sa.text("1"),
            nullable=False,
            comment="Trust, 0 to 1.",
        ),
        sa.Column(
            "start_offset",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="First character in the content, from 0.",
        ),
        sa.Column(
            "end_offset",
            sa.Integer(),
            autoincrement=False,
            nullable=True,
            comment="Character after the last.",
        ),
        sa.CheckConstraint(
            "role in ('demandante', 'demandado', 'cedula', 'correo', 'radicado', 'referencia')",
            name=op.f("entities_role_check"),
        ),
        sa.CheckConstraint("score >= 0 and score <= 1", name=op.f("entities_score_check")),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("entities_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "role", "ordinal", name=op.f("entities_pkey")),
        schema="sherlock",
        comment="Level 3: parties and identifiers.",
    )
    op.create_index(
        "entities_name_key_idx",
        "entities",
        ["collection_id", "role", "name_key", "document_id"],
        unique=False,
        schema="sherlock",
        postgresql_where=sa.text("name_key is not null"),
    )
    op.create_index(
        "entities_normalised_idx",
        "entities",
        ["collection_id", "role", "normalised", "document_id"],
        unique=False,
        schema="sherlock",
    )
    op.create_table(
        "entity_profiles",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "profile",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="What is compared, by role: normalised values; names with their sorted tokens.",
        ),
        sa.Column(
            "name_keys",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            comment="Sorted tokens of the plaintiffs' names.",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("entity_profiles_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("entity_profiles_pkey")),
        schema="sherlock",
        comment="Level 3: a document's entities in one row, as the search compares them; kept by triggers on entities.",
    )
    op.create_table(
        "matches",
        sa.Column(
            "document_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="The document.",
        ),
        sa.Column(
            "matched_document_id",
            sa.BigInteger(),
            nullable=False,
            comment="The document that was there before.",
        ),
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
        sa.Column("has_conflict", sa.Boolean(), nullable=False, comment="Identities differ."),
        sa.Column(
            "evidence",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="What agreed, what differed, who found it.",
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
            "detected_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When it was found.",
        ),
        sa.CheckConstraint(
            "action in ('REJECT', 'REVIEW', 'ACCEPT')", name=op.f("matches_action_check")
        ),
        sa.CheckConstraint(
            "confidence in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')",
            name=op.f("matches_confidence_check"),
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sherlock.documents.document_id"],
            name=op.f("matches_document_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "matched_document_id", name=op.f("matches_pkey")),
        schema="sherlock",
        comment="What detection found, the later document first.",
    )
    op.create_index(
        "matches_matched_document_id_idx",
        "matches",
        ["matched_document_id", "document_id"],
        unique=False,
        schema="sherlock",
    )


def downgrade() -> None:
    raise NotImplementedError("roll forward: restore a backup to go back")
