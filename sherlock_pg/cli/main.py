"""Entry point: the command group, and errors turned into messages and exit codes."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback

import click
import psycopg

from sherlock_pg import __version__
from sherlock_pg.cli.context import CliContext
from sherlock_pg.errors import EnvironmentFault, ExitCode, SherlockError, from_psycopg

_COMMANDS = {
    "load": ("sherlock_pg.cli.load", "load"),
    "match": ("sherlock_pg.cli.match", "match"),
    "fit": ("sherlock_pg.cli.fit", "fit"),
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
@click.version_option(__version__, prog_name="sherlock-pg")
@click.pass_context
def cli(ctx: click.Context, database_url: str | None, verbose: int, quiet: bool) -> None:
    """Near-duplicate detection inside PostgreSQL.

    Load documents and learn at once which of them are already there, with a score, the evidence
    and a recommended action. Exit codes: 0 all well, 1 some documents failed, 2 usage,
    3 something is missing (database, extension, tesseract), 130 interrupted.
    """
    ctx.obj = CliContext(database_url=database_url, verbosity=-1 if quiet else verbose)
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO)[min(verbose, 1)]
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("sherlock_pg").setLevel(level)


def run(args: list[str] | None = None) -> int:
    """Run the command line and return the exit code; nothing is raised."""
    argv = sys.argv[1:] if args is None else args
    try:
        result = cli.main(args=argv, prog_name="sherlock-pg", standalone_mode=False)
        return int(result) if isinstance(result, int) else ExitCode.OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except BrokenPipeError:
        # The reader of our output went away (| head): say nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except SherlockError as error:
        return _report(error, argv)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _report(EnvironmentFault(what, hint="is there space, and may it be written?"), argv)
    except psycopg.Error as error:
        return _report(from_psycopg(error), argv)


def _report(error: SherlockError, argv: list[str]) -> int:
    click.echo(f"error: {error}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)
    if "-vv" in argv:
        traceback.print_exception(error)
    return error.exit_code


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run())
