-- The queue: files are sent to it, leased, and end done or dead.
create or replace function sherlock.enqueue(
    p_content bytea,
    p_name text,
    p_collection text default 'default',
    p_doc_type text default 'auto',
    p_priority integer default 0
)
returns sherlock.inbox
language plpgsql volatile
set search_path from current
as $$
declare
    v_item sherlock.inbox;
begin
    insert into sherlock.inbox (content, name, collection_id, doc_type, priority)
    values (p_content, p_name, sherlock.collection_id(p_collection), p_doc_type, p_priority)
    returning * into v_item;
    return v_item;
end;
$$;

comment on function sherlock.enqueue(bytea, text, text, text, integer) is
'Sends a file to be read by a worker; the same as an insert into sherlock.inbox. Of bytes that are '
'known the answer is there at once: state done, gate hit, document_id. Higher p_priority is read '
'first. Errors: SH002 no such collection, SH053 no bytes.';

-- A worker has the file of a document: what it says is the worker's to change.
create or replace function sherlock._is_leased(p_document_id bigint)
returns boolean
language sql stable parallel safe
return exists (
    select
    from sherlock.inbox as i
    where i.document_id = p_document_id and i.gate = 'new' and i.state = 'leased');

-- The end of an item, and of the copies that waited for it.
create or replace function sherlock._close_item(
    p_item_id bigint,
    p_state text,
    p_reason text default null,
    p_reason_detail text default null
)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_id bigint;
    v_item_id bigint;
begin
    update sherlock.inbox as i
    set state = p_state, leased_by = null, leased_until = null, finished_at = clock_timestamp(),
        reason = p_reason, reason_detail = p_reason_detail
    where i.item_id = p_item_id
    returning i.document_id into v_document_id;
    perform pg_notify('sherlock_inbox_done', p_item_id::text);
    for v_item_id in
        update sherlock.inbox as i
        set state = p_state, finished_at = clock_timestamp(), reason = p_reason,
            reason_detail = p_reason_detail
        where i.document_id = v_document_id and i.state = 'queued' and i.gate = 'hit'
        returning i.item_id
    loop
        perform pg_notify('sherlock_inbox_done', v_item_id::text);
    end loop;
end;
$$;

-- Documents whose open items are gone: one that was never read goes too, and copies that waited for
-- it are read in its place; copies that waited for one that is known end as that is.
create or replace function sherlock._release_waiting(p_document_ids bigint[])
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_document sherlock.documents;
    v_item_id bigint;
begin
    for v_document in
        select d.*
        from sherlock.documents as d
        where d.document_id = any(p_document_ids)
          and not sherlock._has_open_item(d.document_id)
        order by d.document_id
    loop
        if v_document.status = 'pending' then
            delete from sherlock.documents as d where d.document_id = v_document.document_id;
            continue;
        end if;
        if v_document.status = 'failed' then
            -- Written, not only locked: copies that pass the gate in this moment are waited for,
            -- and a transaction with an older snapshot fails with SQLSTATE 40001.
            update sherlock.documents as d
            set status = d.status
            where d.document_id = v_document.document_id;
        end if;
        for v_item_id in
            update sherlock.inbox as i
            set state = case v_document.status when 'failed' then 'dead' else 'done' end,
                finished_at = clock_timestamp(),
                reason = case v_document.status when 'failed' then v_document.reason end,
                reason_detail = case v_document.status
                    when 'failed' then v_document.reason_detail
                end
            where i.document_id = v_document.document_id
              and i.state = 'queued'
              and i.gate = 'hit'
            returning i.item_id
        loop
            perform pg_notify('sherlock_inbox_done', v_item_id::text);
        end loop;
    end loop;
end;
$$;

-- The verdict is there: items that waited for nothing else are done.
create or replace function sherlock._complete_items(p_document_ids bigint[])
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    perform sherlock._close_item(i.item_id, 'done')
    from sherlock.inbox as i
    where i.document_id = any(p_document_ids) and i.gate = 'new' and i.state = 'stored';
end;
$$;

