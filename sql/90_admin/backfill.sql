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

-- The next rows in the order of the key. They are locked, so that none changes or goes between being
-- read and being known: the triggers of other sessions see it when they go on.
create or replace function sherlock._backfill_batch(
    p_watch_id integer,
    p_after jsonb,
    p_limit integer,
    out row_count integer,
    out last_row_key jsonb
)
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
    v_row record;
    v_key record;
    v_rows refcursor;
begin
    select w.* into v_watch from sherlock.watches as w where w.watch_id = p_watch_id;
    v_row := sherlock._watched_row_sql(v_watch, v_watch.relation);
    v_key := sherlock._watched_key_sql(v_watch, '$1');
    open v_rows for execute format(
        'select r.row_key, r.content'
        ' from %s'
        ' cross join lateral ('
        '     select %s as row_key, %s as content'
        '     from %s as t'
        '     where %s'
        '     order by %s'
        '     limit $2'
        '     for share of t) as r',
        v_key.values_sql, v_row.key_sql, v_row.text_sql, v_watch.relation,
        case when p_after is null then 'true'
             else format('(%s) > (%s)', v_key.columns_sql, v_key.names_sql) end,
        v_key.columns_sql)
    using p_after, p_limit;
    select k.row_count, k.last_row_key into row_count, last_row_key
    from sherlock._keep_watched_rows(v_watch, v_rows) as k;
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

-- No search_path of its own, because a procedure with one cannot commit: all names are qualified.
create or replace procedure sherlock.backfill(p_table regclass, p_batch_size integer default 500)
language plpgsql
as $$
declare
    c_max_attempts constant integer := 5;
    v_watch_id integer := (sherlock._watch_of(p_table)).watch_id;
    v_total bigint := sherlock._estimated_rows(p_table);
    v_started timestamptz := clock_timestamp();
    v_after jsonb;
    v_batch record;
    v_done bigint := 0;
    v_attempt integer := 1;
    v_is_done boolean;
begin
    if p_batch_size is null or p_batch_size not between 1 and 100000 then
        raise exception using
            errcode = 'SH049',
            message = format('p_batch_size is %s', coalesce(p_batch_size::text, 'null')),
            hint = 'rows of one transaction, from 1 to 100000';
    end if;
    loop
        v_is_done := false;
        begin
            select b.* into v_batch
            from sherlock._backfill_batch(v_watch_id, v_after, p_batch_size) as b;
            v_is_done := true;
        exception when deadlock_detected or serialization_failure then
            if v_attempt = c_max_attempts then
                raise;
            end if;
        end;
        commit;
        v_attempt := case when v_is_done then 1 else v_attempt + 1 end;
        continue when not v_is_done;
        exit when v_batch.row_count = 0;
        v_after := v_batch.last_row_key;
        v_done := v_done + v_batch.row_count;
        raise notice using message = format(
            '%s: %s', p_table,
            sherlock._progress(v_done, v_total, clock_timestamp() - v_started));
    end loop;
    perform sherlock._finish_backfill(v_watch_id);
    commit;
    raise notice using message = format('%s: all %s rows are judged', p_table, v_done);
end;
$$;

comment on procedure sherlock.backfill(regclass, integer) is
'Judges the rows that a watched table had before the watch, in the order of its key, p_batch_size to a '
'transaction (1 to 100000), with a NOTICE of the progress after each; call it outside of a transaction '
'block. Others go on writing meanwhile: who changes or deletes a row of the portion in work waits for its '
'end. Interrupted, call it again: rows that are known and unchanged are only read. It also finds '
'rows that changed or went without a trigger, as when a partition is dropped. Errors: SH044 rights, SH046 not watched, SH047 a '
'column is gone, SH048 a key is too long, SH049 batch size.';
