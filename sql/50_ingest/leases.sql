-- Who reads what: leases, the attempts that failed, and what becomes of the dead.

-- Items whose readers died over them as often as they are tried.
create or replace function sherlock._bury_lost_items()
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    -- Constant, so that the index is used.
    v_now constant timestamptz := clock_timestamp();
    v_item sherlock.inbox;
begin
    for v_item in
        select i.*
        from sherlock.inbox as i
        where i.state = 'leased'
          and i.leased_until < v_now
          and i.attempts >= i.max_attempts
        for update skip locked
    loop
        perform sherlock._bury(
            v_item, 'worker_lost',
            format('its reader ended %s times without an answer', v_item.attempts));
    end loop;
end;
$$;

create or replace function sherlock._bury(
    p_item sherlock.inbox,
    p_reason text,
    p_reason_detail text
)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    update sherlock.documents as d
    set status = 'failed', reason = p_reason, reason_detail = p_reason_detail
    where d.document_id = p_item.document_id and d.status in ('pending', 'failed');
    perform sherlock._close_item(p_item.item_id, 'dead', p_reason, p_reason_detail);
end;
$$;

create or replace function sherlock.lease_items(
    p_worker text,
    p_limit integer default 1,
    p_lease interval default '2 minutes',
    p_host text default null,
    p_only_loaders boolean default false
)
returns setof sherlock.inbox
language plpgsql volatile
set search_path from current
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_found integer := 0;
    v_item sherlock.inbox;
begin
    perform sherlock._bury_lost_items();
    while v_found < p_limit loop
        -- Leases that lapsed have waited longest.
        select i.* into v_item
        from sherlock.inbox as i
        where i.state in ('leased', 'stored')
          and i.leased_until < v_now
          and (i.state = 'stored' or i.path is null or i.host is null or p_host is null
               or i.host = p_host)
          and (i.owner is not null or not p_only_loaders)
        order by i.leased_until, i.item_id
        limit 1
        for update skip locked;
        if v_item.item_id is null then
            select i.* into v_item
            from sherlock.inbox as i
            where i.state = 'queued'
              and i.gate is distinct from 'hit'
              and i.run_after <= v_now
              and (i.path is null or i.host is null or p_host is null or i.host = p_host)
              and (i.owner is not null or not p_only_loaders)
            order by i.priority desc, i.item_id
            limit 1
            for update skip locked;
        end if;
        exit when v_item.item_id is null;
        continue when v_item.gate is null
            and v_item.sha256 is not null
            and not sherlock._admit_item(v_item.item_id);
        update sherlock.inbox as i
        set state = case i.state when 'stored' then 'stored' else 'leased' end,
            leased_by = p_worker,
            leased_until = v_now + p_lease,
            attempts = i.attempts + case i.state when 'stored' then 0 else 1 end,
            started_at = case i.state when 'stored' then i.started_at else v_now end
        where i.item_id = v_item.item_id
        returning i.* into v_item;
        return next v_item;
        v_found := v_found + 1;
    end loop;
end;
$$;

comment on function sherlock.lease_items(text, integer, interval, text, boolean) is
'Gives a worker the next items to read, at most p_limit: lapsed leases first, then by priority and '
'arrival; items with a path only where p_host can read it. State leased: to be read; stored: read '
'before, only the verdict is due. Two workers never get the same item while its lease lasts. Items '
'whose workers died max_attempts times are given up (reason worker_lost). p_only_loaders: only what a '
'loader that was interrupted or killed left.';

-- The item, if the worker still has it.
create or replace function sherlock._held_item(p_item_id bigint, p_worker text)
returns sherlock.inbox
language plpgsql volatile
set search_path from current
as $$
declare
    v_item sherlock.inbox;
begin
    select i.* into v_item
    from sherlock.inbox as i
    where i.item_id = p_item_id and i.state in ('leased', 'stored') and i.leased_by = p_worker
    for update;
    if not found then
        raise exception using
            errcode = 'SH003',
            message = format('item %s is not leased by %s', p_item_id, p_worker),
            hint = 'the lease lapsed and another worker took the file; nothing is lost';
    end if;
    return v_item;
end;
$$;

create or replace function sherlock.identify_item(
    p_item_id bigint,
    p_worker text,
    p_sha256 bytea,
    p_file_size_bytes bigint
)
returns bigint
language plpgsql volatile
set search_path from current
as $$
declare
    v_item sherlock.inbox := sherlock._held_item(p_item_id, p_worker);
    v_document_id bigint;