-- What waits for an item is waited for no longer than it would be read itself: the item takes its
-- priority, and where its bytes came along any machine can read them. One that is being leased or
-- withdrawn in this moment is left as it is.
create or replace function sherlock._hasten_item(
    p_document_id bigint,
    p_priority integer,
    p_has_bytes boolean
)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    update sherlock.inbox as i
    set priority = greatest(i.priority, p_priority),
        path = case when not p_has_bytes then i.path end,
        host = case when not p_has_bytes then i.host end
    where i.item_id = (
        select o.item_id
        from sherlock.inbox as o
        where o.document_id = p_document_id
          and o.gate = 'new'
          and o.state = 'queued'
          and (o.priority < p_priority or (p_has_bytes and o.path is not null))
        for no key update skip locked);
end;
$$;

-- Decides what becomes of an item whose bytes are known now: true if it is to be read.
create or replace function sherlock._admit_item(p_item_id bigint)
returns boolean
language plpgsql volatile
set search_path from current
as $$
declare
    v_gate record;
begin
    select g.* into v_gate
    from sherlock.inbox as i
    cross join lateral sherlock._pass_gate(
        i.sha256, i.file_size_bytes, i.collection_id, i.name, i.path) as g
    where i.item_id = p_item_id;
    update sherlock.inbox as i
    set document_id = v_gate.document_id,
        gate = case
            when v_gate.is_new or (v_gate.status = 'pending' and not v_gate.has_open_item) then 'new'
            else 'hit'
        end
    where i.item_id = p_item_id;
    if v_gate.is_new or (v_gate.status = 'pending' and not v_gate.has_open_item) then
        return true;
    end if;
    if v_gate.status in ('pending', 'failed') and v_gate.has_open_item then
        update sherlock.inbox as i
        set state = 'queued', leased_by = null, leased_until = null
        where i.item_id = p_item_id;
        perform sherlock._hasten_item(v_gate.document_id, i.priority, i.path is null)
        from sherlock.inbox as i
        where i.item_id = p_item_id;
    else
        perform sherlock._close_item(
            p_item_id, case v_gate.status when 'failed' then 'dead' else 'done' end,
            case v_gate.status when 'failed' then v_gate.reason end,
            case v_gate.status when 'failed' then v_gate.reason_detail end);
    end if;
    return false;
end;
$$;

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
    p_reason_detail text default null
)
returns boolean
language plpgsql volatile
set search_path from current
as $$
declare
    c_first_pause constant interval := '10 seconds';
    c_longest_pause constant interval := '1 hour';
    v_item sherlock.inbox := sherlock._held_item(p_item_id, p_worker);
begin
    if v_item.attempts >= v_item.max_attempts then
        return false;
    end if;
    update sherlock.inbox as i
    set state = 'queued', leased_by = null, leased_until = null, reason = p_reason,
        reason_detail = p_reason_detail,
        run_after = clock_timestamp()
            + least(c_longest_pause, c_first_pause * power(4, least(i.attempts, 10) - 1))
    where i.item_id = p_item_id;
    return true;
end;
$$;

comment on function sherlock.retry_item(bigint, text, text, text) is
'Puts an item back after an attempt that failed for a reason that may pass: it is tried again after '
'10 s, 40 s, 160 s and so on, an hour at most. False: it was tried max_attempts times, give it up. '
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

create or replace function sherlock.attach_file(
    p_document_id bigint,
    p_ordinal integer,
    p_name text,
    p_content bytea,
    p_depth integer,
    p_worker text default null,
    p_lease interval default '2 minutes'
)
returns sherlock.inbox
language plpgsql volatile
set search_path from current
as $$
declare
    v_item sherlock.inbox;
