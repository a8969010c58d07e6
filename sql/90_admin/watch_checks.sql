-- What a table must be like to be watched; each check says what to do instead.

create or replace function sherlock._check_watch_options(
    p_on_duplicate text,
    p_min_class text,
    p_doc_type text
)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if p_on_duplicate is null or p_on_duplicate not in ('flag', 'queue', 'reject') then
        raise exception using
            errcode = 'SH049',
            message = format('unknown p_on_duplicate: %s', coalesce(p_on_duplicate, 'null')),
            hint = 'flag reports duplicates, queue also puts them before a person, reject refuses them';
    end if;
    if p_min_class is null or p_min_class not in ('EXACT', 'HIGH', 'MEDIUM', 'LOW') then
        raise exception using
            errcode = 'SH049',
            message = format('unknown p_min_class: %s', coalesce(p_min_class, 'null')),
            hint = 'EXACT, HIGH, MEDIUM or LOW: the class from which p_on_duplicate acts';
    end if;
    if coalesce(p_doc_type, '') = '' then
        raise exception using
            errcode = 'SH049',
            message = 'p_doc_type is missing',
            hint = 'default, auto to guess it from each text, or a type that has thresholds';
    end if;
end;
$$;

create or replace function sherlock._check_watched_relation(p_table regclass)
returns void
language plpgsql stable
set search_path from current
as $$
declare
    v_class pg_class;
    v_problem text;
    v_hint text := 'watch the table that the rows are written to';
begin
    select c.* into v_class from pg_class as c where c.oid = p_table;
    if not found then
        raise exception using
            errcode = 'SH041',
            message = format('there is no table %s', coalesce(p_table::text, 'null')),
            hint = 'tables are listed by \dt';
    end if;
    if v_class.relnamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
       or v_class.relnamespace = 'sherlock'::regnamespace
       or v_class.oid < 16384
    then
        v_problem := 'belongs to the system or to sherlock';
        v_hint := 'texts in sherlock.documents are judged without a watch';
    elsif v_class.relpersistence = 't' then
        v_problem := 'is temporary';
    elsif v_class.relkind not in ('r', 'p') then
        v_problem := case v_class.relkind
            when 'v' then 'is a view'
            when 'm' then 'is a materialized view'
            when 'f' then 'is a foreign table'
            else 'is no table'
        end;
    elsif v_class.relispartition then
        v_problem := 'is a partition';
        v_hint := format(
            'watch the whole table: select sherlock.watch(%L, ...)',
            (select a.relation
             from pg_partition_ancestors(p_table) with ordinality as a (relation, level)
             order by a.level desc
             limit 1)::text);
    elsif exists (
        select from pg_inherits as i
        where i.inhrelid = p_table or i.inhparent = p_table and v_class.relkind = 'r')
    then
        v_problem := 'inherits or is inherited from';
        v_hint := 'only declarative partitions are followed: a table that is written through its '
                  'parent fires no trigger of its own';
    elsif exists (
        select
        from pg_partition_tree(p_table) as p
        join pg_class as c on c.oid = p.relid
        where c.relkind = 'f')
    then
        v_problem := 'has a partition that is a foreign table';
        v_hint := 'triggers can''t see the rows of a foreign table';
    end if;
    if v_problem is not null then
        raise exception using
            errcode = 'SH041',
            message = format('%s %s and can''t be watched', p_table, v_problem),
            hint = v_hint;
    end if;
end;
$$;

create or replace function sherlock._is_watchable_text(p_type pg_catalog.pg_type)
returns boolean
language sql stable parallel safe
return p_type.typcategory = 'S'
    or p_type.oid in ('json'::regtype, 'jsonb'::regtype, 'xml'::regtype);

create or replace function sherlock._is_watchable_key(p_type pg_catalog.pg_type)
returns boolean
language sql stable parallel safe
return p_type.typnamespace = 'pg_catalog'::regnamespace
    or p_type.typtype = 'e'
    or p_type.typcategory = 'S';

