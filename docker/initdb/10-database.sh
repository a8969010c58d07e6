#!/bin/sh
# Runs once, as the superuser, when the volume is empty: an owner without special rights, its
# database, and the extension that only a superuser may create.
set -eu

psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
\getenv password SHERLOCK_PASSWORD
create role sherlock_app login password :'password';
create database sherlock owner sherlock_app;
\connect sherlock
create extension vector;
create extension pg_trgm;
SQL
