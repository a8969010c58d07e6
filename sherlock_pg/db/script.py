"""The installation as one SQL script, for a DBA who has psql and no Python.

What the script does is what `schema.upgrade` does, step by step; a test compares what they leave.
"""

from __future__ import annotations

import io
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import Script, ScriptDirectory
from psycopg import sql

from sherlock_pg import __version__
from sherlock_pg.db import schema
from sherlock_pg.errors import UsageError

_HEADER = """\
-- sherlock-pg {version}: the schema sherlock, revision {head}.
--
-- {purpose}
-- Where it is at revision {head} already, functions and views are created again.
--
--     psql -X -q -v ON_ERROR_STOP=1 -d DATABASE -f sherlock.sql
--
-- Run it as the owner of the database, without superuser rights, with psql 14 or newer, on
-- PostgreSQL 15 or newer with pgvector 0.7 or newer. One transaction: either all of it is there
-- afterwards or nothing changed.
--
-- Made by: sherlock-pg db script{option}
"""

_BEGIN = sql.SQL(
    """\
begin isolation level read committed;
set local client_encoding = 'UTF8';
set local standard_conforming_strings = on;
set local client_min_messages = warning;
set local lock_timeout = {lock_timeout};
"""
)

# The lock comes before the look at the revision: a second run waits and finds what the first left.
_GUARD = sql.SQL(
    """\
do $guard$
declare
    c_from constant text := {from_revision};
    c_head constant text := {head};
    c_known constant text[] := {known};
    v_found text;
begin
    if current_setting('server_version_num')::integer < {min_server_version} then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('PostgreSQL %s is too old: 15 or newer is needed',
                             current_setting('server_version')),
            hint = 'run the script on a newer server';
    end if;
    if current_setting('server_encoding') <> 'UTF8' then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('the database''s encoding is %s: UTF8 is needed',
                             current_setting('server_encoding')),
            hint = 'createdb --encoding=UTF8 --template=template0 NAME';
    end if;
    perform pg_advisory_xact_lock(hashtext({lock_name}));
    if to_regclass('sherlock.alembic_version') is not null then
        select version_num into v_found from sherlock.alembic_version;
    end if;
    if v_found is null and c_from is not null then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('there is no sherlock schema in this database: the script upgrades '
                             'one of revision %s', c_from),
            hint = 'is it the right database? to install, run the script that '
                   '"sherlock-pg db script" writes without --from';
    elsif v_found <> all (c_known) then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('the sherlock schema in this database (revision %s) is newer than '
                             'this script (revision %s)', v_found, c_head),
            hint = 'run the script of a newer sherlock-pg';
    elsif v_found not in (c_head, coalesce(c_from, c_head)) then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('the sherlock schema in this database is at revision %s, and this '
                             'script %s', v_found,
                             coalesce('upgrades one of revision ' || c_from,
                                      'installs it in a database without it')),
            hint = format('run the script that "sherlock-pg db script --from %s" writes', v_found);
    end if;
end;
$guard$;
"""
)

_PREPARATION = sql.SQL(
    """\
create schema if not exists sherlock;

do $extensions$
declare
    v_name text;
    v_message text;
    v_version text;
    v_numbers integer[];
begin
    foreach v_name in array {extensions}::text[] loop
        continue when exists (select from pg_extension where extname = v_name);
        begin
            -- Without a schema it would go into the first of the search path, which for a role
            -- named sherlock is our own.
            execute format(
                'create extension if not exists %I %s', v_name,
                case when to_regnamespace('public') is not null then 'schema public' end
            );
        exception
            when insufficient_privilege or feature_not_supported or undefined_file then
                get stacked diagnostics v_message = message_text;
                raise exception using
                    errcode = sqlstate,
                    message = format('the extension %s is missing and could not be created: %s',
                                     v_name, v_message),
                    hint = format('have an administrator run in this database: create extension %s',
                                  v_name);
        end;
    end loop;
    select extversion into strict v_version from pg_extension where extname = 'vector';
    v_numbers := string_to_array(substring(v_version from '^\\d+(?:\\.\\d+)*'), '.');
    if v_numbers < {min_pgvector} then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('pgvector %s is too old: 0.7 or newer is needed', v_version),
            hint = 'install a newer pgvector on the server, then: alter extension vector update';
    end if;
end;
$extensions$;

-- What every function with "set search_path from current" keeps.
do $search_path$
begin
    perform set_config(
        'search_path',
        concat_ws(', ', 'pg_catalog', string_agg(quote_ident(s.nspname), ', ' order by s.nspname),
                  'pg_temp'),
        true
    )
    from (
        select distinct n.nspname
        from pg_extension as e
        join pg_namespace as n on n.oid = e.extnamespace
        where e.extname = any ({extensions}::text[]) and n.nspname <> 'pg_catalog'
    ) as s;
end;
$search_path$;

create table if not exists sherlock.alembic_version (
    version_num varchar(32) not null,
    constraint alembic_version_pkc primary key (version_num)
);
"""
)

