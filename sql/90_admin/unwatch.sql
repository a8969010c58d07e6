-- The end of a watch.
create or replace function sherlock.unwatch_by_id(p_watch_id integer)
returns bigint
language plpgsql volatile
set search_path from current
set lock_timeout = '10s'
as $$
declare
    v_watch sherlock.watches;
    v_trigger record;
    v_count bigint;
begin
    perform sherlock._check_schema_privileges();
    select w.* into v_watch
    from sherlock.watches as w
    where w.watch_id = p_watch_id
    for update;
    if not found then
        raise exception using
            errcode = 'SH046',
            message = format('there is no watch %s', coalesce(p_watch_id::text, 'null')),
            hint = 'watched tables are listed by: select * from sherlock.watched';
    end if;
    if exists (select from pg_class as c where c.oid = v_watch.relation) then
        perform sherlock._check_watch_privileges(v_watch.relation);
    end if;
    for v_trigger in
        select t.tgname, t.tgrelid::regclass as relation
        from sherlock._watch_triggers(p_watch_id) as t
        order by t.tgrelid, t.tgname
    loop
        execute format('drop trigger %I on %s', v_trigger.tgname, v_trigger.relation);
    end loop;
    delete from sherlock.documents as d
    using sherlock.watched_rows as r
    where r.watch_id = p_watch_id and d.document_id = r.document_id;
    get diagnostics v_count = row_count;
    delete from sherlock.watches as w where w.watch_id = p_watch_id;
    return v_count;
end;
$$;

comment on function sherlock.unwatch_by_id(integer) is
'Ends a watch, also one whose table was dropped (its id is in sherlock.watched): its triggers and the '
'documents of its rows go, what they matched is closed as deleted; the rows themselves and the '
'collection stay. Returns how many rows were known. Errors: SH044 rights, SH046 no such watch.';

create or replace function sherlock.unwatch(p_table regclass)
returns bigint
language plpgsql volatile
set search_path from current
as $$
begin
    perform sherlock._check_watch_privileges(p_table);
    return sherlock.unwatch_by_id((sherlock._watch_of(p_table)).watch_id);
end;
$$;

comment on function sherlock.unwatch(regclass) is
'Ends the watch of a table, as sherlock.unwatch_by_id does. Errors: SH044 rights, SH046 not watched.';
