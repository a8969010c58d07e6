-- Watching a table: its rows are documents from then on, judged in the transaction that writes them.

create or replace function sherlock._watched_relations(p_table regclass)
returns setof oid
language sql stable
begin atomic
    select p_table::oid
    union
    select p.relid::oid from pg_partition_tree(p_table) as p;
end;

-- The trigger function's arguments are stored with a zero byte after each.
create or replace function sherlock._watch_triggers(p_watch_id integer)
returns setof pg_catalog.pg_trigger
language sql stable
begin atomic
    select t.*
    from pg_catalog.pg_trigger as t
    where t.tgfoid = 'sherlock.tg_watched_tables__follow()'::regprocedure
      and t.tgargs = convert_to(p_watch_id::text, 'UTF8') || '\x00'::bytea;
end;

-- Puts the triggers on the table and its partitions where they lack or are off; takes those away that
-- a detached partition still has. Returns whether there was anything to do.
create or replace function sherlock._install_watch_triggers(p_watch sherlock.watches)
returns boolean
language plpgsql volatile
set search_path from current
as $$
declare
    v_trigger record;
    v_is_changed boolean := false;
begin
    for v_trigger in
        select r.relation::regclass, e.event, e.transition
        from sherlock._watched_relations(p_watch.relation) as r (relation)
        cross join (values
            ('insert', 'referencing new table as new_rows'),
            ('update', 'referencing old table as old_rows new table as new_rows'),
            ('delete', 'referencing old table as old_rows'),
            ('truncate', '')
        ) as e (event, transition)
        where not exists (
            select from sherlock._watch_triggers(p_watch.watch_id) as t
            where t.tgrelid = r.relation
              and t.tgname = 'sherlock_watch_' || e.event
              and t.tgenabled in ('O', 'A'))
        order by r.relation, e.event
    loop
        execute format(
            'create or replace trigger %I after %s on %s %s'
            ' for each statement execute function sherlock.tg_watched_tables__follow(%L)',
            'sherlock_watch_' || v_trigger.event, v_trigger.event, v_trigger.relation,
            v_trigger.transition, p_watch.watch_id);
        v_is_changed := true;
    end loop;
    for v_trigger in
        select t.tgname, t.tgrelid::regclass as relation
        from sherlock._watch_triggers(p_watch.watch_id) as t
        where t.tgrelid not in (
            select r.relation from sherlock._watched_relations(p_watch.relation) as r (relation))
    loop
        execute format('drop trigger %I on %s', v_trigger.tgname, v_trigger.relation);
        v_is_changed := true;
    end loop;
    return v_is_changed;
end;
$$;