begin
    insert into sherlock.inbox (
        content, name, collection_id, parent_document_id, depth, owner, priority, ocr)
    select p_content, p_name, d.collection_id, p_document_id, p_depth, p_worker,
           coalesce(i.priority, 0), i.ocr
    from sherlock.documents as d
    left join sherlock.inbox as i
        on i.document_id = d.document_id
        and i.gate = 'new'
        and i.state in ('queued', 'leased', 'stored')
    where d.document_id = p_document_id
    returning * into v_item;
    if not found then
        raise exception using
            errcode = 'SH001',
            message = format('there is no document %s', coalesce(p_document_id::text, 'null')),
            hint = 'it was deleted while it was read: nothing of it is kept';
    end if;
    if p_worker is not null and v_item.gate = 'new' then
        update sherlock.inbox as i
        set state = 'leased', leased_by = p_worker, leased_until = clock_timestamp() + p_lease,
            started_at = clock_timestamp(), attempts = 1
        where i.item_id = v_item.item_id
        returning i.* into v_item;
    end if;
    insert into sherlock.document_attachments (document_id, ordinal, attached_document_id, name)
    values (p_document_id, p_ordinal, v_item.document_id, p_name)
    on conflict (document_id, ordinal) do update set
        attached_document_id = excluded.attached_document_id, name = excluded.name;
    return v_item;
end;
$$;

comment on function sherlock.attach_file(
    bigint, integer, text, bytea, integer, text, interval
) is
'Takes in a file that was inside another (a message, an archive) as a document of its own, and '
'links the two; priority and OCR choice are those of the container. p_depth: in how many containers '
'it is. p_worker: leased to him at once, if the bytes are new; null: queued for whoever comes. Returns '
'the item. Errors: SH001 no such document, SH053 no bytes.';

create or replace function sherlock.reread(
    p_document_id bigint,
    p_ocr text default null,
    p_priority integer default 0
)
returns bigint
language plpgsql volatile
set search_path from current
as $$
declare
    v_document sherlock.documents;
    v_source record;
    v_item_id bigint;
begin
    -- Two that ask for it take turns; who deletes it waits.
    update sherlock.documents as d
    set status = d.status
    where d.document_id = p_document_id
    returning d.* into v_document;
    if not found then
        raise exception using
            errcode = 'SH001',
            message = format('there is no document %s', coalesce(p_document_id::text, 'null')),
            hint = 'documents are listed by: select document_id, name from sherlock.documents';
    end if;
    update sherlock.inbox as i
    set ocr = coalesce(p_ocr, i.ocr), priority = greatest(i.priority, p_priority)
    where i.document_id = p_document_id and i.gate = 'new' and i.state = 'queued'
    returning i.item_id into v_item_id;
    if v_item_id is not null then
        return v_item_id;
    end if;

    if v_document.sha256 is not null then
        -- Its bytes are not dropped before the item is there.
        perform 1
        from sherlock.file_contents as f
        where f.sha256 = v_document.sha256 and f.file_size_bytes = v_document.file_size_bytes
        for key share;
        if found then
            select null::text as path, null::text as host into v_source;
        else
            select k.path, k.host into v_source
            from (
                select 1 as rank, i.item_id as latest, i.path, i.host
                from sherlock.inbox as i
                where i.document_id = p_document_id and i.path is not null
                union all
                select 2, extract(epoch from s.seen_at) * 1000000, s.source_uri, null
                from sherlock.document_sources as s
                where s.document_id = p_document_id
            ) as k
            order by k.rank, k.latest desc, k.path
            limit 1;
        end if;
    end if;
    if v_document.sha256 is null or not found then
        raise exception using
            errcode = 'SH054',
            message = format('document %s has no file to read again', p_document_id),
            hint = 'it was inserted as a text, or its bytes were dropped: load the file again';
    end if;
    insert into sherlock.inbox (
        collection_id, doc_type, name, path, host, sha256, file_size_bytes, priority, ocr,
        is_reread, gate, document_id)
    values (
        v_document.collection_id, v_document.doc_type, v_document.name, v_source.path,
        v_source.host, v_document.sha256, v_document.file_size_bytes, p_priority, p_ocr, true,
        'new', p_document_id)
    on conflict (document_id) where state in ('queued', 'leased', 'stored') and gate = 'new'
        do nothing
    returning item_id into v_item_id;
    if v_item_id is null then
        select i.item_id into v_item_id
        from sherlock.inbox as i
        where i.document_id = p_document_id and i.gate = 'new'
          and i.state in ('queued', 'leased', 'stored');
    end if;
    return v_item_id;
end;
$$;

comment on function sherlock.reread(bigint, text, integer) is
'Queues a known document to be read again, with another OCR choice perhaps (never, auto, force); what '
'it says now stays until the new reading is stored. Returns the item; one that is queued already is '
'not queued twice, it takes the OCR choice and the higher priority. Errors: SH001 no such document, '
'SH054 neither its bytes nor a path are known.';