create or replace function sherlock._check_watched_columns(
    p_table regclass,
    p_key text[],
    p_text text[]
)
returns void
language plpgsql stable
set search_path from current
as $$
declare
    v_problem text;
    v_hint text;
begin
    if coalesce(cardinality(p_key), 0) = 0 or coalesce(cardinality(p_text), 0) = 0 then
        raise exception using
            errcode = 'SH042',
            message = 'a watch needs one column or more of the key and of the text',
            hint = 'select sherlock.watch(''table'', p_key => ''id'', p_text => array[''body''])';
    end if;
    select c.problem, c.hint into v_problem, v_hint
    from (
        select case
                   when a.attname is null then format('%s has no column %s', p_table,
                                                      coalesce(quote_ident(c.name), 'null'))
                   when c.is_repeated then format('the column %I is named twice', c.name)
                   -- Only types whose text is not made by somebody's function.
                   when not c.is_key and not sherlock._is_watchable_text(t)
                   then format('the column %I is of type %s, which is no text', c.name,
                               format_type(a.atttypid, a.atttypmod))
                   when c.is_key and not sherlock._is_watchable_key(t)
                   then format('the column %I is of type %s, which can''t be part of a watched key',
                               c.name, format_type(a.atttypid, a.atttypmod))
               end as problem,
               case
                   when a.attname is null and c.is_key and c.name ~ '^\s*\{.*\}\s*$'
                   then format('a key of more columns is an array: p_key => array[%s]', (
                       select string_agg(quote_literal(btrim(x.name, ' "')), ', '
                                         order by x.position)
                       from unnest(string_to_array(btrim(c.name, ' {}'), ','))
                           with ordinality as x (name, position)))
                   when c.is_key
                   then format(
                       'columns that can be part of a key: %s; names are taken as they are written '
                       'in the catalogue, without quotes; the types are those that are built in, '
                       'enumerations and texts', coalesce((
                           select string_agg(quote_ident(k.attname), ', ' order by k.attnum)
                           from pg_attribute as k
                           join pg_type as u on u.oid = sherlock._base_type(k.atttypid)
                           where k.attrelid = p_table
                             and k.attnum > 0
                             and not k.attisdropped
                             and sherlock._is_watchable_key(u)), 'none'))
                   else format(
                       'columns of text: %s; names are taken as they are written in the catalogue, '
                       'without quotes', coalesce((
                           select string_agg(quote_ident(k.attname), ', ' order by k.attnum)
                           from pg_attribute as k
                           join pg_type as u on u.oid = sherlock._base_type(k.atttypid)
                           where k.attrelid = p_table
                             and k.attnum > 0
                             and not k.attisdropped
                             and sherlock._is_watchable_text(u)), 'none'))
               end as hint
        from (
            select true as is_key, k.name, k.position,
                   count(*) over (partition by k.name) > 1 as is_repeated
            from unnest(p_key) with ordinality as k (name, position)
            union all
            select false, x.name, x.position, count(*) over (partition by x.name) > 1
            from unnest(p_text) with ordinality as x (name, position)
        ) as c
        left join pg_attribute as a
            on a.attrelid = p_table and a.attname = c.name and a.attnum > 0 and not a.attisdropped
        left join pg_type as t on t.oid = sherlock._base_type(a.atttypid)
    ) as c
    order by c.problem nulls last
    limit 1;
    if v_problem is not null then
        raise exception using errcode = 'SH042', message = v_problem, hint = v_hint;
    end if;
end;
$$;

create or replace function sherlock._check_watched_key(p_table regclass, p_key text[])
returns void
language plpgsql stable
set search_path from current
as $$
declare
    v_key_list text := (select string_agg(quote_ident(k.name), ', ' order by k.position)
                        from unnest(p_key) with ordinality as k (name, position));
    v_nullable text;
