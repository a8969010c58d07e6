"""The tables: columns, constraints, indexes and their comments.

Revisions in `migrations/` are derived from this metadata, and a test compares the two. Rules that
hold for all of them: `document_id` leads every per-document table; per-document tables join each
other only on it; no foreign key by candidate; small configuration tables are joined freely.
"""

from __future__ import annotations

from pgvector.sqlalchemy import BIT, SPARSEVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.sql.schema import SchemaItem

SCHEMA = "sherlock"
MAX_FEATURES = 5000
PROJECTION_BITS = 512

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    },
)


def _document_id() -> Column[int]:
    return Column(
        "document_id",
        BigInteger,
        ForeignKey(f"{SCHEMA}.documents.document_id", ondelete="CASCADE"),
        nullable=False,
        autoincrement=False,
        comment="The document.",
    )


def _timestamp(name: str, comment: str, *, default: bool = False) -> Column[object]:
    return Column(
        name,
        DateTime(timezone=True),
        nullable=not default,
        server_default=text("now()") if default else None,
        comment=comment,
    )


def _text(
    name: str, comment: str, *, default: str | None = None, null: bool = False
) -> Column[str]:
    return Column(
        name,
        Text,
        nullable=null,
        server_default=None if default is None else text(f"'{default}'"),
        comment=comment,
    )


def _integer(
    name: str, comment: str, *, default: int | None = None, null: bool = False
) -> Column[int]:
    return Column(
        name,
        Integer,
        nullable=null,
        server_default=None if default is None else text(str(default)),
        autoincrement=False,
        comment=comment,
    )


def _share(name: str, comment: str, *, default: str) -> tuple[SchemaItem, SchemaItem]:
    """A number from 0 to 1 with its check."""
    return (
        Column(name, Double, nullable=False, server_default=text(default), comment=comment),
        CheckConstraint(f"{name} >= 0 and {name} <= 1", name=name),
    )


shingle_schemes = Table(
    "shingle_schemes",
    metadata,
    Column("scheme_id", Integer, Identity(), primary_key=True, comment="The scheme."),
    _text("name", "Short name, unique."),
    _integer("normaliser_version", "Version of sherlock.canonical_text.", default=1),
    _text("shingle_kind", "word or char."),
    _integer("shingle_width", "Tokens (word) or characters (char) in a shingle."),
    _integer("slot_count", "Slots of a signature.", default=128),
    _integer("band_count", "Bands of the signature; each gives one key.", default=32),
    _integer("rows_per_band", "Slots in a band.", default=4),
    _integer(
        "min_shingles",
        "A text with fewer shingles is short: it matches exactly only, never by sketch.",
    ),
    _integer(
        "band_key_limit",
        "Documents read per band key; a key shared by more is hot: capped and reported.",
        default=200,
    ),
    _timestamp("created_at", "When the scheme was made.", default=True),
    UniqueConstraint("name"),
    CheckConstraint("shingle_kind in ('word', 'char')", name="shingle_kind"),
    CheckConstraint("slot_count = 128", name="slot_count"),
    CheckConstraint(
        "band_count > 0 and rows_per_band > 0 and band_count * rows_per_band <= slot_count",
        name="bands",
    ),
    CheckConstraint("min_shingles >= 1 and band_key_limit >= 1", name="limits"),
    comment="How texts become signatures. Signatures of different schemes never meet.",
)