_REVISION_BEGIN = sql.SQL(
    """\
do $revision$
begin
    if (select version_num from sherlock.alembic_version) is distinct from {before} then
        return;
    end if;
"""
)

_REVISION_END = sql.SQL(
    """\
delete from sherlock.alembic_version;
insert into sherlock.alembic_version (version_num) values ({revision});
end;
$revision$;
"""
)

_END = """\
do $hashes$
begin
    if not sherlock.hash_self_test() then
        raise exception using
            errcode = 'feature_not_supported',
            message = 'this server''s hash functions give other values than PostgreSQL''s on '
                      'little-endian machines',
            hint = 'use a server on x86-64 or ARM64.';
    end if;
end;
$hashes$;

commit;
"""


def render(from_revision: str | None = None) -> str:
    """Return the script that installs the schema, or that upgrades it.

    Either way it may run again: at the newest revision only the files of `sql/` run.

    Args:
        from_revision: the revision that the database is at; None: there is no schema.

    Raises:
        UsageError: this program knows no such revision.
    """
    scripts = _revisions()
    known = [script.revision for script in scripts]
    if from_revision is not None and from_revision not in known:
        raise UsageError(
            f"unknown revision {from_revision}",
            hint=f"known: {', '.join(known)}; a database's own is in sherlock.alembic_version",
        )
    head = known[-1]
    first = 0 if from_revision is None else known.index(from_revision) + 1
    return "\n".join(
        [
            _header(from_revision, head),
            _text(_BEGIN.format(lock_timeout=sql.Literal(schema.LOCK_TIMEOUT))),
            _guard(from_revision, known),
            _text(
                _PREPARATION.format(
                    extensions=sql.Literal(list(schema.EXTENSIONS)),
                    min_pgvector=sql.SQL("array[{}]").format(
                        sql.SQL(", ").join(sql.Literal(part) for part in schema.MIN_PGVECTOR)
                    ),
                )
            ),
            *(_revision(script) for script in scripts[first:]),
            *(_file(path) for path in schema.sql_files()),
            _END,
        ]
    )


def _revisions() -> list[Script]:
    """Return every revision, the oldest first."""
    directory = ScriptDirectory.from_config(schema.alembic_config())
    return list(directory.walk_revisions())[::-1]


def _header(from_revision: str | None, head: str) -> str:
    if from_revision is None:
        purpose, option = "Installs it in a database that does not have it.", ""
    else:
        purpose, option = f"Upgrades it from revision {from_revision}.", f" --from {from_revision}"
    return _HEADER.format(version=__version__, head=head, purpose=purpose, option=option)


def _guard(from_revision: str | None, known: list[str]) -> str:
    return _text(
        _GUARD.format(
            from_revision=sql.Literal(from_revision),
            head=sql.Literal(known[-1]),
            known=sql.Literal(known),
            min_server_version=sql.Literal(schema.MIN_SERVER_VERSION),
            lock_name=sql.Literal(schema.LOCK_NAME),
        )
    )


def _revision(script: Script) -> str:
    """Return a revision's statements in a block that only runs on the revision before."""
    buffer = io.StringIO()
    # The default style of parameters would double every per cent sign.
    context = MigrationContext.configure(
        dialect_name="postgresql",
        dialect_opts={"paramstyle": "named"},
        opts={"as_sql": True, "output_buffer": buffer},
    )
    with Operations.context(context):
        script.module.upgrade()
    return "\n".join(
        [
            f"-- revision {script.revision}: {script.doc}",
            _text(_REVISION_BEGIN.format(before=sql.Literal(script.down_revision))),
            buffer.getvalue().rstrip("\n"),
            "",
            _text(_REVISION_END.format(revision=sql.Literal(script.revision))),
        ]
    )


def _file(path: Path) -> str:
    return f"-- file {path.parent.name}/{path.name}\n{path.read_text(encoding='utf-8')}"


def _text(part: sql.Composed) -> str:
    return part.as_string(None)
