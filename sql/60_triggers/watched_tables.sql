-- What follows a watched table: one function behind the four triggers that sherlock.watch puts on it.
-- It runs with its owner's rights, so that whoever may write to the table needs none here, and under
-- fixed settings, so that a key looks the same in every session.
create or replace function sherlock.tg_watched_tables__follow()
returns trigger
language plpgsql
security definer
set search_path from current
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO'
set intervalstyle = 'postgres'
set bytea_output = 'hex'
set extra_float_digits = 1
set lc_monetary = 'C'
as $$
declare
    v_watch sherlock.watches;
    v_row record;
    v_rows refcursor;
    v_moved record;
    v_document_ids bigint[];
begin
    select w.* into v_watch
    from sherlock.watches as w
    where w.watch_id = tg_argv[0]::integer;
    if not found then
        raise exception using
            errcode = 'SH046',
            message = format('there is no watch %s, which the trigger %s on %s belongs to',
                             tg_argv[0], tg_name, tg_relid::regclass),
            hint = format('drop its triggers, all of them begin with sherlock_watch_: drop trigger '
                          '%s on %s', tg_name, tg_relid::regclass);
    end if;
    -- A partition that was detached is no part of the watched table any more.
    if tg_relid <> v_watch.relation
       and not exists (
           select from pg_partition_ancestors(tg_relid) as a (relation)
           where a.relation = v_watch.relation)
    then
        return null;
    end if;
    if tg_op = 'TRUNCATE' then
        perform sherlock._forget_gone_rows(v_watch);
        return null;
    end if;

    v_row := sherlock._watched_row_sql(v_watch, tg_relid, p_is_transition => true);
    if tg_op = 'DELETE' then
        execute format(
            'delete from sherlock.documents as d'
            ' using sherlock.watched_rows as w'
            ' where w.watch_id = $1'
            '   and d.document_id = w.document_id'
            '   and w.row_key in (select %s from old_rows as t)',
            v_row.key_sql)
        using v_watch.watch_id;
        return null;
    elsif tg_op = 'INSERT' then
        open v_rows for execute format(
            'select %s as row_key, %s as content from new_rows as t',
            v_row.key_sql, v_row.text_sql);
    else
        execute format(
            'with o as materialized (select %1$s as row_key from old_rows as t),'
            ' n as materialized (select %1$s as row_key from new_rows as t),'
            ' old_keys as (select o.row_key from o except select n.row_key from n),'
            ' new_keys as (select n.row_key from n except select o.row_key from o),'
            ' new_texts as ('
            '     select r.row_key, sha256(convert_to(r.content, ''UTF8'')) as text_sha256'
            '     from (select %1$s as row_key, %2$s as content from new_rows as t) as r'
            '     join new_keys as k using (row_key))'
            ' select array(select k.row_key from old_keys as k) as old_keys,'
            '        array_agg(x.row_key order by x.row_key) as new_keys,'
            '        array_agg(x.text_sha256 order by x.row_key) as new_sha256'
            ' from new_texts as x',
            v_row.key_sql, v_row.text_sql)
        into v_moved;
        if v_moved.old_keys <> '{}' then
            perform sherlock._move_watched_rows(
                v_watch.watch_id, v_moved.old_keys, v_moved.new_keys, v_moved.new_sha256);
        end if;
        open v_rows for execute format(
            'select n.row_key, n.content'
            ' from (select %1$s as row_key, %2$s as content from new_rows as t) as n'
            ' left join (select %1$s as row_key, %2$s as content from old_rows as t) as o'
            '     on o.row_key = n.row_key'
            ' where n.content is distinct from o.content',
            v_row.key_sql, v_row.text_sql);
    end if;
    v_document_ids := (sherlock._keep_watched_rows(v_watch, v_rows)).document_ids;
    if v_watch.on_duplicate = 'reject' and v_document_ids <> '{}' then
        perform sherlock._reject_duplicates(v_watch, v_document_ids);
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_watched_tables__follow() is
'After a statement on a watched table or one of its partitions: rows that came are documents and are '
'judged, rows whose text changed are judged anew, documents of rows that went go. A statement that '
'leaves text and key as they were writes nothing. Errors: SH040 a near-duplicate, where the watch '
'rejects them; SH046 the watch is gone; SH047 a column is gone; SH048 a key is too long.';

-- Like a unique constraint: the statement fails if one of the documents is in a pair of the class.
create or replace function sherlock._reject_duplicates(
    p_watch sherlock.watches,
    p_document_ids bigint[]
)
returns void
language plpgsql stable
set search_path from current
as $$
declare
    v_pair record;
    v_levels text;
begin
    select m.document_id = any(p_document_ids) as is_later, m.*,
           case when m.document_id = any(p_document_ids)
                then m.matched_document_id else m.document_id end as other_document_id
    into v_pair
    from sherlock.matches as m
    where (m.document_id = any(p_document_ids) or m.matched_document_id = any(p_document_ids))
      and sherlock._class_rank(m.confidence) <= sherlock._class_rank(p_watch.min_class)
    order by sherlock._class_rank(m.confidence), m.final_score desc, m.document_id,
             m.matched_document_id
    limit 1;
    if not found then
        return;
    end if;
    v_levels := concat_ws(
        ', ', 'shingles ' || round(v_pair.minhash_score::numeric, 2),
        'terms ' || round(v_pair.tfidf_score::numeric, 2),
        'parties ' || round(v_pair.entity_score::numeric, 2));
    raise exception using
        errcode = 'SH040',
        message = format('near-duplicate of %s', sherlock._document_place(v_pair.other_document_id)),
        detail = format(
            '%s: class %s, score %s (%s), evidence %s',
            sherlock._document_place(
                case when v_pair.is_later then v_pair.document_id
                     else v_pair.matched_document_id end),
            v_pair.confidence, round(v_pair.final_score::numeric, 4), v_levels, v_pair.evidence),
        hint = format(
            'to let it in and have it reported: update sherlock.watches set %s where watch_id = %s',
            case when v_pair.confidence = 'EXACT' then 'on_duplicate = ''flag'''
                 else 'min_class = ''EXACT''' end,
            p_watch.watch_id),
        schema = (
            select n.nspname
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            where c.oid = p_watch.relation),
        table = (select c.relname from pg_class as c where c.oid = p_watch.relation),
        constraint = 'sherlock_near_unique';
end;
$$;

-- Where a document is, for a message: its row, or the document itself.
create or replace function sherlock._document_place(p_document_id bigint)
returns text
language sql stable
begin atomic
    select coalesce(
        (select format('row %s in %s', sherlock._readable_key(r.row_key), w.relation)
         from sherlock.watched_rows as r
         join sherlock.watches as w using (watch_id)
         where r.document_id = p_document_id),
        format('document %s', p_document_id));
end;
