-- The rows that a watched table had before, in transactions of a portion each.

create or replace function sherlock._watch_of(p_table regclass)
returns sherlock.watches
language plpgsql stable
set search_path from current
as $$
declare
    v_watch sherlock.watches;
begin
    select w.* into v_watch from sherlock.watches as w where w.relation = p_table;
    if not found then
        raise exception using
            errcode = 'SH046',
            message = format('%s is not watched', coalesce(p_table::text, 'null')),
            hint = 'watched tables are listed by: select * from sherlock.watched';
    end if;
    return v_watch;
end;
$$;

create or replace function sherlock._estimated_rows(p_table regclass)
returns bigint
language plpgsql stable
set search_path from current
as $$
declare
    v_count bigint;
begin
    select sum(c.reltuples) filter (where c.relkind = 'r') into v_count
    from sherlock._watched_relations(p_table) as r (relation)
    join pg_class as c on c.oid = r.relation
    -- Of a table that was never analyzed nothing is known.
    having bool_and(c.reltuples >= 0 or c.relkind <> 'r');
    if v_count is null then
        execute format('select count(*) from %s', p_table) into v_count;
    end if;
    return v_count;
end;
$$;

-- The next keys in their order.
create or replace function sherlock._next_row_keys(
    p_watch_id integer,
    p_after jsonb,
    p_limit integer
)
returns jsonb[]
language plpgsql stable
set search_path from current
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO'
set intervalstyle = 'postgres'
set bytea_output = 'hex'
set extra_float_digits = 1
set lc_monetary = 'C'
as $$
declare
    v_watch sherlock.watches;
    v_key record;
    v_row_keys jsonb[];
begin
    select w.* into v_watch from sherlock.watches as w where w.watch_id = p_watch_id;
    v_key := sherlock._watched_key_sql(v_watch, '$1');
    execute format(
        'select array('
        '    select r.row_key'
        '    from %s'
        '    cross join lateral (select %s as row_key from %s as t where %s order by %s limit $2) as r)',
        v_key.values_sql, (sherlock._watched_row_sql(v_watch, v_watch.relation)).key_sql,
        v_watch.relation,
        case when p_after is null then 'true'
             else format('(%s) > (%s)', v_key.columns_sql, v_key.names_sql) end,
        v_key.columns_sql)
    into v_row_keys
    using p_after, p_limit;
    return v_row_keys;
end;
$$;

-- Judges the rows with these keys, in the order given, and returns the keys that it left out, because
-- somebody else has locked their rows; keys without a row are done. The rows are locked, so that none
-- changes or goes between being read and being known: the triggers of other sessions see it when they
-- go on. With p_waits it waits for locked rows: give one row then, because who
-- waits while he holds others can make a deadlock.
create or replace function sherlock._backfill_rows(
    p_watch_id integer,
    p_row_keys jsonb[],
    p_waits boolean
)
returns jsonb[]
language plpgsql volatile
set search_path from current
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO'
set intervalstyle = 'postgres'
set bytea_output = 'hex'
set extra_float_digits = 1
set lc_monetary = 'C'
as $$
declare
    v_watch sherlock.watches;
    v_key record;
    v_row record;
    v_from_sql text;
    v_row_keys jsonb[];
    v_left_keys jsonb[];
    v_rows refcursor;
begin
    select w.* into v_watch from sherlock.watches as w where w.watch_id = p_watch_id;
    v_key := sherlock._watched_key_sql(v_watch, 'k.row_key');
    v_row := sherlock._watched_row_sql(v_watch, v_watch.relation);
    v_from_sql := format(
        'from unnest($1) with ordinality as k (row_key, position)'
        ' cross join lateral %s'
        ' join %s as t on (%s) = (%s)',
        v_key.values_sql, v_watch.relation, v_key.columns_sql, v_key.names_sql);
    execute format(
        'select array(select k.row_key %s order by k.position for share of t %s)', v_from_sql,
        case when p_waits then '' else 'skip locked' end)
    into v_row_keys
    using p_row_keys;
    -- With the next snapshot: as the rows are that are locked now.
    open v_rows for execute format(
        'select k.row_key, %s as content %s order by k.position', v_row.text_sql, v_from_sql)
    using v_row_keys;
    perform sherlock._keep_watched_rows(v_watch, v_rows);
    if cardinality(v_row_keys) = cardinality(p_row_keys) then
        return '{}';
    end if;
    -- Rows that are not there have been deleted, or moved by a trigger that knows it.
    execute format(
        'select array(select k.row_key %s where k.row_key <> all($2) order by k.position)', v_from_sql)
    into v_left_keys
    using p_row_keys, v_row_keys;
    return v_left_keys;
end;
$$;

create or replace function sherlock._finish_backfill(p_watch_id integer)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_watch sherlock.watches;
begin
    update sherlock.watches as w
    set is_backfilled = true
    where w.watch_id = p_watch_id
    returning * into v_watch;
    perform sherlock._forget_gone_rows(v_watch);
end;
$$;

