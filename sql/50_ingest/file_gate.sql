-- The gate before OCR: which document has these bytes, and who reads a file that nobody has.
create or replace function sherlock.find_exact(
    p_sha256 bytea,
    p_file_size_bytes bigint,
    p_collection text default 'default'
)
returns table (document_id bigint, name text, status text, doc_type text, created_at timestamptz)
language plpgsql stable
set search_path from current
as $$
begin
    return query
    select d.document_id, d.name, d.status, d.doc_type, d.created_at
    from sherlock.file_hashes as h
    join sherlock.documents as d on d.document_id = h.document_id
    where h.sha256 = p_sha256
      and h.file_size_bytes = p_file_size_bytes
      and h.collection_id = sherlock.collection_id(p_collection);
end;
$$;

comment on function sherlock.find_exact(bytea, bigint, text) is
'The document with exactly these bytes, by SHA-256 and size, or no row. Asked before OCR.';

-- A file of the document is to be read, or its verdict is due.
create or replace function sherlock._has_open_item(p_document_id bigint)
returns boolean
language sql stable parallel safe
return exists (
    select
    from sherlock.inbox as i
    where i.document_id = p_document_id
      and i.gate = 'new'
      and i.state in ('queued', 'leased', 'stored'));

-- Finds the document with these bytes or makes it, pending. A document that is not read is written:
-- it can't be finished, deleted or given up until the caller's transaction has said whether it waits
-- for it, and a transaction that does so with an older snapshot fails with SQLSTATE 40001. Senders of
-- the same bytes take turns, as they do while the document is made.
create or replace function sherlock._pass_gate(
    p_sha256 bytea,
    p_file_size_bytes bigint,
    p_collection_id integer,
    p_name text,
    p_path text
)
returns table (
    document_id bigint,
    is_new boolean,
    status text,
    reason text,
    reason_detail text,
    is_same_source boolean,
    has_open_item boolean
)
language plpgsql volatile
set search_path from current
as $$
#variable_conflict use_column
declare
    -- What fits into an index; of a longer path the end tells more than the beginning.
    v_source_uri text := right(p_path, 650);
    v_inserted bigint;
    v_transaction constant xid := pg_current_xact_id()::xid;
begin
    loop
        document_id := null;
        select h.document_id into document_id
        from sherlock.file_hashes as h
        where h.sha256 = p_sha256
          and h.file_size_bytes = p_file_size_bytes
          and h.collection_id = p_collection_id;
        if document_id is null then
            document_id := nextval(pg_get_serial_sequence('sherlock.documents', 'document_id'));
            -- Waits for another session that inserts the same bytes, then sees its row.
            insert into sherlock.file_hashes (sha256, file_size_bytes, collection_id, document_id)
            values (p_sha256, p_file_size_bytes, p_collection_id, document_id)
            on conflict do nothing
            returning file_hashes.document_id into v_inserted;
            continue when v_inserted is null;
            insert into sherlock.documents (
                document_id, collection_id, name, sha256, file_size_bytes, status)
            values (document_id, p_collection_id, p_name, p_sha256, p_file_size_bytes, 'pending');
            is_new := true;
            status := 'pending';
            has_open_item := false;
        else
            is_new := false;
            select d.status, d.reason, d.reason_detail into status, reason, reason_detail
            from sherlock.documents as d
            where d.document_id = _pass_gate.document_id;
            if status = 'pending'
                or (status = 'failed' and sherlock._has_open_item(document_id))
            then
                update sherlock.documents as d
                set status = d.status
                where d.document_id = _pass_gate.document_id and d.xmin <> v_transaction;
                select d.status, d.reason, d.reason_detail into status, reason, reason_detail
                from sherlock.documents as d
                where d.document_id = _pass_gate.document_id;
            elsif v_source_uri is not null then
                -- The source refers to it.
                select d.status into status
                from sherlock.documents as d
                where d.document_id = _pass_gate.document_id
                for key share;
            end if;
            -- It was deleted in this moment.
            continue when status is null;
            has_open_item := sherlock._has_open_item(document_id);
        end if;
        exit;
    end loop;
    if v_source_uri is null then
        is_same_source := false;
    else
        insert into sherlock.document_sources (document_id, source_uri)
        values (document_id, v_source_uri)
        on conflict do nothing;
        is_same_source := not is_new and not found;
    end if;
    return next;
end;
$$;