begin
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into v_nullable
    from pg_attribute as a
    where a.attrelid = p_table and a.attname = any(p_key) and a.attnum > 0 and not a.attnotnull;
    if v_nullable is not null then
        raise exception using
            errcode = 'SH043',
            message = format('%s can be null in %s', v_nullable, p_table),
            hint = format('a row is found by its key: alter table %s alter column %s set not null',
                          p_table, split_part(v_nullable, ', ', 1));
    end if;
    if not exists (
        select
        from pg_index as i
        where i.indrelid = p_table
          and i.indisunique
          and i.indisvalid
          and i.indimmediate
          and i.indpred is null
          and i.indexprs is null
          and i.indnkeyatts = cardinality(p_key)
          and not exists (
              select
              from unnest(i.indkey::smallint[]) with ordinality as c (attnum, position)
              join pg_attribute as a on a.attrelid = p_table and a.attnum = c.attnum
              where c.position <= i.indnkeyatts and a.attname <> all(p_key))
    ) then
        raise exception using
            errcode = 'SH043',
            message = format('(%s) is not a unique key of %s', v_key_list, p_table),
            hint = format(
                'name the columns of the primary key, or make one: create unique index on %s (%s); '
                'partial and deferrable ones don''t count', p_table, v_key_list);
    end if;
end;
$$;

-- Who changes watches needs what the triggers need that sherlock.watch puts on the table.
create or replace function sherlock._check_schema_privileges()
returns void
language plpgsql stable
set search_path from current
as $$
begin
    if not has_function_privilege('sherlock.tg_watched_tables__follow()', 'execute')
       or not has_table_privilege('sherlock.documents', 'insert')
       or not has_table_privilege('sherlock.watches', 'select')
       or not has_table_privilege('sherlock.watches', 'update')
    then
        raise exception using
            errcode = 'SH044',
            message = format('%s has no rights on the schema sherlock', current_user),
            hint = format(
                'have its owner run: grant execute on function sherlock.tg_watched_tables__follow() to '
                '%1$I; grant usage on all sequences in schema sherlock to %1$I; grant select, insert, '
                'update, delete on all tables in schema sherlock to %1$I', current_user);
    end if;
end;
$$;

create or replace function sherlock._check_watch_privileges(p_table regclass)
returns void
language plpgsql stable
set search_path from current
as $$
declare
    v_table_owner oid := (select c.relowner from pg_class as c where c.oid = p_table);
begin
    if not pg_has_role(current_user, v_table_owner, 'USAGE') then
        raise exception using
            errcode = 'SH044',
            message = format('only its owner can watch %s, backfill it or end its watch', p_table),
            hint = format('do it as %s', v_table_owner::regrole);
    end if;
    perform sherlock._check_schema_privileges();
end;
$$;

-- The triggers run as the owner of the schema sherlock, who must see all rows of the table.
create or replace function sherlock._check_follower_privileges(p_table regclass)
returns void
language plpgsql stable
set search_path from current
as $$
declare
    v_class pg_class;
    v_follower pg_roles;
begin
    select c.* into v_class from pg_class as c where c.oid = p_table;
    select r.* into v_follower
    from pg_proc as p
    join pg_roles as r on r.oid = p.proowner
    where p.oid = 'sherlock.tg_watched_tables__follow()'::regprocedure;
    if not (has_schema_privilege(v_follower.oid, v_class.relnamespace, 'usage')
            and has_table_privilege(v_follower.oid, p_table, 'select'))
    then
        raise exception using
            errcode = 'SH044',
            message = format('%s, who owns the schema sherlock, can''t read %s',
                             quote_ident(v_follower.rolname), p_table),
            hint = format('the text stays there and is read again where it is needed: grant usage on '
                          'schema %1$s to %2$I; grant select on %3$s to %2$I',
                          v_class.relnamespace::regnamespace, v_follower.rolname, p_table);
    end if;
    if v_class.relrowsecurity
       and not (v_follower.rolsuper or v_follower.rolbypassrls)
       and not (pg_has_role(v_follower.oid, v_class.relowner, 'USAGE')
                and not v_class.relforcerowsecurity)
    then
        raise exception using
            errcode = 'SH044',
            message = format('%s, who owns the schema sherlock, does not see all rows of %s',
                             quote_ident(v_follower.rolname), p_table),
            hint = format('row level security is enabled there: alter role %I bypassrls',
                          v_follower.rolname);
    end if;
end;
$$;