collections = Table(
    "collections",
    metadata,
    Column("collection_id", Integer, Identity(), primary_key=True, comment="The collection."),
    _text("name", "Name, unique; what --collection takes."),
    _text(
        "profile",
        "legal: texts with parties, three levels. text: no entities, levels 1 and 2 only.",
        default="legal",
    ),
    Column(
        "scheme_id",
        Integer,
        ForeignKey(f"{SCHEMA}.shingle_schemes.scheme_id"),
        nullable=False,
        comment="Scheme that its documents are signed with.",
    ),
    _integer("tfidf_max_features", "Features that a fit keeps, at most.", default=MAX_FEATURES),
    _integer("tfidf_ngram_min", "Shortest n-gram of the vocabulary, in tokens.", default=1),
    _integer("tfidf_ngram_max", "Longest n-gram of the vocabulary, in tokens.", default=2),
    _timestamp("created_at", "When the collection was made.", default=True),
    UniqueConstraint("name"),
    CheckConstraint("profile in ('legal', 'text')", name="profile"),
    CheckConstraint(f"tfidf_max_features between 1 and {MAX_FEATURES}", name="tfidf_max_features"),
    CheckConstraint(
        "tfidf_ngram_min >= 1 and tfidf_ngram_max between tfidf_ngram_min and 2",
        name="tfidf_ngram_range",
    ),
    comment="Sets of documents that are compared with each other, and only with each other.",
)

documents = Table(
    "documents",
    metadata,
    Column("document_id", BigInteger, Identity(), primary_key=True, comment="The document."),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id"),
        nullable=False,
        comment="The collection it belongs to.",
    ),
    _text("doc_type", "default, tutela, habeas_corpus or a type of your own.", default="default"),
    _text("name", "File name or another name for people.", null=True),
    Column("sha256", LargeBinary, comment="SHA-256 of the file's bytes; null for texts."),
    Column("file_size_bytes", BigInteger, comment="Size of the file; null for texts."),
    _text("media_type", "Type by content, e.g. application/pdf.", null=True),
    _text(
        "status",
        "pending: claimed, being read. ok: all of it read. partial: some pages are missing. "
        "failed: see reason.",
        default="ok",
    ),
    _text("reason", "Reason code of a failed or partial document.", null=True),
    _text("reason_detail", "What was seen, for a person.", null=True),
    Column(
        "flags",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="Quality flags of the extraction, e.g. low_yield, repaired.",
    ),
    _text("content", "The text; null until read, and where the text lives elsewhere.", null=True),
    Column(
        "canonical_sha256",
        LargeBinary,
        comment="SHA-256 of the canonical text; equal and not empty means same text.",
    ),
    _text(
        "text_state",
        "indexed: takes part in all levels. short, empty: matches exactly only. excluded: too "
        "badly read for the fuzzy levels. Null until the features are computed.",
        null=True,
    ),
    _integer("word_count", "Tokens of the canonical text.", null=True),
    _integer("page_count", "Pages of the file.", null=True),
    Column("processing", JSONB, comment="Seconds per stage and versions of the engines."),
    _text("claimed_by", "Who reads the file now (host, process).", null=True),
    _timestamp("claimed_until", "When the claim lapses and another may read the file."),
    _timestamp("created_at", "When the document arrived.", default=True),
    _timestamp("indexed_at", "When its features were last computed."),
    CheckConstraint("status in ('pending', 'ok', 'partial', 'failed')", name="status"),
    CheckConstraint("text_state in ('indexed', 'short', 'empty', 'excluded')", name="text_state"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("octet_length(canonical_sha256) = 32", name="canonical_sha256_length"),
    CheckConstraint("(sha256 is null) = (file_size_bytes is null)", name="file"),
    Index(
        "documents_canonical_sha256_idx",
        "collection_id",
        "canonical_sha256",
        "document_id",
        postgresql_where=text("canonical_sha256 is not null"),
    ),
    Index(
        "documents_unfinished_idx",
        "collection_id",
        "document_id",
        postgresql_where=text("status in ('pending', 'failed')"),
    ),
    comment="One row per distinct file or text.",
)

