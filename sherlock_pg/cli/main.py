"""Entry point: the command group, and errors turned into messages and exit codes."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from typing import get_args

import click
import psycopg

from sherlock_pg import __version__, logs
from sherlock_pg.cli.context import CliContext
from sherlock_pg.errors import EnvironmentFault, ExitCode, SherlockError, from_psycopg

log = logging.getLogger(__name__)

_COMMANDS = {
    "load": ("sherlock_pg.cli.load", "load"),
    "enqueue": ("sherlock_pg.cli.enqueue", "enqueue"),
    "worker": ("sherlock_pg.cli.worker", "worker"),
    "match": ("sherlock_pg.cli.match", "match"),
    "status": ("sherlock_pg.cli.status", "status"),
    "queue": ("sherlock_pg.cli.queue", "queue"),
    "reprocess": ("sherlock_pg.cli.reprocess", "reprocess"),
    "fit": ("sherlock_pg.cli.fit", "fit"),
    "export": ("sherlock_pg.cli.export", "export"),
    "config": ("sherlock_pg.cli.config", "config"),
    "db": ("sherlock_pg.cli.db", "db"),
    "server": ("sherlock_pg.cli.server", "server"),
    "url": ("sherlock_pg.cli.server", "url"),
    "psql": ("sherlock_pg.cli.server", "psql"),
    "doctor": ("sherlock_pg.cli.doctor", "doctor"),
    "evaluate": ("sherlock_pg.cli.evaluate", "evaluate"),
    "eval-ner": ("sherlock_pg.cli.eval_ner", "eval_ner"),
    "tune": ("sherlock_pg.cli.tune", "tune"),
    "samples": ("sherlock_pg.cli.samples", "samples"),
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is used, so that `--help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List all commands in their documented order."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return the command."""
        if cmd_name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.{attribute} is not a command")
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--database-url",
    metavar="URL",
    help="Database to use (env: SHERLOCK_DATABASE_URL, then libpq's PG* variables). "
    "Without any of them the embedded server is used and started.",
)
@click.option("-v", "--verbose", count=True, help="Say more; twice for tracebacks.")
@click.option("-q", "--quiet", is_flag=True, help="Only errors.")
@click.option(
    "--log-format",
    type=click.Choice(get_args(logs.LogFormat)),
    default="text",
    envvar="SHERLOCK_LOG_FORMAT",
    show_envvar=True,
    show_default=True,
    help="Form of what is said on stderr: words, or one JSON object a line, without progress bars.",
)
@click.version_option(__version__, prog_name="sherlock-pg")
@click.pass_context
def cli(
    ctx: click.Context,
    database_url: str | None,
    verbose: int,
    quiet: bool,
    log_format: logs.LogFormat,
) -> None:
    """Near-duplicate detection inside PostgreSQL.

    Load documents and learn at once which of them are already there, with a score, the evidence
    and a recommended action. Exit codes: 0 all well, 1 some documents failed, 2 usage,
    3 something is missing (database, extension, tesseract), 130 interrupted.
    """
    verbosity = -1 if quiet else verbose
    ctx.obj = CliContext(database_url=database_url, verbosity=verbosity)
    logs.set_verbosity(log_format, verbosity)


def run(args: list[str] | None = None) -> int:
    """Run the command line and return the exit code; nothing is raised but programming errors."""
    argv = sys.argv[1:] if args is None else args
    log_format = _log_format(argv)
    with logs.configured(log_format):
        try:
            return _run(argv, log_format)
        except Exception:
            if log_format == "text":
                raise
            log.critical("uncaught error", exc_info=True)
            return ExitCode.SOME_FAILED


def _log_format(argv: list[str]) -> logs.LogFormat:
    """Return the form of the log, also where the command line cannot be parsed to its end."""
    context = cli.make_context("sherlock-pg", list(argv), resilient_parsing=True)
    return "json" if context.params.get("log_format") == "json" else "text"


def _run(argv: list[str], log_format: logs.LogFormat) -> int:
    try:
        result = cli.main(args=argv, prog_name="sherlock-pg", standalone_mode=False)
        return int(result) if isinstance(result, int) else ExitCode.OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        if log_format == "text":
            error.show()
        else:
            log.error("%s", error.format_message(), extra=logs.fields(exit_code=ExitCode.USAGE))
        return ExitCode.USAGE
    except BrokenPipeError:
        # The reader of our output went away (| head): say nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except SherlockError as error:
        return _report(error, argv, log_format)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        fault = EnvironmentFault(what, hint="is there space, and may it be written?")
        return _report(fault, argv, log_format)
    except psycopg.Error as error:
        return _report(from_psycopg(error), argv, log_format)


def _report(error: SherlockError, argv: list[str], log_format: logs.LogFormat) -> int:
    wants_traceback = "-vv" in argv
    if log_format == "json":
        log.error(
            "%s",
            error,
            exc_info=error if wants_traceback else None,
            extra=logs.fields(
                exit_code=error.exit_code, hint=error.hint or None, sqlstate=error.sqlstate
            ),
        )
        return error.exit_code
    click.echo(f"error: {error}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)
    if wants_traceback:
        traceback.print_exception(error)
    return error.exit_code


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run())
