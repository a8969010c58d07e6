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
