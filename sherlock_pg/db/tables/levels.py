"""What the three levels compare."""

from __future__ import annotations

from pgvector.sqlalchemy import BIT, SPARSEVEC, VECTOR
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Double,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from sherlock_pg.db.tables.columns import (
    FOLDED_FEATURES,
    LETTERS,
    MAX_FEATURES,
    PROJECTION_BITS,
    SCHEMA,
    document_id_column,
    integer_column,
    metadata,
    text_column,
    timestamp_column,
)

stop_lists = Table(
    "stop_lists",
    metadata,
    Column("stop_list_id", Integer, Identity(), primary_key=True, comment="The list."),
    text_column("shingle_kind", "word or char: it fits schemes of this kind and width only."),
    integer_column("shingle_width", "Tokens (word) or characters (char) in a shingle."),
    text_column("learnt_from", "Name that the collection had from whose texts it was learnt."),
    Column(
        "document_share",
        Double,
        nullable=False,
        comment="A shingle is on the list if more than this share of the texts has it.",
    ),
    integer_column("text_count", "Texts that it was learnt from; of exact copies one counts."),
    integer_column("shingle_count", "Shingles on the list."),
    integer_column("measured_count", "Texts on which its effect was measured when it was learnt."),
    Column(
        "mean_removed_share",
        Double,
        nullable=False,
        comment="Of these, the mean share of a text's shingles that is on the list.",
    ),
    integer_column("too_few_count", "Of these, texts with too few other shingles to be signed."),
    Column(
        "candidates_with",
        Double,
        nullable=False,
        comment="Mean number of candidates of level 1 for a text with its boilerplate.",
    ),
    Column(
        "candidates_without",
        Double,
        nullable=False,
        comment="The same without the shingles of the list.",
    ),
    timestamp_column("learnt_at", "When it was learnt.", default=True),
    CheckConstraint("shingle_kind in ('word', 'skeleton', 'char')", name="shingle_kind"),
    CheckConstraint("document_share > 0 and document_share < 1", name="document_share"),
    comment="Level 1: versions of what counts as boilerplate. Never changed once learnt, because "
    "stored signatures rely on it.",
)


stop_shingles = Table(
    "stop_shingles",
    metadata,
    Column(
        "stop_list_id",
        Integer,
        ForeignKey(f"{SCHEMA}.stop_lists.stop_list_id", ondelete="CASCADE"),
        nullable=False,
        autoincrement=False,
        comment="The list.",
    ),
    Column(
        "shingle",
        BigInteger,
        nullable=False,
        autoincrement=False,
        comment="The shingle, as sherlock.shingles makes it.",
    ),
    Column("document_share", Float, nullable=False, comment="Share of the texts that have it."),
    PrimaryKeyConstraint("stop_list_id", "shingle"),
    comment="Level 1: the shingles of each list of boilerplate.",
)


shingle_schemes = Table(
    "shingle_schemes",
    metadata,
    Column("scheme_id", Integer, Identity(), primary_key=True, comment="The scheme."),
    text_column("name", "Short name, unique."),
    integer_column("normaliser_version", "Version of sherlock.canonical_text.", default=1),
    text_column("shingle_kind", "word, skeleton or char."),
    integer_column("shingle_width", "Words or characters in a shingle."),
    integer_column("slot_count", "Slots of a signature.", default=128),
    integer_column("band_count", "Bands of the signature; each gives one key.", default=32),
    integer_column("rows_per_band", "Slots in a band.", default=4),
    integer_column(
        "min_shingles",
        "A text with fewer shingles is short: it matches exactly only, never by sketch.",
    ),
    integer_column(
        "band_key_limit",
        "Documents read per band key; a key shared by more is hot: capped and reported.",
        default=200,
    ),
    timestamp_column("created_at", "When the scheme was made.", default=True),
    Column(
        "stop_list_id",
        Integer,
        ForeignKey(f"{SCHEMA}.stop_lists.stop_list_id"),
        comment="Shingles of this list are left out of signatures; null: none are.",
    ),
    Column(
        "base_scheme_id",
        Integer,
        ForeignKey(f"{SCHEMA}.shingle_schemes.scheme_id"),
        comment="The same scheme without a list; null: this one has none.",
    ),
    UniqueConstraint("name"),
    UniqueConstraint("base_scheme_id", "stop_list_id"),
    CheckConstraint("(stop_list_id is null) = (base_scheme_id is null)", name="stop_list"),
    CheckConstraint("shingle_kind in ('word', 'skeleton', 'char')", name="shingle_kind"),
    CheckConstraint("slot_count = 128", name="slot_count"),
    CheckConstraint(
        "band_count > 0 and rows_per_band > 0 and band_count * rows_per_band <= slot_count",
        name="bands",
    ),
    CheckConstraint("min_shingles >= 1 and band_key_limit >= 1", name="limits"),
    comment="How texts become signatures. Signatures of different schemes never meet.",
)