create or replace function sherlock.claim_file(
    p_sha256 bytea,
    p_file_size_bytes bigint,
    p_collection text,
    p_name text,
    p_source_uri text,
    p_worker text,
    p_lease interval default '10 minutes',
    p_retry_failed boolean default false,
    p_host text default null
)
returns table (
    document_id bigint,
    outcome text,
    name text,
    status text,
    reason text,
    is_judged boolean,
    is_same_source boolean
)
language plpgsql volatile
set search_path from current
as $$
#variable_conflict use_column
declare
    v_collection_id constant integer := sherlock.collection_id(p_collection);
    v_now constant timestamptz := clock_timestamp();
    v_gate record;
    v_item sherlock.inbox;
begin
    select g.* into v_gate
    from sherlock._pass_gate(
        p_sha256, p_file_size_bytes, v_collection_id, p_name, p_source_uri) as g;

    -- What waits in the queue, or was a reader's that died, is taken over; not what somebody else
    -- takes or finishes in this moment.
    if v_gate.status = 'pending' or (v_gate.status in ('failed', 'partial') and p_retry_failed) then
        update sherlock.inbox as i
        set state = 'leased', leased_by = p_worker, leased_until = v_now + p_lease,
            started_at = v_now, attempts = i.attempts + 1,
            path = case when i.owner is null then i.path else p_source_uri end,
            host = case when i.owner is null then i.host else p_host end,
            owner = case when i.owner is not null then p_worker end
        where i.item_id = (
            select o.item_id
            from sherlock.inbox as o
            where o.document_id = v_gate.document_id
              and o.gate = 'new'
              and (o.state = 'queued' or (o.state = 'leased' and o.leased_until < v_now))
            for update skip locked)
        returning i.* into v_item;
        if v_item.item_id is null then
            insert into sherlock.inbox (
                collection_id, name, path, host, sha256, file_size_bytes, state, gate, attempts,
                leased_by, leased_until, document_id, owner, started_at, is_reread)
            values (
                v_collection_id, p_name, p_source_uri, p_host, p_sha256, p_file_size_bytes,
                'leased', 'new', 1, p_worker, v_now + p_lease, v_gate.document_id, p_worker,
                v_now, v_gate.status <> 'pending')
            on conflict (document_id)
                where state in ('queued', 'leased', 'stored') and gate = 'new'
                do nothing
            returning inbox.* into v_item;
        end if;
    elsif v_gate.status in ('ok', 'partial') and not v_gate.is_same_source then
        -- A copy arrived: it counts as one that the gate has answered.
        insert into sherlock.inbox (
            collection_id, name, path, host, sha256, file_size_bytes, state, gate, document_id,
            owner, finished_at)
        values (
            v_collection_id, p_name, p_source_uri, p_host, p_sha256, p_file_size_bytes, 'done',
            'hit', v_gate.document_id, p_worker, v_now);
    end if;

    return query
    select d.document_id,
           case
               when v_item.item_id is not null then 'claimed'
               when d.status = 'pending' or v_gate.has_open_item and d.status = 'failed' then 'busy'
               else 'exists'
           end,
           d.name,
           case when v_item.item_id is not null then 'pending' else d.status end,
           d.reason,
           exists (select from sherlock.detections as v where v.document_id = d.document_id),
           v_gate.is_same_source or v_gate.is_new
    from sherlock.documents as d
    where d.document_id = v_gate.document_id;
end;
$$;

comment on function sherlock.claim_file(
    bytea, bigint, text, text, text, text, interval, boolean, text
) is
'The gate with a claim, for who has the file and reads it himself. outcome claimed: the file is new, '
'waits in the queue, or its reader''s lease lapsed, and the caller reads it now. exists: the document '
'is there, see its status; is_judged: it has a verdict; is_same_source: it was seen at p_source_uri '
'before. busy: another is reading it now. Two callers with the same bytes never both get claimed. '
'Run it in a transaction of its own.';

create or replace function sherlock.renew_claims(p_worker text, p_lease interval)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_count integer;
begin
    update sherlock.inbox as i
    set leased_until = clock_timestamp() + p_lease
    where i.state in ('leased', 'stored') and i.leased_by = p_worker;
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;

comment on function sherlock.renew_claims(text, interval) is
'Prolongs all leases of a reader; returns how many. Called while a long OCR runs.';

create or replace function sherlock.release_claims(p_worker text)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_removed integer;
begin
    delete from sherlock.inbox as i
    where i.state = 'leased'
      and i.leased_by = p_worker
      and i.owner = p_worker
      -- Nobody takes an attachment out of its container again once that is read.
      and not exists (
          select
          from sherlock.documents as d
          where d.document_id = i.parent_document_id and d.status in ('ok', 'partial'));
    get diagnostics v_removed = row_count;
    return v_removed + sherlock.return_items(p_worker);
end;
$$;

comment on function sherlock.release_claims(text) is
'Gives back the files that a reader claimed and did not finish: new ones as if never seen; those '
'that others had sent, and attachments of what is read, go back into the queue. Returns how many.';
