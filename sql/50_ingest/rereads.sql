-- Files that come by other ways than being sent: from inside others, and those that are read again.
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
