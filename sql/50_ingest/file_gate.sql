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

create or replace function sherlock.claim_file(
    p_sha256 bytea,
    p_file_size_bytes bigint,
    p_collection text,
    p_name text,
    p_source_uri text,
    p_worker text,
    p_lease interval default '10 minutes',
    p_retry_failed boolean default false
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
    -- What fits into an index; of a longer path the end tells more than the beginning.
    v_source_uri text := right(p_source_uri, 650);
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_document_id bigint;
    v_inserted bigint;
    v_claimed bigint;
    v_is_same_source boolean;
begin
    loop
        select h.document_id into v_document_id
        from sherlock.file_hashes as h
        where h.sha256 = p_sha256
          and h.file_size_bytes = p_file_size_bytes
          and h.collection_id = v_collection_id;
        exit when found;
        v_document_id := nextval(pg_get_serial_sequence('sherlock.documents', 'document_id'));
        -- Waits for another session that inserts the same bytes, then sees its row.
        insert into sherlock.file_hashes (sha256, file_size_bytes, collection_id, document_id)
        values (p_sha256, p_file_size_bytes, v_collection_id, v_document_id)
        on conflict do nothing
        returning file_hashes.document_id into v_inserted;
        continue when v_inserted is null;
        insert into sherlock.documents (
            document_id, collection_id, name, sha256, file_size_bytes, status, claimed_by,
            claimed_until)
        values (
            v_document_id, v_collection_id, p_name, p_sha256, p_file_size_bytes, 'pending',
            p_worker, clock_timestamp() + p_lease);
        insert into sherlock.document_sources (document_id, source_uri)
        values (v_document_id, v_source_uri);
        return query
        select v_document_id, 'claimed'::text, p_name, 'pending'::text, null::text, false, true;
        return;
    end loop;

    insert into sherlock.document_sources (document_id, source_uri)
    values (v_document_id, v_source_uri)
    on conflict do nothing;
    v_is_same_source := not found;
    -- Take over from a reader that died, or read again what failed where that was asked for. Text
    -- and reason stay until the new reading is stored: release_claims goes back to them.
    update sherlock.documents as d
    set status = 'pending', claimed_by = p_worker, claimed_until = clock_timestamp() + p_lease
    where d.document_id = v_document_id
      and ((d.status = 'pending' and d.claimed_until < clock_timestamp())
           or (d.status in ('failed', 'partial') and p_retry_failed))
    returning d.document_id into v_claimed;
    return query
    select d.document_id,
           case
               when v_claimed is not null then 'claimed'
               when d.status = 'pending' then 'busy'
               else 'exists'
           end,
           d.name, d.status, d.reason,
           exists (select from sherlock.detections as v where v.document_id = v_document_id),
           v_is_same_source
    from sherlock.documents as d
    where d.document_id = v_document_id;
end;
$$;

comment on function sherlock.claim_file(
    bytea, bigint, text, text, text, text, interval, boolean
) is
'The gate with a claim. outcome claimed: the file is new (or its reader''s claim lapsed) and the '
'caller reads it. exists: the document is there, see its status; is_judged: it has a verdict; is_same_source: it '
'was seen at p_source_uri before. busy: another is reading it now. '
'Two callers with the same bytes never both get claimed. Run it in a transaction of its own.';

create or replace function sherlock.renew_claims(p_worker text, p_lease interval)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_count integer;
begin
    update sherlock.documents as d
    set claimed_until = clock_timestamp() + p_lease
    where d.status = 'pending' and d.claimed_by = p_worker;
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;

comment on function sherlock.renew_claims(text, interval) is
'Prolongs all claims of a reader; returns how many. Called while a long OCR runs.';

create or replace function sherlock.release_claims(p_worker text)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_restored integer;
    v_removed integer;
begin
    update sherlock.documents as d
    set status = case when d.content is null then 'failed' else 'partial' end,
        claimed_by = null, claimed_until = null
    where d.status = 'pending' and d.claimed_by = p_worker
      and (d.content is not null or d.reason is not null);
    get diagnostics v_restored = row_count;
    delete from sherlock.documents as d
    where d.status = 'pending' and d.claimed_by = p_worker;
    get diagnostics v_removed = row_count;
    return v_restored + v_removed;
end;
$$;

comment on function sherlock.release_claims(text) is
'Gives back the files that a reader claimed and did not finish: new ones as if never seen, those '
'that were read again as they were before; returns how many.';