document_signatures = Table(
    "document_signatures",
    metadata,
    document_id_column(),
    integer_column("scheme_id", "Scheme of the signature."),
    integer_column("shingle_count", "Shingles of the text, repeats counted."),
    Column(
        "signature",
        ARRAY(Integer),
        comment="128 slots; null: without the boilerplate too little is left.",
    ),
    Column(
        "sketch",
        BIT(2048),
        comment="16 bits of a hash of each slot: a first estimate of the Jaccard at 1 microsecond.",
    ),
    integer_column(
        "boilerplate_count",
        "Shingles left out of the signature: those on the scheme's list.",
        default=0,
    ),
    Column(
        "containment_sample",
        ARRAY(Integer),
        comment="Hashes of one run of words in twelve, by which texts that contain it, or that it "
        "contains, are found; null: indexed before there were any.",
    ),
    PrimaryKeyConstraint("document_id", "scheme_id"),
    CheckConstraint("(signature is null) = (sketch is null)", name="sketch"),
    # Without a pending list, which makes one insert in thousands wait for all before it.
    Index(
        "document_signatures_containment_sample_idx",
        "containment_sample",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    ),
    Index(
        "document_signatures_unsampled_idx",
        "scheme_id",
        "document_id",
        postgresql_where=text("containment_sample is null"),
    ),
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
    text_column(
        "status",
        "building, active (one per collection), retired, or archived: its vocabulary without "
        "vectors.",
        default="building",
    ),
    integer_column("feature_count", "Features in the vocabulary.", null=True),
    integer_column("fitted_document_count", "Documents in the sample that it was fitted on."),
    integer_column("ngram_min", "Shortest n-gram, in tokens."),
    integer_column("ngram_max", "Longest n-gram, in tokens."),
    timestamp_column("created_at", "When it was fitted.", default=True),
    timestamp_column("activated_at", "When it became the active one."),
    integer_column(
        "sample_limit", "Documents that the fit read at most; null: unknown.", null=True
    ),
    integer_column(
        "max_features", "The collection's limit on features then; null: unknown.", null=True
    ),
    integer_column("document_count", "Indexed documents of the collection then."),
    Column(
        "drift",
        Double,
        comment="Loss of known terms in later documents when last measured, 0 to 1; null: unknown.",
    ),
    timestamp_column("drift_measured_at", "When that was."),
    Column(
        "known_numbers",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="Terms that are numbers of three digits or more, as digits.",
    ),
    Column(
        "known_number_idf",
        ARRAY(Double),
        nullable=False,
        server_default=text("'{}'"),
        comment="Their idf, in the same order.",
    ),
    CheckConstraint("status in ('building', 'active', 'retired', 'archived')", name="status"),
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
    integer_column("model_id", "The model version."),
    Column("term", Text(collation="C"), nullable=False, comment="Token, or two and a space."),
    integer_column("feature_index", "Index in the vector, from 1."),
    Column("idf", Double, nullable=False, comment="Inverse document frequency."),
    PrimaryKeyConstraint("model_id", "term"),
    CheckConstraint(f"feature_index between 1 and {MAX_FEATURES}", name="feature_index"),
    comment="Level 2: the vocabulary of each model.",
)


tfidf_projection = Table(
    "tfidf_projection",
    metadata,
    integer_column("dimension", f"Bit of the projection, 1 to {PROJECTION_BITS}."),
    Column("directions", VECTOR(FOLDED_FEATURES), nullable=False, comment="+1 or -1 each."),
    PrimaryKeyConstraint("dimension"),
    CheckConstraint(f"dimension between 1 and {PROJECTION_BITS}", name="dimension"),
    comment="Level 2 retrieval: the fixed random projection of folded vectors, the same for every "
    "model.",
)