begin
    if v_item.gate = 'new'
        and v_item.sha256 = p_sha256
        and v_item.file_size_bytes = p_file_size_bytes
    then
        return v_item.document_id;
    end if;
    update sherlock.inbox as i
    set sha256 = p_sha256, file_size_bytes = p_file_size_bytes, document_id = null, gate = null,
        is_reread = false
    where i.item_id = v_item.item_id;
    -- The file holds other bytes than at an earlier attempt.
    perform sherlock._release_waiting(array[v_item.document_id]);
    if sherlock._admit_item(p_item_id) then
        select i.document_id into v_document_id
        from sherlock.inbox as i
        where i.item_id = p_item_id;
    end if;
    return v_document_id;
end;
$$;

comment on function sherlock.identify_item(bigint, text, bytea, bigint) is
'What a worker says once it has hashed a file that came as a path: returns the document to read it '
'into, or null if the bytes are known and there is nothing to read. Of a file that changed since an '
'earlier attempt only the new bytes are read. Error: SH003 the lease was lost.';

create or replace function sherlock.retry_item(
    p_item_id bigint,
    p_worker text,
    p_reason text,
    p_reason_detail text default null,
    p_is_counted boolean default true
)
returns boolean
language plpgsql volatile
set search_path from current
as $$
declare
    c_first_pause constant interval := '10 seconds';
    c_pause_of_others constant interval := '1 minute';
    c_longest_pause constant interval := '1 hour';
    v_item sherlock.inbox := sherlock._held_item(p_item_id, p_worker);
begin
    if v_item.attempts >= v_item.max_attempts and p_is_counted then
        return false;
    end if;
    update sherlock.inbox as i
    set state = 'queued', leased_by = null, leased_until = null, reason = p_reason,
        reason_detail = p_reason_detail,
        attempts = i.attempts - case when p_is_counted then 0 else 1 end,
        run_after = clock_timestamp() + case
            when p_is_counted
                then least(c_longest_pause, c_first_pause * power(4, least(i.attempts, 10) - 1))
            else c_pause_of_others
        end
    where i.item_id = p_item_id;
    return true;
end;
$$;

comment on function sherlock.retry_item(bigint, text, text, text, boolean) is
'Puts an item back after an attempt that failed for a reason that may pass: it is tried again after '
'10 s, 40 s, 160 s and so on, an hour at most. False: it was tried max_attempts times, give it up. '
'p_is_counted false: the worker lacks something, the file was not tried; others have it in a minute. '
'Error: SH003 the lease was lost.';

create or replace function sherlock.bury_item(
    p_item_id bigint,
    p_worker text,
    p_reason text,
    p_reason_detail text default null
)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    perform sherlock._bury(
        sherlock._held_item(p_item_id, p_worker), p_reason, p_reason_detail);
end;
$$;

comment on function sherlock.bury_item(bigint, text, text, text) is
'Gives an item up: state dead, with the reason; a document that was never read is failed. Error: '
'SH003 the lease was lost.';

create or replace function sherlock.return_items(
    p_worker text,
    p_item_ids bigint[] default null
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_waiting integer;
    v_returned integer;
begin
    with returned as (
        update sherlock.inbox as i
        set state = case i.state when 'leased' then 'queued' else i.state end,
            attempts = i.attempts - case i.state when 'leased' then 1 else 0 end,
            leased_by = null,
            leased_until = case i.state when 'stored' then clock_timestamp() end
        where i.state in ('leased', 'stored')
          and i.leased_by = p_worker
          and (p_item_ids is null or i.item_id = any(p_item_ids))
        returning i.state
    )
    select count(*), count(*) filter (where r.state = 'queued') into v_waiting, v_returned
    from returned as r;
    if v_waiting > 0 then
        perform pg_notify('sherlock_inbox', '');
    end if;
    return v_returned;
end;
$$;

comment on function sherlock.return_items(text, bigint[]) is
'Gives back what a worker leased and did not finish, all of it or these items, as when it is stopped: '
'others take it at once, and the attempt does not count. Returns how many are to be read again.';

create or replace function sherlock.expire_leases(p_worker text)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_count integer;
begin
    update sherlock.inbox as i
    set leased_until = 'epoch'
    where i.state in ('leased', 'stored') and i.leased_by = p_worker;
    get diagnostics v_count = row_count;
    if v_count > 0 then
        perform pg_notify('sherlock_inbox', '');
    end if;
    return v_count;
end;
$$;

comment on function sherlock.expire_leases(text) is
'Says that a worker is dead: others read what it had leased at once. Its attempts count, since it may '
'have died of the file. Returns how many leases it had.';