create or replace function sherlock.retry_dead(
    p_reason text default null,
    p_collection text default null,
    p_item_ids bigint[] default null
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection_id integer := case
        when p_collection is not null then sherlock.collection_id(p_collection)
    end;
    v_item_ids bigint[];
    v_count integer;
begin
    select array_agg(i.item_id) into v_item_ids
    from sherlock.inbox as i
    where i.state = 'dead'
      and (p_reason is null or i.reason = p_reason)
      and (v_collection_id is null or i.collection_id = v_collection_id)
      and (p_item_ids is null or i.item_id = any(p_item_ids));
    -- Others that queue one of these documents again are waited for, before it is seen whether an
    -- item of it is open.
    with asked as materialized (
        select d.document_id
        from sherlock.documents as d
        where d.document_id in (
            select i.document_id from sherlock.inbox as i where i.item_id = any(v_item_ids))
        order by d.document_id
        for no key update
    )
    update sherlock.documents as d
    set status = d.status
    from asked as a
    where d.document_id = a.document_id;
    -- One item for each document: the last that tried.
    with chosen as (
        select distinct on (coalesce(i.document_id, -i.item_id)) i.item_id, i.document_id
        from sherlock.inbox as i
        where i.item_id = any(v_item_ids)
          and i.state = 'dead'
          and not sherlock._has_open_item(i.document_id)
          -- Read meanwhile, as another item or by a loader.
          and not exists (
              select
              from sherlock.documents as d
              where d.document_id = i.document_id
                and d.status in ('ok', 'partial')
                and d.indexed_at > i.finished_at)
        order by coalesce(i.document_id, -i.item_id), i.gate <> 'new', i.item_id desc
    ),
    queued as (
        update sherlock.inbox as i
        set state = 'queued', attempts = 0, run_after = clock_timestamp(), finished_at = null,
            gate = case when i.document_id is not null then 'new' end,
            is_reread = i.document_id is not null
        from chosen as c
        where i.item_id = c.item_id and i.state = 'dead'
        returning i.item_id
    )
    select count(*) into v_count from queued;
    if v_count > 0 then
        perform pg_notify('sherlock_inbox', '');
    end if;
    return v_count;
end;
$$;

comment on function sherlock.retry_dead(text, text, bigint[]) is
'Queues dead items again, all attempts anew: those with a reason, of a collection, or these. Returns '
'how many; of several dead items of one document only one is tried, none of a document that was read '
'meanwhile. Error: SH002 no such collection.';

create or replace function sherlock.drop_file_contents(p_older_than interval)
returns bigint
language plpgsql volatile
set search_path from current
as $$
declare
    v_sha256s bytea[];
    v_sizes bigint[];
    v_count bigint;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception using
            errcode = 'SH057',
            message = 'with this isolation level files that are being sent can''t be seen',
            hint = 'run it in a transaction of its own: begin isolation level read committed';
    end if;
    -- Bytes that somebody sends in this moment are left alone; once the others are locked, items
    -- that count on them are visible.
    with old as materialized (
        select f.sha256, f.file_size_bytes
        from sherlock.file_contents as f
        where f.created_at < clock_timestamp() - p_older_than
        for update skip locked
    )
    select array_agg(o.sha256), array_agg(o.file_size_bytes) into v_sha256s, v_sizes from old as o;
    delete from sherlock.file_contents as f
    using unnest(v_sha256s, v_sizes) as o (sha256, file_size_bytes)
    where f.sha256 = o.sha256
      and f.file_size_bytes = o.file_size_bytes
      and not exists (
          select
          from sherlock.inbox as i
          where i.sha256 = f.sha256
            and i.file_size_bytes = f.file_size_bytes
            and i.state in ('queued', 'leased'));
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;

comment on function sherlock.drop_file_contents(interval) is
'Drops the bytes of files that arrived longer ago and wait for nothing; texts and verdicts stay, but '
'these files can''t be read again from the database. Returns how many. Error: SH057 isolation level '
'other than read committed.';