tfidf_folding = Table(
    "tfidf_folding",
    metadata,
    integer_column("block", f"Block of {FOLDED_FEATURES} features of the vector, from 1."),
    Column("signs", VECTOR(FOLDED_FEATURES), nullable=False, comment="+1 or -1 each."),
    PrimaryKeyConstraint("block"),
    CheckConstraint(f"block between 1 and {MAX_FEATURES // FOLDED_FEATURES}", name="block"),
    comment="Level 2 retrieval: the signs with which the blocks of a vector are summed before it "
    "is projected, the same for every model.",
)


document_vectors = Table(
    "document_vectors",
    metadata,
    Column("document_id", BigInteger, nullable=False, comment="The document."),
    integer_column("model_id", "Model that made the vector."),
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
    document_id_column(),
    text_column("role", "demandante, demandado, cedula, correo, radicado or referencia."),
    integer_column("ordinal", "Number within the role, from 1."),
    integer_column("collection_id", "The document's collection."),
    text_column("value", "As it stands in the text, cleaned."),
    text_column("normalised", "Comparable form: accent-free lower case, digits only, and so on."),
    text_column("name_key", "Sorted tokens of a name; null for other roles.", null=True),
    text_column("owner_role", "Whose id or address it is; null if unknown.", null=True),
    text_column("id_type", "CC, CE, TI, RC, PA, PPT or NIT; null for other roles.", null=True),
    Column(
        "is_comparable",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="False for initials and for courts' and institutions' addresses.",
    ),
    text_column("source", "Rule or model that found it.", default="supplied"),
    Column("score", Float, nullable=False, server_default=text("1"), comment="Trust, 0 to 1."),
    integer_column("start_offset", "First character in the content, from 0.", null=True),
    integer_column("end_offset", "Character after the last.", null=True),
    PrimaryKeyConstraint("document_id", "role", "ordinal"),
    CheckConstraint(
        "role in ('demandante', 'demandado', 'cedula', 'correo', 'radicado', 'referencia')",
        name="role",
    ),
    CheckConstraint("score >= 0 and score <= 1", name="score"),
    Index("entities_normalised_idx", "collection_id", "role", "normalised", "document_id"),
    comment="Level 3: parties and identifiers.",
)


entity_profiles = Table(
    "entity_profiles",
    metadata,
    document_id_column(),
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
    Column(
        "name_letters",
        ARRAY(BIT(4 * LETTERS)),
        nullable=False,
        server_default=text("'{}'"),
        comment="How often each letter occurs in these: 4 bits each, as many set, at most 4.",
    ),
    PrimaryKeyConstraint("document_id"),
    comment="Level 3: a document's entities in one row, as the search compares them; kept by "
    "triggers on entities.",
)


document_references = Table(
    "document_references",
    metadata,
    Column("document_id", BigInteger, nullable=False, autoincrement=False, comment="The document."),
    Column(
        "numbers",
        ARRAY(Text),
        nullable=False,
        comment="Numbers of three digits or more, no years, in the order of the text.",
    ),
    Column("dates", ARRAY(Date), nullable=False, comment="Dates, in the order of the text."),
    PrimaryKeyConstraint("document_id"),
    comment="Level 3: what tells one matter from another whatever the words; texts without have "
    "no row.",
)


party_names = Table(
    "party_names",
    metadata,
    integer_column("collection_id", "The collection."),
    text_column("role", "demandante or demandado."),
    text_column("normalised", "Distinct normalised name."),
    Column(
        "name_id",
        Integer,
        Identity(always=True),
        nullable=False,
        comment="Number of the name, for its keys.",
    ),
    PrimaryKeyConstraint("collection_id", "role", "normalised"),
    UniqueConstraint("name_id"),
    Index(
        "party_names_normalised_trgm_idx",
        "normalised",
        postgresql_using="gin",
        postgresql_ops={"normalised": "gin_trgm_ops"},
    ),
    comment="Level 3 retrieval: the distinct names. The trigram index is for searches of your own.",
)


name_keys = Table(
    "name_keys",
    metadata,
    integer_column("key", "Hash of collection and part of the name, as sherlock.name_keys has it."),
    integer_column("name_id", "The plaintiff's name in party_names."),
    PrimaryKeyConstraint("key", "name_id"),
    comment="Level 3 retrieval: names that share a key may resemble each other; kept by triggers "
    "on party_names.",
)