create or replace function sherlock._progress(
    p_done bigint,
    p_total bigint,
    p_elapsed interval
)
returns text
language sql immutable parallel safe
return format(
    '%s of about %s rows, %s rows/s, %s left',
    p_done, greatest(p_total, p_done), round(p_done / greatest(extract(epoch from p_elapsed), 0.001)),
    date_trunc('second', p_elapsed * (greatest(p_total - p_done, 0)::double precision
                                      / greatest(p_done, 1))));

-- No search_path of its own, because a procedure with one cannot commit: all names are qualified. A turn
-- of the loop is one transaction: the rows in the order of the key; then, over and over, those that were
-- locked; the first of them alone, waiting for it, when a round got none.
create or replace procedure sherlock.backfill(p_table regclass, p_batch_size integer default 500)
language plpgsql
as $$
declare
    c_max_attempts constant integer := 5;
    v_watch_id integer;
    v_collection text;
    v_total bigint;
    v_started timestamptz := clock_timestamp();
    v_is_first_round boolean := true;
    v_after jsonb;
    v_row_keys jsonb[];
    v_left_keys jsonb[];
    v_queue jsonb[];
    v_locked_keys jsonb[] := '{}';
    v_round_size integer;
    v_waits boolean := false;
    v_done bigint := 0;
    v_judged_count bigint;
    v_attempt integer := 1;
    v_is_done boolean;
begin
    perform sherlock._check_watch_privileges(p_table);
    v_watch_id := (sherlock._watch_of(p_table)).watch_id;
    if p_batch_size is null or p_batch_size not between 1 and 100000 then
        raise exception using
            errcode = 'SH049',
            message = format('p_batch_size is %s', coalesce(p_batch_size::text, 'null')),
            hint = 'rows of one transaction, from 1 to 100000';
    end if;
    call sherlock._refuse_transaction_block('sherlock.backfill()');
    v_total := sherlock._estimated_rows(p_table);
    select c.name into v_collection
    from sherlock.watches as w
    join sherlock.collections as c using (collection_id)
    where w.watch_id = v_watch_id;
    commit;
    -- Rows that others change meanwhile are taken as they are then.
    set transaction isolation level read committed;
    loop
        if v_is_first_round then
            v_row_keys := sherlock._next_row_keys(v_watch_id, v_after, p_batch_size);
            if v_row_keys = '{}' then
                v_is_first_round := false;
                v_queue := '{}';
                v_round_size := 0;
            end if;
        end if;
        if not v_is_first_round then
            if v_queue = '{}' then
                exit when v_locked_keys = '{}';
                v_waits := cardinality(v_locked_keys) = v_round_size;
                v_queue := v_locked_keys;
                v_round_size := cardinality(v_queue);
                v_locked_keys := '{}';
            end if;
            v_row_keys := v_queue[:case when v_waits then 1 else p_batch_size end];
        end if;
        v_is_done := false;
        begin
            v_left_keys := sherlock._backfill_rows(v_watch_id, v_row_keys, v_waits);
            v_is_done := true;
        exception when deadlock_detected or serialization_failure then
            if v_attempt = c_max_attempts then
                raise;
            end if;
        end;
        commit and chain;
        v_attempt := case when v_is_done then 1 else v_attempt + 1 end;
        continue when not v_is_done;
        v_waits := false;
        v_locked_keys := v_locked_keys || v_left_keys;
        v_done := v_done + cardinality(v_row_keys) - cardinality(v_left_keys);
        if v_is_first_round then
            v_after := v_row_keys[cardinality(v_row_keys)];
        else
            v_queue := v_queue[cardinality(v_row_keys) + 1:];
        end if;
        raise notice using message = format(
            '%s: %s%s', p_table,
            sherlock._progress(v_done, v_total, clock_timestamp() - v_started),
            case when v_locked_keys <> '{}'
                 then format(', %s locked by others', cardinality(v_locked_keys)) end);
    end loop;
    perform sherlock._finish_backfill(v_watch_id);
    commit and chain;
    -- Deletions leave documents without a verdict where they had too many matches.
    loop
        v_judged_count := sherlock.judge_missing(v_collection, p_batch_size);
        commit and chain;
        exit when v_judged_count = 0;
        raise notice using message = format(
            '%s: %s documents of its collection that had no verdict are judged', p_table,
            v_judged_count);
    end loop;
    raise notice using message = format('%s: all %s rows are judged', p_table, v_done);
end;
$$;

comment on procedure sherlock.backfill(regclass, integer) is
'Judges the rows that a watched table had before the watch, in the order of its key, p_batch_size to a '
'transaction (1 to 100000), with a NOTICE of the progress after each; call it outside of a transaction '
'block. Others go on writing meanwhile: who changes or deletes a row of the portion in work waits for its '
'end. Rows that somebody has locked are taken last; it waits for one of them at a time, holding no other. '
'Interrupted, call it again: rows that are known and unchanged are only read. It also finds '
'rows that changed or went without a trigger, as when a partition is dropped, and judges what has no '
'verdict in the collection, as after many deletions. Errors: SH044 rights, SH046 not watched, SH047 a '
'column is gone, SH048 a key is too long, SH049 batch size; 2D000 in a transaction block.';
