"""`sherlock-pg doctor`: a checklist with hints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click
import psycopg

from sherlock_pg.cli.context import CliContext, pass_context
from sherlock_pg.cli.output import format_option, write_rows
from sherlock_pg.db import schema
from sherlock_pg.db.connection import connect
from sherlock_pg.errors import EnvironmentFault, ExitCode, SherlockError


@dataclass(frozen=True)
class Check:
    """One line of the checklist; result is OK, WARNING or FAILED."""

    check: str
    result: str
    found: str
    hint: str = ""


@click.command()
@click.option("--language", "languages", multiple=True, default=("spa",), show_default=True)
@format_option
@pass_context
def doctor(context: CliContext, languages: tuple[str, ...], output_format: str) -> int:
    """Check that everything is there; exit 3 if something needed is not."""
    checks = [
        *_database_checks(context),
        _tesseract(languages),
        _ner_model(),
    ]
    write_rows(
        [asdict(check) for check in checks], ["check", "result", "found", "hint"], output_format
    )
    is_failed = any(check.result == "FAILED" for check in checks)
    return ExitCode.ENVIRONMENT if is_failed else ExitCode.OK


def _database_checks(context: CliContext) -> Iterator[Check]:
    try:
        conn = connect(context.conninfo(), autocommit=True)
    except SherlockError as error:
        yield Check("database connection", "FAILED", str(error), error.hint)
        return
    with conn:
        yield Check("database connection", "OK", f"{conn.info.host}, {conn.info.dbname}")
        for check in (_server, _extensions, _locale, _schema, _hashes):
            yield from check(conn)


def _server(conn: psycopg.Connection) -> Iterator[Check]:
    version = conn.info.parameter_status("server_version") or "unknown"
    try:
        schema.check_server(conn)
    except EnvironmentFault as error:
        yield Check("server", "FAILED", str(error), error.hint)
    else:
        yield Check("server", "OK", f"PostgreSQL {version}, UTF8")


def _extensions(conn: psycopg.Connection) -> Iterator[Check]:
    rows: dict[str, tuple[str | None, str | None]] = {
        name: (installed, available)
        for name, installed, available in conn.execute(
            "select a.name, a.installed_version, a.default_version"
            " from pg_available_extensions as a where a.name = any(%s)",
            [list(schema.EXTENSIONS)],
        )
    }
    for name in schema.EXTENSIONS:
        installed, available = rows.get(name, (None, None))
        minimum = schema.MIN_PGVECTOR if name == "vector" else (0,)
        wanted = ".".join(map(str, minimum))
        title = f"extension {name}"
        if available is None and installed is None:
            yield Check(
                title,
                "FAILED",
                "not on this server",
                "install it on the server (pgvector, postgresql-contrib)",
            )
        elif installed is None:
            is_new_enough = schema.parse_version(available or "") >= minimum
            yield Check(
                title,
                "WARNING" if is_new_enough else "FAILED",
                f"{available} is there, not created",
                "run: sherlock-pg db upgrade" if is_new_enough else f"{wanted} is needed",
            )
        elif schema.parse_version(installed) < minimum:
            yield Check(
                title,
                "FAILED",
                installed,
                f"{wanted} or newer is needed; then run: alter extension {name} update",
            )
        else:
            yield Check(title, "OK", installed)


def _locale(conn: psycopg.Connection) -> Iterator[Check]:
    row = conn.execute(
        "select datcollate, datctype from pg_database where datname = current_database()"
    ).fetchone()
    found = "unknown" if row is None else f"collate {row[0]}, ctype {row[1]}"
    is_there = conn.execute("select 1 from pg_extension where extname = 'pg_trgm'").fetchone()
    if is_there is None:
        yield Check(
            "locale",
            "WARNING",
            f"{found}; trigrams unknown without pg_trgm",
            "run: sherlock-pg db upgrade",
        )
        return
    has_letter = conn.execute("select cardinality(show_trgm(U&'\\00F1')) > 0").fetchone()
    if has_letter is not None and has_letter[0]:
        yield Check("locale", "OK", found)
    else:
        yield Check(
            "locale",
            "WARNING",
            f"{found}; pg_trgm drops the letter n with tilde",
            "sherlock-pg itself is not affected: its trigram columns hold plain letters. "
            "For your own trigram indexes create the database with a UTF-8 ctype",
        )


def _schema(conn: psycopg.Connection) -> Iterator[Check]:
    found = schema.status(conn)
    text = f"revision {found.revision or 'none'}, this program {found.head}"
    if found.state is schema.SchemaState.CURRENT:
        yield Check("schema", "OK", text)
    elif found.state is schema.SchemaState.TOO_NEW:
        yield Check("schema", "FAILED", text, "pip install --upgrade sherlock-pg")
    else:
        yield Check(
            "schema", "FAILED", f"{found.state.value}; {text}", "run: sherlock-pg db upgrade"
        )


def _hashes(conn: psycopg.Connection) -> Iterator[Check]:
    if conn.execute("select to_regprocedure('sherlock.hash_self_test()')").fetchone() == (None,):
        return
    row = conn.execute("select sherlock.hash_self_test()").fetchone()
    if row is not None and row[0]:
        yield Check("hash functions", "OK", "known answers reproduced")
    else:
        yield Check(
            "hash functions",
            "FAILED",
            "the server hashes differently",
            "signatures of this server cannot be compared with others; see the README",
        )


def _tesseract(languages: tuple[str, ...]) -> Check:
    from sherlock_pg.ingest.ocr import check_tesseract

    found = check_tesseract(languages)
    if found.is_usable:
        return Check("tesseract", "OK", f"{found.version}, {', '.join(languages)}")
    # Native PDFs and texts load without it.
    return Check("tesseract", "WARNING", found.problem, f"scans need it: {found.hint}")


def _ner_model() -> Check:
    from sherlock_pg.ner.model import resolve_model

    model = resolve_model("auto")
    if model is not None:
        return Check("NER model", "OK", model.label)
    return Check(
        "NER model",
        "WARNING",
        "none: parties by rules only",
        "optional: python -m spacy download es_core_news_lg",
    )