file_hashes = Table(
    "file_hashes",
    metadata,
    Column("sha256", LargeBinary, nullable=False, comment="SHA-256 of the file's bytes."),
    Column("file_size_bytes", BigInteger, nullable=False, comment="Size of the file."),
    _integer("collection_id", "The collection."),
    Column("document_id", BigInteger, nullable=False, comment="The document with these bytes."),
    PrimaryKeyConstraint("sha256", "file_size_bytes", "collection_id"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    CheckConstraint("file_size_bytes >= 0", name="file_size_bytes"),
    comment="The gate before OCR: which document has these bytes.",
)

document_sources = Table(
    "document_sources",
    metadata,
    _document_id(),
    _text("source_uri", "Path or address where the file was seen."),
    _timestamp("seen_at", "When it was seen there first.", default=True),
    PrimaryKeyConstraint("document_id", "source_uri"),
    comment="Every place where a document's file was seen.",
)

document_pages = Table(
    "document_pages",
    metadata,
    _document_id(),
    _integer("page_number", "Page, from 1."),
    _text("method", "native, native_ocr, ocr, blank, skipped or failed."),
    _integer("char_count", "Characters read on the page."),
    Column("quality", Float, comment="Share of word-like characters, 0 to 1; null if unknown."),
    PrimaryKeyConstraint("document_id", "page_number"),
    comment="How each page of a document was read.",
)

document_signatures = Table(
    "document_signatures",
    metadata,
    _document_id(),
    _integer("scheme_id", "Scheme of the signature."),
    _integer("shingle_count", "Shingles of the text, repeats counted."),
    Column("signature", ARRAY(Integer), nullable=False, comment="128 slots."),
    Column(
        "sketch",
        BIT(2048),
        nullable=False,
        comment="Low 16 bits of each slot: a first estimate of the Jaccard at 1 microsecond.",
    ),
    PrimaryKeyConstraint("document_id", "scheme_id"),
    comment="Level 1: MinHash signatures (Fast Similarity Sketching).",
)

band_keys = Table(
    "band_keys",
    metadata,
    Column(
        "key",
        BigInteger,
        nullable=False,
        comment="Hash of scheme, collection, band number and the band's slots.",
    ),
    Column("document_id", BigInteger, nullable=False, comment="The document."),
    PrimaryKeyConstraint("key", "document_id"),
    comment="Level 1 retrieval: documents that share a key are candidates of each other.",
)

tfidf_models = Table(
    "tfidf_models",
    metadata,
    Column("model_id", Integer, Identity(), primary_key=True, comment="The model version."),
    Column(
        "collection_id",
        Integer,
        ForeignKey(f"{SCHEMA}.collections.collection_id"),
        nullable=False,
        comment="The collection whose documents it was fitted on and is used for.",
    ),
    _text("status", "building, active (one per collection) or retired.", default="building"),
    _integer("feature_count", "Features in the vocabulary.", null=True),
    _integer("fitted_document_count", "Documents in the sample that it was fitted on."),
    _integer("ngram_min", "Shortest n-gram, in tokens."),
    _integer("ngram_max", "Longest n-gram, in tokens."),
    _timestamp("created_at", "When it was fitted.", default=True),
    _timestamp("activated_at", "When it became the active one."),
    CheckConstraint("status in ('building', 'active', 'retired')", name="status"),
    Index(
        "tfidf_models_active_idx",
        "collection_id",
        unique=True,
        postgresql_where=text("status = 'active'"),
    ),
    comment="Level 2: versions of the TF-IDF vocabulary.",
)

tfidf_features = Table(
    "tfidf_features",
    metadata,
    _integer("model_id", "The model version."),
    Column("term", Text(collation="C"), nullable=False, comment="Token, or two and a space."),
    _integer("feature_index", "Index in the vector, from 1."),
    Column("idf", Double, nullable=False, comment="Inverse document frequency."),
    PrimaryKeyConstraint("model_id", "term"),
    CheckConstraint(f"feature_index between 1 and {MAX_FEATURES}", name="feature_index"),
    comment="Level 2: the vocabulary of each model.",
)

tfidf_projection = Table(
    "tfidf_projection",
    metadata,
    _integer("dimension", f"Bit of the projection, 1 to {PROJECTION_BITS}."),
    Column("directions", SPARSEVEC(MAX_FEATURES), nullable=False, comment="Sparse row of +1/-1."),
    PrimaryKeyConstraint("dimension"),
    CheckConstraint(f"dimension between 1 and {PROJECTION_BITS}", name="dimension"),
    comment="Level 2 retrieval: the fixed random projection, the same for every model.",
)

document_vectors = Table(
    "document_vectors",
    metadata,
    Column("document_id", BigInteger, nullable=False, comment="The document."),
    _integer("model_id", "Model that made the vector."),
    Column("vector", SPARSEVEC(MAX_FEATURES), nullable=False, comment="TF-IDF, length 1."),
    Column(
        "sign_bits",
        BIT(PROJECTION_BITS),
        comment="Signs of the projection; null where the text has no known term.",
    ),
    PrimaryKeyConstraint("document_id", "model_id"),
    postgresql_partition_by="list (model_id)",
    comment="Level 2: TF-IDF vectors, one partition per model.",
)

entities = Table(
    "entities",
    metadata,
    _document_id(),
    _text("role", "demandante, demandado, cedula, correo, radicado or referencia."),
    _integer("ordinal", "Number within the role, from 1."),
    _integer("collection_id", "The document's collection."),
    _text("value", "As it stands in the text, cleaned."),
    _text("normalised", "Comparable form: accent-free lower case, digits only, and so on."),
    _text("name_key", "Sorted tokens of a name; null for other roles.", null=True),
    _text("owner_role", "Whose id or address it is; null if unknown.", null=True),
    _text("id_type", "CC, CE, TI, RC, PA, PPT or NIT; null for other roles.", null=True),
    Column(
        "is_comparable",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="False for initials and for courts' and institutions' addresses.",
    ),
    _text("source", "Rule or model that found it.", default="supplied"),
    Column("score", Float, nullable=False, server_default=text("1"), comment="Trust, 0 to 1."),
    _integer("start_offset", "First character in the content, from 0.", null=True),
    _integer("end_offset", "Character after the last.", null=True),
    PrimaryKeyConstraint("document_id", "role", "ordinal"),
    CheckConstraint(
        "role in ('demandante', 'demandado', 'cedula', 'correo', 'radicado', 'referencia')",
        name="role",
    ),
    CheckConstraint("score >= 0 and score <= 1", name="score"),
    Index("entities_normalised_idx", "collection_id", "role", "normalised", "document_id"),
    Index(
        "entities_name_key_idx",
        "collection_id",
        "role",
        "name_key",
        "document_id",
        postgresql_where=text("name_key is not null"),
    ),
    comment="Level 3: parties and identifiers.",
)

entity_profiles = Table(
    "entity_profiles",
    metadata,
    _document_id(),
    Column(
        "profile",
        JSONB,
        nullable=False,
        comment="What is compared, by role: normalised values; names with their sorted tokens.",
    ),
    Column(
        "name_keys",
        ARRAY(Text),
        nullable=False,
        comment="Sorted tokens of the plaintiffs' names.",
    ),
    PrimaryKeyConstraint("document_id"),
    comment="Level 3: a document's entities in one row, as the search compares them; kept by "
    "triggers on entities.",
)

party_names = Table(
    "party_names",
    metadata,
    _integer("collection_id", "The collection."),
    _text("role", "demandante or demandado."),
    _text("normalised", "Distinct normalised name."),
    PrimaryKeyConstraint("collection_id", "role", "normalised"),
    Index(
        "party_names_normalised_trgm_idx",
        "normalised",
        postgresql_using="gin",
        postgresql_ops={"normalised": "gin_trgm_ops"},
    ),
    comment="Level 3 retrieval: the distinct names, for similarity search by trigrams.",
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
    _text("doc_type", "The document type it is for; default: all that have none of their own."),
    Column(
        "is_active",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Rows are never edited: a change adds a row and retires the old one.",
    ),
    *_share("minhash_weight", "Weight of level 1.", default="0.25"),
    *_share("tfidf_weight", "Weight of level 2.", default="0.40"),
    *_share("entity_weight", "Weight of level 3.", default="0.35"),
    *_share("both_parties_boost", "Share of level 3: both parties agree.", default="0.20"),
    *_share("cedula_boost", "Share of level 3: an id agrees.", default="0.10"),
    *_share("correo_boost", "Share of level 3: an address agrees.", default="0.05"),
    *_share("fuzzy_threshold", "Ratcliff/Obershelp ratio from which names agree.", default="0.85"),
    *_share("high_threshold", "Score from which a pair is HIGH.", default="0.80"),
    *_share("medium_threshold", "Score from which a pair is MEDIUM.", default="0.65"),
    *_share("low_threshold", "Score from which a pair is LOW and reported.", default="0.50"),
    *_share("minhash_threshold", "Jaccard from which level 1 counts as a hit.", default="0.50"),
    _text(
        "conflict_cap",
        "Highest class of a pair whose identities conflict (HIGH, MEDIUM, LOW); null: no cap.",
        null=True,
    ),
    _integer("minhash_candidate_limit", "Candidates taken from level 1.", default=64),
    _integer("tfidf_candidate_limit", "Candidates taken from level 2.", default=48),
    _integer("entity_candidate_limit", "Candidates taken from level 3, per entity.", default=50),
    _integer("max_results", "Candidates reported, at most.", default=10),
    Column(
        "use_short_circuit",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="An exact copy ends the search: the fuzzy levels are not asked.",
    ),
    _timestamp("created_at", "When the configuration was made.", default=True),
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
    _document_id(),
    Column(
        "matched_document_id",
        BigInteger,
        nullable=False,
        comment="The document that was there before.",
    ),
    _text("confidence", "EXACT, HIGH, MEDIUM or LOW."),
    _text("action", "REJECT, REVIEW or ACCEPT."),
    Column("final_score", Double, nullable=False, comment="Ensemble score, 0 to 1."),
    Column("minhash_score", Double, comment="Level 1, 0 to 1; null if the level was absent."),
    Column("tfidf_score", Double, comment="Level 2, 0 to 1; null if the level was absent."),
    Column("entity_score", Double, comment="Level 3, 0 to 1; null if nothing was comparable."),
    Column("has_conflict", Boolean, nullable=False, comment="Identities differ."),
    Column("evidence", JSONB, nullable=False, comment="What agreed, what differed, who found it."),
    _integer("config_id", "Configuration that made the match.", null=True),
    _integer("scheme_id", "Scheme of level 1.", null=True),
    _integer("model_id", "Model of level 2.", null=True),
    _timestamp("detected_at", "When it was found.", default=True),
    PrimaryKeyConstraint("document_id", "matched_document_id"),
    CheckConstraint("confidence in ('EXACT', 'HIGH', 'MEDIUM', 'LOW')", name="confidence"),
    CheckConstraint("action in ('REJECT', 'REVIEW', 'ACCEPT')", name="action"),
    Index("matches_matched_document_id_idx", "matched_document_id", "document_id"),
    comment="What detection found, the later document first.",
)

detections = Table(
    "detections",
    metadata,
    _document_id(),
    _text("recommended_action", "REJECT, REVIEW or ACCEPT."),
    _text("confidence", "Class of the best match; null if there is none.", null=True),
    Column("best_match_id", BigInteger, comment="Document of the best match."),
    Column("best_score", Double, comment="Its score."),
    _integer("total_checked", "Candidates whose levels were scored."),
    _integer("high_confidence_count", "Matches that are EXACT or HIGH."),
    _integer("medium_confidence_count", "Matches that are MEDIUM."),
    _integer("low_confidence_count", "Matches that are LOW."),
    Column("total_latency_ms", Double, nullable=False, comment="Time of the detection."),
    Column("short_circuited", Boolean, nullable=False, comment="An exact copy ended it early."),
    Column("level_scores", JSONB, nullable=False, comment="Best score of each level."),
    _timestamp("detected_at", "When it was made.", default=True),
    PrimaryKeyConstraint("document_id"),
    CheckConstraint("recommended_action in ('REJECT', 'REVIEW', 'ACCEPT')", name="action"),
    comment="The latest verdict on each document.",
)
