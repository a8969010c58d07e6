-- A deleted document leaves nothing behind. Tables that reference documents follow by cascade; band
-- keys, vectors and the gate have no foreign key and are cleared here, while the signature that
-- tells the keys is still there.
create or replace function sherlock.tg_documents__forget()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
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
    -- Who sent a file that is not read yet still counts on it.
    update sherlock.inbox as i
    set document_id = null,
        is_reread = false,
        gate = case when i.state in ('queued', 'leased') then null else i.gate end,
        state = case when i.state = 'stored' then 'done' else i.state end,
        finished_at = case
            when i.state = 'stored' then clock_timestamp() else i.finished_at
        end
    where i.document_id = old.document_id;
    return old;
end;
$$;

comment on function sherlock.tg_documents__forget() is
'Before a document is deleted: its verdict is closed; its band keys, vectors and file hash go too. Files '
'with its bytes that are not read yet are read as new ones.';

create or replace trigger _100_forget
before delete on sherlock.documents
for each row execute function sherlock.tg_documents__forget();