create or replace function sherlock._watch_collection(
    p_table regclass,
    p_collection text,
    p_profile text,
    p_scheme text
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_name text := coalesce(p_collection, (
        select n.nspname || '.' || c.relname
        from pg_class as c
        join pg_namespace as n on n.oid = c.relnamespace
        where c.oid = p_table));
    v_collection_id integer;
    v_watch_id integer;
    v_found record;
begin
    -- Nothing is left to compare with in a table that was dropped, as by a restore.
    for v_watch_id in
        select w.watch_id
        from sherlock.watches as w
        join sherlock.collections as c using (collection_id)
        where c.name = v_name
          and not exists (select from pg_class as o where o.oid = w.relation)
        order by w.watch_id
    loop
        raise notice 'the watch % of a table that was dropped is ended: % rows are forgotten',
            v_watch_id, sherlock.unwatch_by_id(v_watch_id);
    end loop;
    v_collection_id := sherlock.create_collection(v_name, p_profile, p_scheme);
    select c.profile, s.name as scheme into strict v_found
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = v_collection_id;
    if v_found.profile <> p_profile or coalesce(v_found.scheme <> p_scheme, false) then
        raise exception using
            errcode = 'SH049',
            message = format('the collection %L is there already, with profile %s and scheme %s',
                             v_name, v_found.profile, v_found.scheme),
            hint = format('say p_profile => %L, p_scheme => %L, or another p_collection',
                          v_found.profile, v_found.scheme);
    end if;
    return v_collection_id;
end;
$$;

-- A watched table is given again: the same, columns that have new names, or something else.
create or replace function sherlock._watch_again(
    p_watch sherlock.watches,
    p_key text[],
    p_text text[],
    p_on_duplicate text,
    p_min_class text,
    p_collection text,
    p_doc_type text
)
returns sherlock.watches
language plpgsql volatile
set search_path from current
as $$
declare
    v_is_same_row boolean;
begin
    -- A name that is still there can't have got another one.
    select cardinality(p_key) = cardinality(p_watch.key_columns)
           and cardinality(p_text) = cardinality(p_watch.text_columns)
           and bool_and(c.old_name = c.new_name or a.attname is null)
    into v_is_same_row
    from (
        select k.old_name, k.new_name
        from unnest(p_watch.key_columns, p_key) as k (old_name, new_name)
        union all
        select x.old_name, x.new_name
        from unnest(p_watch.text_columns, p_text) as x (old_name, new_name)
    ) as c
    left join pg_attribute as a
        on a.attrelid = p_watch.relation and a.attname = c.old_name and not a.attisdropped;
    if not v_is_same_row
       or (p_watch.on_duplicate, p_watch.min_class, p_watch.doc_type)
          is distinct from (p_on_duplicate, p_min_class, p_doc_type)
       or (p_collection is not null
           and p_watch.collection_id is distinct from (
               select c.collection_id
               from sherlock.collections as c
               where c.name = p_collection))
    then
        raise exception using
            errcode = 'SH045',
            message = format('%s is watched already, with other options', p_watch.relation),
            detail = format(
                'key %s, text %s, on_duplicate %s, min_class %s, doc_type %s',
                p_watch.key_columns, p_watch.text_columns, p_watch.on_duplicate,
                p_watch.min_class, p_watch.doc_type),
            hint = format(
                'on_duplicate and min_class can be changed at any time: update sherlock.watches set '
                '... where watch_id = %s; for others end the watch first: select sherlock.unwatch(%L)',
                p_watch.watch_id, p_watch.relation);
    end if;
    update sherlock.watches as w
    set key_columns = p_key, text_columns = p_text
    where w.watch_id = p_watch.watch_id
    returning * into p_watch;
    return p_watch;
end;
$$;

create or replace function sherlock.watch(
    p_table regclass,
    p_key text[],
    p_text text[],
    p_on_duplicate text default 'flag',
    p_min_class text default 'HIGH',
    p_profile text default 'text',
    p_collection text default null,
    p_doc_type text default 'default',
    p_scheme text default null
)
returns integer
language plpgsql volatile
set search_path from current
set lock_timeout = '10s'
as $$
declare
    -- As many as one transaction judges in seconds.
    c_max_rows_at_once constant integer := 1000;
    v_watch sherlock.watches;
    v_before sherlock.watches;
    v_is_small boolean;
begin
    perform sherlock._check_watched_relation(p_table);
    perform sherlock._check_watch_options(p_on_duplicate, p_min_class, p_doc_type);
    perform sherlock._check_watch_privileges(p_table);
    perform sherlock._check_follower_privileges(p_table);
    -- Writers that came before have ended then, and those that come later see the triggers.
    execute format('lock table %s in share row exclusive mode', p_table);
    perform sherlock._check_watched_columns(p_table, p_key, p_text);
    perform sherlock._check_watched_key(p_table, p_key);

    select w.* into v_before from sherlock.watches as w where w.relation = p_table;
    if found then
        v_watch := sherlock._watch_again(
            v_before, p_key, p_text, p_on_duplicate, p_min_class, p_collection, p_doc_type);
        if not sherlock._install_watch_triggers(v_watch)
           and v_watch is not distinct from v_before
           and v_watch.is_backfilled
        then
            raise notice '% is watched already; nothing to do', p_table;
            return v_watch.watch_id;
        end if;
        update sherlock.watches as w
        set is_backfilled = false
        where w.watch_id = v_watch.watch_id;
    else
        insert into sherlock.watches (
            relation, collection_id, key_columns, text_columns, doc_type, on_duplicate, min_class)
        values (
            p_table, sherlock._watch_collection(p_table, p_collection, p_profile, p_scheme), p_key,
            p_text, p_doc_type, p_on_duplicate, p_min_class)
        returning * into v_watch;
        perform sherlock._install_watch_triggers(v_watch);
    end if;

    execute format('select count(*) <= $1 from (select from %s limit $1 + 1) as t', p_table)
    into v_is_small
    using c_max_rows_at_once;
    if v_is_small then
        perform sherlock._backfill_rows(
            v_watch.watch_id,
            sherlock._next_row_keys(v_watch.watch_id, null, c_max_rows_at_once), true);
        perform sherlock._finish_backfill(v_watch.watch_id);
    else
        raise notice using
            message = format('%s is watched; about %s rows that are there wait to be judged',
                             p_table, sherlock._estimated_rows(p_table)),
            hint = format('call sherlock.backfill(%L)', p_table);
    end if;
    return v_watch.watch_id;
end;
$$;

create or replace function sherlock.watch(
    p_table regclass,
    p_key text,
    p_text text[],
    p_on_duplicate text default 'flag',
    p_min_class text default 'HIGH',
    p_profile text default 'text',
    p_collection text default null,
    p_doc_type text default 'default',
    p_scheme text default null
)
returns integer
language sql volatile
return sherlock.watch(
    p_table, array[p_key], p_text, p_on_duplicate, p_min_class, p_profile, p_collection,
    p_doc_type, p_scheme);

do $$
declare
    c_comment constant text :=
'Watches a table: each row is judged in the transaction that writes it, against the rows before it, and '
'follows updates, deletes and truncate. Whoever writes to the table needs no rights here. Returns '
'the id of the watch. p_key: column or columns of a unique index, not null. p_text: columns whose '
'values, one paragraph each, are the text; it is not copied. p_on_duplicate: flag reports pairs (sherlock.'
'watched_duplicates, NOTIFY sherlock_duplicate), queue also puts those from p_min_class up into '
'sherlock.review_queue, reject makes the statement fail with SH040, as a unique constraint does. '
'p_profile, p_scheme: as for sherlock.create_collection; p_scheme null: that of the collection, or '
'the profile''s usual one if it is new. p_collection: null makes one named schema.table; tables in one collection are compared '
'with each other; what is left in it of a table that was dropped is forgotten, with a NOTICE. p_doc_type chooses thresholds; '
'auto guesses it from each text. Up to 1000 rows that are there are judged at once, more by call sherlock.'
'backfill; they are flagged or queued, never rejected, and until then new rows are not compared with '
'them. Of a partitioned table the partitions are '
'followed too; call it again, with the same arguments, after one was attached or detached, after '
'triggers were disabled, or with the new names after columns were renamed: it adds what lacks. Waits for '
'writers of the table, ten seconds at most. Errors: SH041 no such table or not one that can be watched, '
'SH042 columns, SH043 the key is not unique or can be null, SH044 rights, SH045 watched with other '
'options, SH048 a key is too long, SH049 unknown option.';
begin
    execute format(
        'comment on function sherlock.watch('
        'regclass, text[], text[], text, text, text, text, text, text) is %L', c_comment);
    execute format(
        'comment on function sherlock.watch('
        'regclass, text, text[], text, text, text, text, text, text) is %L', c_comment);
end;
$$;
