-- A deleted document leaves nothing behind. Tables that reference documents follow by cascade; band
-- keys, vectors and the gate have no foreign key and are cleared here, while the signature that
-- tells the keys is still there.
create or replace function sherlock.tg_documents__forget()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_item record;
    v_item_id bigint;
    v_are_queued boolean := false;
begin
    -- Who judges against it now is waited for; what he found is closed after the statement.
    perform sherlock._lock_for_judging(array[old.document_id]);
    perform sherlock._close_verdict(old.document_id, 'deleted');
    perform sherlock._forget_features(array[old.document_id]);
    delete from sherlock.file_hashes as h
    where h.sha256 = old.sha256
      and h.file_size_bytes = old.file_size_bytes
      and h.collection_id = old.collection_id
      and h.document_id = old.document_id;
    delete from sherlock.document_attachments as a
    where a.attached_document_id = old.document_id;
    -- What it says was to be read again: no more.
    if old.status in ('ok', 'partial') then
        for v_item_id in
            delete from sherlock.inbox as i
            where i.document_id = old.document_id and i.is_reread and i.state in ('queued', 'leased')
            returning i.item_id
        loop
            perform pg_notify('sherlock_inbox_done', v_item_id::text);
        end loop;
    end if;
    -- Who sent a file that is not read yet still counts on it.
    for v_item in
        with before as materialized (
            select i.item_id, i.state
            from sherlock.inbox as i
            where i.document_id = old.document_id
            for update
        )
        update sherlock.inbox as i
        set document_id = null,
            is_reread = false,
            gate = case when i.state in ('queued', 'leased') then null else i.gate end,
            state = case i.state
                when 'leased' then 'queued' when 'stored' then 'done' else i.state
            end,
            attempts = case when i.state in ('queued', 'leased') then 0 else i.attempts end,
            run_after = case
                when i.state in ('queued', 'leased') then clock_timestamp() else i.run_after
            end,
            leased_by = null,
            leased_until = null,
            finished_at = case
                when i.state = 'stored' then clock_timestamp() else i.finished_at
            end
        from before as b
        where i.item_id = b.item_id
        returning i.item_id, i.state, b.state as state_before
    loop
        v_are_queued := v_are_queued or v_item.state = 'queued';
        if v_item.state_before = 'stored' then
            perform pg_notify('sherlock_inbox_done', v_item.item_id::text);
        end if;
    end loop;
    if v_are_queued then
        perform pg_notify('sherlock_inbox', '');
    end if;
    return old;
end;
$$;

comment on function sherlock.tg_documents__forget() is
'Before a document is deleted: its verdict is closed; its band keys, vectors and file hash go too. Files '
'with its bytes that are not read yet are read as new ones; to read it again is called off.';

create or replace trigger _100_forget
before delete on sherlock.documents
for each row execute function sherlock.tg_documents__forget();
