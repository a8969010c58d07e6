-- The manual in the database: what there is to call and to read, with its comment. Lines are broken
-- for a terminal.
create or replace view sherlock.manual as
select o.name, o.kind, replace(o.arguments, ', ', E',\n') as arguments,
       replace(o.result, ', ', E',\n') as result,
       rtrim(regexp_replace(o.description, '(.{1,80})(?: +|$)', E'\\1\n', 'g'), E'\n')
           as description
from (
    select p.proname::text as name,
           case
               when p.prorettype = 'pg_catalog.trigger'::regtype then 'trigger function'
               when p.prokind = 'p' then 'procedure'
               when p.prokind = 'a' then 'aggregate'
               else 'function'
           end as kind,
           pg_catalog.pg_get_function_arguments(p.oid) as arguments,
           pg_catalog.pg_get_function_result(p.oid) as result,
           pg_catalog.obj_description(p.oid, 'pg_proc') as description
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'sherlock'::regnamespace
    union all
    select c.relname::text,
           case c.relkind when 'v' then 'view' else 'table' end,
           null,
           (
               select string_agg(a.attname, ', ' order by a.attnum)
               from pg_catalog.pg_attribute as a
               where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           ),
           pg_catalog.obj_description(c.oid, 'pg_class')
    from pg_catalog.pg_class as c
    where c.relnamespace = 'sherlock'::regnamespace
      and c.relkind in ('r', 'p', 'v')
      and not c.relispartition
      and c.relname <> 'alembic_version'
) as o
where o.name not like '\_%'
order by array_position(
             array['procedure', 'function', 'aggregate', 'view', 'table', 'trigger function'], o.kind),
         o.name, o.arguments;

comment on view sherlock.manual is
'All that is public in the schema, as in: select name, arguments, description from sherlock.manual '
'where name like ''watch%''. Procedures first, then functions, aggregates, views, tables and trigger '
'functions, each by name.';
comment on column sherlock.manual.name is
'Its name, in schema sherlock. Functions of one name differ in their arguments.';
comment on column sherlock.manual.kind is
'procedure (called by: call), function, aggregate, view, table, trigger function.';
comment on column sherlock.manual.arguments is
'Names, types and defaults of the arguments, one a line; null for views and tables.';
comment on column sherlock.manual.result is
'What a function returns; the columns of a view or table, which \d+ explains; null for procedures.';
comment on column sherlock.manual.description is
'What it does, what it takes and gives, and its errors: the comment, in lines of 80 characters.';
