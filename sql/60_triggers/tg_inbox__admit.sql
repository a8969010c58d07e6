-- A file that arrives passes the gate at once: who inserts it learns by returning whether its bytes
-- are known. The bytes go where each is kept once.
create or replace function sherlock.tg_inbox__admit()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_gate record;
    v_has_bytes boolean;
begin
    v_has_bytes := new.content is not null;
    if v_has_bytes then
        new.sha256 := sha256(new.content);
        new.file_size_bytes := octet_length(new.content);
        loop
            insert into sherlock.file_contents (sha256, file_size_bytes, content)
            values (new.sha256, new.file_size_bytes, new.content)
            on conflict do nothing;
            exit when found;
            -- They are not dropped before the item is there; or were in this moment.
            perform 1
            from sherlock.file_contents as f
            where f.sha256 = new.sha256 and f.file_size_bytes = new.file_size_bytes
            for key share;
            exit when found;
        end loop;
        new.content := null;
        new.host := null;
    elsif coalesce(new.path, '') = '' then
        raise exception using
            errcode = 'SH053',
            message = 'a file needs its bytes or a path',
            hint = 'insert into sherlock.inbox (name, content) values (''a.pdf'', $1), or (path, host)';
    end if;
    new.name := coalesce(new.name, split_part(new.path, '/', -1));
    new.state := 'queued';
    new.gate := null;
    new.attempts := 0;
    new.is_reread := false;
    new.leased_by := null;
    new.leased_until := null;
    new.document_id := null;
    new.reason := null;
    new.reason_detail := null;
    new.started_at := null;
    new.stored_at := null;
    new.finished_at := null;
    -- With one of the two a check refuses it.
    if new.sha256 is null or new.file_size_bytes is null then
        return new;
    end if;
    select g.* into v_gate
    from sherlock._pass_gate(
        new.sha256, new.file_size_bytes, new.collection_id, new.name, new.path) as g;
    new.document_id := v_gate.document_id;
    if v_gate.is_new or (v_gate.status = 'pending' and not v_gate.has_open_item) then
        new.gate := 'new';
        return new;
    end if;
    new.gate := 'hit';
    if v_gate.status in ('ok', 'partial') then
        new.state := 'done';
        new.finished_at := clock_timestamp();
    elsif not v_gate.has_open_item then
        new.state := 'dead';
        new.reason := v_gate.reason;
        new.reason_detail := v_gate.reason_detail;
        new.finished_at := clock_timestamp();
    else
        perform sherlock._hasten_item(v_gate.document_id, new.priority, v_has_bytes);
    end if;
    return new;
end;
$$;

comment on function sherlock.tg_inbox__admit() is
'Before a file is queued: its bytes are hashed and kept once, and the gate says whether they are '
'known. Error: SH053 neither bytes nor a path.';

-- The functions of the queue, which know the document, place their items themselves: nobody else may
-- update the inbox.
create or replace trigger _100_admit
before insert on sherlock.inbox
for each row
when (
    new.document_id is null
    or new.content is not null
    or not has_table_privilege('sherlock.inbox'::regclass, 'update'))
execute function sherlock.tg_inbox__admit();

-- Workers read what they may read, not what the sender may: a path comes from who may change the
-- queue. The others send bytes, and what the queue knows of an item is not theirs to say.
create or replace function sherlock.tg_inbox__distrust()
returns trigger
language plpgsql
set search_path from current
as $$
begin
    if new.content is null and new.path is not null then
        raise exception using
            errcode = 'SH069',
            message = 'only who may update sherlock.inbox may send a path',
            detail = 'workers would read the file with their own rights',
            hint = 'send the bytes: insert into sherlock.inbox (name, content) values (''a.pdf'', $1)';
    end if;
    new.owner := null;
    new.max_attempts := 3;
    new.depth := 0;
    new.parent_document_id := null;
    return new;
end;
$$;

comment on function sherlock.tg_inbox__distrust() is
'Before a role that may insert but not update sends a file: it sends bytes and no more. Error: SH069 '
'a path without bytes.';

create or replace trigger _050_distrust
before insert on sherlock.inbox
for each row
when (not has_table_privilege('sherlock.inbox'::regclass, 'update'))
execute function sherlock.tg_inbox__distrust();

create or replace function sherlock.tg_inbox__wake()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
begin
    if exists (
        select from new_items as n where n.state = 'queued' and n.gate is distinct from 'hit')
    then
        perform pg_notify('sherlock_inbox', '');
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_inbox__wake() is
'After files are queued: NOTIFY sherlock_inbox, so that workers come at once.';

create or replace trigger _500_wake
after insert on sherlock.inbox
referencing new table as new_items
for each statement execute function sherlock.tg_inbox__wake();

create or replace function sherlock.tg_inbox__withdraw()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
begin
    perform sherlock._release_waiting(array(
        select o.document_id
        from old_items as o
        where o.gate = 'new' and o.state in ('queued', 'leased', 'stored')));
    return null;
end;
$$;

comment on function sherlock.tg_inbox__withdraw() is
'After items are deleted: a document that was to be read by them and never was goes too. Copies that '
'waited for it are read in its place; of one that is known they end as it is.';

create or replace trigger _500_withdraw
after delete on sherlock.inbox
referencing old table as old_items
for each statement execute function sherlock.tg_inbox__withdraw();
