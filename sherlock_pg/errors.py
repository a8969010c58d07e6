"""Errors with an exit code and a hint, and the translation of database errors by SQLSTATE."""

from __future__ import annotations

import enum

import psycopg


class ExitCode(enum.IntEnum):
    """Exit codes of the command line; part of the stable interface."""

    OK = 0
    """Everything that was asked for was done."""
    SOME_FAILED = 1
    """The run ended, but at least one document failed."""
    USAGE = 2
    """A wrong option, argument or configuration file."""
    ENVIRONMENT = 3
    """Something the command needs is missing: database, extension, tesseract, language, model."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C; what was committed stays, a second run goes on from there."""


class SherlockError(Exception):
    """An error that is shown to the user as one message and one hint, without a traceback.

    Attributes:
        exit_code: what the command line exits with.
        hint: what the user can do next, or an empty string.
        sqlstate: the database's error code where the error came from there.
    """

    exit_code = ExitCode.SOME_FAILED

    def __init__(self, message: str, *, hint: str = "", sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.sqlstate = sqlstate


class UsageError(SherlockError):
    """The command was called with something it cannot work with."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """A detection configuration is not valid; nothing was changed."""


class EnvironmentFault(SherlockError):
    """Something outside the documents is missing or unusable; the run stops at once."""

    exit_code = ExitCode.ENVIRONMENT


class DatabaseUnavailable(EnvironmentFault):
    """No connection to the database could be made."""


class SchemaError(EnvironmentFault):
    """The sherlock schema is missing, too old or too new for this version of the program."""


_HINTS_BY_SQLSTATE = {
    "3F000": "run: sherlock-pg db upgrade",
    "42P01": "run: sherlock-pg db upgrade",
    "42883": "run: sherlock-pg db upgrade",
    "25006": "the database takes no writes: connect to the primary server, or look whether "
    "default_transaction_read_only is set",
    "42501": "connect as the owner of the sherlock schema, or ask the owner for a grant",
    "28P01": "check the user and password in --database-url, SHERLOCK_DATABASE_URL or PG*",
    "3D000": "create the database first: createdb NAME",
    "53100": "the database server's disk is full",
    "57014": "the statement ran into statement_timeout or was cancelled",
}


def from_psycopg(error: psycopg.Error) -> SherlockError:
    """Translate a database error into one with an exit code and a hint, by its SQLSTATE.

    Errors of our own SQL functions (class SH) keep their message, detail and hint.
    """
    sqlstate = error.sqlstate
    diag = error.diag
    message = diag.message_primary or str(error).strip() or type(error).__name__
    if diag.message_detail:
        message = f"{message} ({diag.message_detail})"
    hint = diag.message_hint or _HINTS_BY_SQLSTATE.get(sqlstate or "", "")
    if sqlstate is not None and sqlstate.startswith("SH"):
        return UsageError(message, hint=hint, sqlstate=sqlstate)
    if isinstance(error, psycopg.OperationalError) and sqlstate is None:
        return DatabaseUnavailable(
            f"cannot reach the database: {message}",
            hint=hint
            or "is the server running? are host, user, password and database right in "
            "--database-url, SHERLOCK_DATABASE_URL or PG*?",
        )
    return EnvironmentFault(f"database error: {message}", hint=hint, sqlstate=sqlstate)
