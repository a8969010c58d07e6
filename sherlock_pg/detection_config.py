"""The detection configuration as a file: read, validated, stored as rows, written back.

The file's keys are those of `dedup_config.json`:

    LEVEL_WEIGHTS               {"minhash": 0.25, "tfidf": 0.40, "entity": 0.35}
    THRESHOLDS                  {"default": {"high": …, "medium": …, "low": …}, "tutela": …}
    MINHASH_NUM_PERM            128 (fixed by the signatures in the database)
    MINHASH_THRESHOLD           Jaccard from which level 1 counts as a hit
    TFIDF_MAX_FEATURES          1 to 5000; takes effect with the next fit
    TFIDF_NGRAM_RANGE           [1, 2] or [1, 1]; takes effect with the next fit
    ENTITY_BOTH_MATCH_BOOST, ENTITY_CEDULA_MATCH_BOOST, ENTITY_CORREO_MATCH_BOOST
    ENTITY_FUZZY_THRESHOLD      Ratcliff/Obershelp ratio from which names agree
    ENTITY_CONFLICT_CAP         {"default": null, "tutela": "LOW", …}: HIGH, MEDIUM, LOW or null
    USE_SHORT_CIRCUIT           true or false
    USE_REFERENCES              true or false: numbers and dates of the texts count
    TOP_K_CANDIDATES            candidates reported, 1 to 100

LEVEL_WEIGHTS may also be given by document type, as THRESHOLDS is. Keys that are left out keep
their value; unknown keys are errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import psycopg
from psycopg.rows import class_row, dict_row

from sherlock_pg.errors import ConfigError

_CLASSES = ("HIGH", "MEDIUM", "LOW")
_LEVELS = ("minhash", "tfidf", "entity")
_SLOT_COUNT = 128


@dataclass(frozen=True)
class DetectionConfig:
    """One row of `sherlock.detection_configs`, without its keys and dates."""

    doc_type: str
    minhash_weight: float
    tfidf_weight: float
    entity_weight: float
    both_parties_boost: float
    cedula_boost: float
    correo_boost: float
    fuzzy_threshold: float
    high_threshold: float
    medium_threshold: float
    low_threshold: float
    minhash_threshold: float
    conflict_cap: str | None
    minhash_candidate_limit: int
    tfidf_candidate_limit: int
    entity_candidate_limit: int
    max_results: int
    use_short_circuit: bool
    use_references: bool


@dataclass(frozen=True)
class CollectionConfig:
    """The configurations in force for a collection, by document type, and its vocabulary limits."""

    by_doc_type: Mapping[str, DetectionConfig]
    tfidf_max_features: int
    tfidf_ngram_range: tuple[int, int]


def read(conn: psycopg.Connection, collection: str) -> CollectionConfig:
    """Return what is in force for a collection: its own rows before the general ones."""
    with conn.cursor(row_factory=dict_row) as cur:
        found = cur.execute(
            "select collection_id, tfidf_max_features, tfidf_ngram_min, tfidf_ngram_max"
            " from sherlock.collections"
            " where collection_id = sherlock.collection_id(%s)",
            [collection],
        ).fetchone()
    if found is None:
        raise ConfigError(f"there is no collection {collection!r}")
    with conn.cursor(row_factory=class_row(DetectionConfig)) as cur:
        rows = cur.execute(
            "select t.doc_type, c.minhash_weight, c.tfidf_weight, c.entity_weight,"
            " c.both_parties_boost, c.cedula_boost, c.correo_boost, c.fuzzy_threshold,"
            " c.high_threshold, c.medium_threshold, c.low_threshold, c.minhash_threshold,"
            " c.conflict_cap, c.minhash_candidate_limit, c.tfidf_candidate_limit,"
            " c.entity_candidate_limit, c.max_results, c.use_short_circuit, c.use_references"
            " from (select distinct doc_type from sherlock.detection_configs where is_active"
            "       and (collection_id is null or collection_id = %(id)s)) as t"
            " cross join lateral sherlock.detection_config(%(id)s, t.doc_type) as c"
            " order by t.doc_type <> 'default', t.doc_type",
            {"id": found["collection_id"]},
        ).fetchall()
    return CollectionConfig(
        by_doc_type={row.doc_type: row for row in rows},
        tfidf_max_features=found["tfidf_max_features"],
        tfidf_ngram_range=(found["tfidf_ngram_min"], found["tfidf_ngram_max"]),
    )


def write(conn: psycopg.Connection, collection: str, config: CollectionConfig) -> int:
    """Store a configuration for a collection; return how many settings rows changed.

    The limits of the vocabulary count as one.

    A changed row retires the old one and adds a new one, so that stored matches still name what
    made them. All in the caller's transaction.
    """
    current = read(conn, collection)
    conn.execute(
        "update sherlock.collections set tfidf_max_features = %s, tfidf_ngram_min = %s,"
        " tfidf_ngram_max = %s where collection_id = sherlock.collection_id(%s)",
        [config.tfidf_max_features, *config.tfidf_ngram_range, collection],
    )
    limits = (config.tfidf_max_features, config.tfidf_ngram_range)
    changed = int(limits != (current.tfidf_max_features, current.tfidf_ngram_range))
    for doc_type, row in config.by_doc_type.items():
        if current.by_doc_type.get(doc_type) == row:
            continue
        conn.execute(
            "update sherlock.detection_configs set is_active = false"
            " where is_active and doc_type = %s"
            " and collection_id = sherlock.collection_id(%s)",
            [doc_type, collection],
        )
        conn.execute(
            "insert into sherlock.detection_configs (collection_id, doc_type, minhash_weight,"
            " tfidf_weight, entity_weight, both_parties_boost, cedula_boost, correo_boost,"
            " fuzzy_threshold, high_threshold, medium_threshold, low_threshold,"
            " minhash_threshold, conflict_cap, minhash_candidate_limit, tfidf_candidate_limit,"
            " entity_candidate_limit, max_results, use_short_circuit, use_references)"
            " values (sherlock.collection_id(%(collection)s), %(doc_type)s, %(minhash_weight)s,"
            " %(tfidf_weight)s, %(entity_weight)s, %(both_parties_boost)s, %(cedula_boost)s,"
            " %(correo_boost)s, %(fuzzy_threshold)s, %(high_threshold)s, %(medium_threshold)s,"
            " %(low_threshold)s, %(minhash_threshold)s, %(conflict_cap)s,"
            " %(minhash_candidate_limit)s, %(tfidf_candidate_limit)s,"
            " %(entity_candidate_limit)s, %(max_results)s, %(use_short_circuit)s,"
            " %(use_references)s)",
            {"collection": collection, **asdict(row)},
        )
        changed += 1
    return changed


def to_json(config: CollectionConfig) -> str:
    """Return the configuration as the text of a file that `from_json` reads."""
    default = config.by_doc_type["default"]
    rows = config.by_doc_type
    by_type = {
        name: {level: getattr(row, f"{level}_weight") for level in _LEVELS}
        for name, row in rows.items()
    }
    is_same = all(weights == by_type["default"] for weights in by_type.values())
    document = {
        "LEVEL_WEIGHTS": by_type["default"] if is_same else by_type,
        "THRESHOLDS": {
            name: {
                "high": row.high_threshold,
                "medium": row.medium_threshold,
                "low": row.low_threshold,
            }
            for name, row in rows.items()
        },
        "MINHASH_NUM_PERM": _SLOT_COUNT,
        "MINHASH_THRESHOLD": default.minhash_threshold,
        "TFIDF_MAX_FEATURES": config.tfidf_max_features,
        "TFIDF_NGRAM_RANGE": list(config.tfidf_ngram_range),
        "ENTITY_BOTH_MATCH_BOOST": default.both_parties_boost,
        "ENTITY_CEDULA_MATCH_BOOST": default.cedula_boost,
        "ENTITY_CORREO_MATCH_BOOST": default.correo_boost,
        "ENTITY_FUZZY_THRESHOLD": default.fuzzy_threshold,
        "ENTITY_CONFLICT_CAP": {name: row.conflict_cap for name, row in rows.items()},
        "USE_SHORT_CIRCUIT": default.use_short_circuit,
        "USE_REFERENCES": default.use_references,
        "TOP_K_CANDIDATES": default.max_results,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def from_json(text: str, current: CollectionConfig) -> CollectionConfig:
    """Read a configuration file over the current configuration.

    Raises:
        ConfigError: names the key and what is wrong; nothing was changed.
    """
    try:
        document = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        # Some of the parser's messages end in "at".
        what = error.msg.removesuffix(" at")
        raise ConfigError(
            f"not JSON: {what} in line {error.lineno}, column {error.colno}"
        ) from error
    if not isinstance(document, dict):
        raise ConfigError("the file must hold one JSON object")
    unknown = sorted(set(document) - _KNOWN_KEYS)
    if unknown:
        raise ConfigError(
            f"unknown key: {', '.join(unknown)}",
            hint=f"known keys: {', '.join(sorted(_KNOWN_KEYS))}",
        )
    if "MINHASH_NUM_PERM" in document and document["MINHASH_NUM_PERM"] != _SLOT_COUNT:
        raise ConfigError(
            f"MINHASH_NUM_PERM: {_shown(document['MINHASH_NUM_PERM'])}, but signatures have "
            f"{_SLOT_COUNT} slots",
            hint=f"set it to {_SLOT_COUNT} or leave it out",
        )
    rows = dict(current.by_doc_type)
    for doc_type in _doc_types(document):
        rows.setdefault(doc_type, replace(rows["default"], doc_type=doc_type))
    rows = {name: _with_row(row, document) for name, row in rows.items()}
    for row in rows.values():
        _validate(row)
    ngram_range = current.tfidf_ngram_range
    if "TFIDF_NGRAM_RANGE" in document:
        ngram_range = _ngram_range(document["TFIDF_NGRAM_RANGE"])
    max_features = current.tfidf_max_features
    if "TFIDF_MAX_FEATURES" in document:
        max_features = _integer("TFIDF_MAX_FEATURES", document["TFIDF_MAX_FEATURES"], 1, 5000)
    return CollectionConfig(rows, max_features, ngram_range)


def _with_row(row: DetectionConfig, document: Mapping[str, Any]) -> DetectionConfig:
    changes: dict[str, Any] = {}
    for key, (column, convert) in _SCALAR_KEYS.items():
        if key in document:
            changes[column] = convert(key, document[key])
    if "LEVEL_WEIGHTS" in document:
        weights = _object("LEVEL_WEIGHTS", document["LEVEL_WEIGHTS"])
        is_flat = any(key.lower() in _LEVELS for key in weights)
        own = weights if is_flat else weights.get(row.doc_type)
        if own is not None:
            key = "LEVEL_WEIGHTS" if is_flat else f"LEVEL_WEIGHTS.{row.doc_type}"
            for level, value in _named(key, own, _LEVELS).items():
                changes[f"{level}_weight"] = _share(f"{key}.{level}", value)
    if "THRESHOLDS" in document:
        thresholds = _object("THRESHOLDS", document["THRESHOLDS"]).get(row.doc_type)
        if thresholds is not None:
            key = f"THRESHOLDS.{row.doc_type}"
            names = tuple(name.lower() for name in _CLASSES)
            for name, value in _named(key, thresholds, names, ignored=("exact",)).items():
                changes[f"{name}_threshold"] = _share(f"{key}.{name}", value)
    if "ENTITY_CONFLICT_CAP" in document:
        caps = _object("ENTITY_CONFLICT_CAP", document["ENTITY_CONFLICT_CAP"])
        if row.doc_type in caps:
            changes["conflict_cap"] = _cap(row.doc_type, caps[row.doc_type])
    return replace(row, **changes)


def _validate(row: DetectionConfig) -> None:
    total = row.minhash_weight + row.tfidf_weight + row.entity_weight
    if abs(total - 1) >= 1e-9:
        raise ConfigError(
            f"LEVEL_WEIGHTS of {row.doc_type} add up to {total:.4g}, not to 1",
            hint="minhash + tfidf + entity must be 1",
        )
    if not row.high_threshold > row.medium_threshold > row.low_threshold:
        raise ConfigError(
            f"THRESHOLDS of {row.doc_type} must descend: high {row.high_threshold:g}, "
            f"medium {row.medium_threshold:g}, low {row.low_threshold:g}"
        )
    boosts = row.both_parties_boost + row.cedula_boost + row.correo_boost
    if row.entity_weight > 0 and boosts <= 0:
        raise ConfigError("the ENTITY_…_MATCH_BOOST values are all 0, but the entity level weighs")


def _doc_types(document: Mapping[str, Any]) -> list[str]:
    names: list[str] = []
    for key in ("THRESHOLDS", "ENTITY_CONFLICT_CAP"):
        if key in document:
            names += _object(key, document[key])
    if "LEVEL_WEIGHTS" in document:
        weights = _object("LEVEL_WEIGHTS", document["LEVEL_WEIGHTS"])
        if not any(key.lower() in _LEVELS for key in weights):
            names += weights
    return list(dict.fromkeys(names))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ConfigError(
                f"the key {_shown(key)} occurs twice in one object",
                hint="keep the one that is meant",
            )
        entries[key] = value
    return entries


def _shown(value: Any) -> str:
    """Return a value as it stands in the file."""
    return json.dumps(value, ensure_ascii=False)


def _object(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ConfigError(f"{key} must be an object with at least one entry, not {_shown(value)}")
    return value


def _named(
    key: str, value: Any, names: tuple[str, ...], *, ignored: tuple[str, ...] = ()
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, item in _object(key, value).items():
        if name.lower() in given:
            raise ConfigError(
                f"{key}: the entry {name.lower()} occurs twice, in different case",
                hint="keep the one that is meant",
            )
        given[name.lower()] = item
    unknown = sorted(set(given) - set(names) - set(ignored))
    if unknown:
        raise ConfigError(
            f"{key}: unknown entry {', '.join(unknown)}", hint=f"use {', '.join(names)}"
        )
    return {name: item for name, item in given.items() if name in names}


def _share(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ConfigError(f"{key} must be a number from 0 to 1, not {_shown(value)}")
    return float(value)


def _integer(key: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{key} must be a whole number from {low} to {high}, not {_shown(value)}")
    return value


def _top_k(key: str, value: Any) -> int:
    return _integer(key, value, 1, 100)


def _boolean(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be true or false, not {_shown(value)}")
    return value


def _cap(doc_type: str, value: Any) -> str | None:
    if value is not None and value not in _CLASSES:
        raise ConfigError(
            f"ENTITY_CONFLICT_CAP.{doc_type} must be HIGH, MEDIUM, LOW or null, not {_shown(value)}"
        )
    cap: str | None = value
    return cap


def _ngram_range(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ConfigError(f"TFIDF_NGRAM_RANGE must be two whole numbers, not {_shown(value)}")
    low, high = (_integer("TFIDF_NGRAM_RANGE", bound, 1, 2) for bound in value)
    if low > high:
        raise ConfigError(
            f"TFIDF_NGRAM_RANGE must ascend, but is {_shown(value)}",
            hint="[1, 1] for single words, [1, 2] for words and pairs, [2, 2] for pairs only",
        )
    return low, high


_SCALAR_KEYS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "MINHASH_THRESHOLD": ("minhash_threshold", _share),
    "ENTITY_BOTH_MATCH_BOOST": ("both_parties_boost", _share),
    "ENTITY_CEDULA_MATCH_BOOST": ("cedula_boost", _share),
    "ENTITY_CORREO_MATCH_BOOST": ("correo_boost", _share),
    "ENTITY_FUZZY_THRESHOLD": ("fuzzy_threshold", _share),
    "USE_SHORT_CIRCUIT": ("use_short_circuit", _boolean),
    "USE_REFERENCES": ("use_references", _boolean),
    "TOP_K_CANDIDATES": ("max_results", _top_k),
}
_KNOWN_KEYS = set(_SCALAR_KEYS) | {
    "LEVEL_WEIGHTS",
    "THRESHOLDS",
    "MINHASH_NUM_PERM",
    "TFIDF_MAX_FEATURES",
    "TFIDF_NGRAM_RANGE",
    "ENTITY_CONFLICT_CAP",
}
