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
    v_touched_sql text;
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

    -- The transition tables say which rows the statement touched. What they are now says the table:
    -- triggers of the user may have changed them again since, and what those statements did has been
    -- followed before this one.
    v_row := sherlock._watched_row_sql(v_watch, tg_relid);
    if tg_op = 'DELETE' then
        execute format(
            'delete from sherlock.documents as d'
            ' using sherlock.watched_rows as w'
            ' where w.watch_id = $1'
            '   and d.document_id = w.document_id'
            '   and w.row_key in ('
            '       select %1$s'
            '       from old_rows as t'
            '       left join (select %2$s, true as sherlock_is_there from %3$s) as c'
            '           using (%2$s)'
            '       where c.sherlock_is_there is null)',
            v_row.key_sql, v_row.key_columns_sql, v_watch.relation)
        using v_watch.watch_id;
        return null;
    elsif tg_op = 'INSERT' then
        v_touched_sql := format(
            'select %s, row_number() over () as sherlock_position from new_rows',
            v_row.key_columns_sql);
    else
        execute format(
            'with o as materialized (select %1$s as row_key from old_rows as t),'
            ' n as materialized (select %1$s as row_key from new_rows as t)'
            ' select array(select o.row_key from o except select n.row_key from n) as old_keys,'
            '        array(select n.row_key from n except select o.row_key from o) as new_keys',
            v_row.key_sql)
        into v_moved;
        if v_moved.old_keys <> '{}' then
            perform sherlock._move_watched_rows(
                v_watch.watch_id,
                array(select k.row_key from unnest(v_moved.old_keys) as k (row_key)
                      except
                      select t.row_key
                      from sherlock._watched_texts(v_watch.watch_id, v_moved.old_keys) as t),
                n.row_keys, n.sha256)
            from (
                select coalesce(array_agg(t.row_key order by t.row_key), '{}') as row_keys,
                       array_agg(sha256(convert_to(t.content, 'UTF8')) order by t.row_key) as sha256
                from sherlock._watched_texts(v_watch.watch_id, v_moved.new_keys) as t
            ) as n;
        end if;
        v_touched_sql := format(
            'select n.* from ('
            '     select %1$s as sherlock_row_key, %2$s as sherlock_content, %3$s,'
            '            row_number() over () as sherlock_position'
            '     from new_rows as t) as n'
            ' left join ('
            '     select %1$s as sherlock_row_key, %2$s as sherlock_content from old_rows as t) as o'
            '     on o.sherlock_row_key = n.sherlock_row_key'
            ' where n.sherlock_content is distinct from o.sherlock_content',
            v_row.key_sql, v_row.transition_text_sql, v_row.key_columns_sql);
    end if;
    -- In the order of the statement; sorted while long texts are still where they are stored. Names
    -- that begin with sherlock_ are those that no column of the user has.
    open v_rows for execute format(
        'select %1$s as row_key, %2$s as content'
        ' from (select %3$s from (%4$s) as n join %5$s as t using (%6$s)'
        '       order by n.sherlock_position offset 0) as t',
        v_row.key_sql, v_row.text_sql, v_row.all_columns_sql, v_touched_sql, v_watch.relation,
        v_row.key_columns_sql);
    v_document_ids := (sherlock._keep_watched_rows(v_watch, v_rows)).document_ids;
    if v_watch.on_duplicate = 'reject' and v_document_ids <> '{}' then
        perform sherlock._reject_duplicates(v_watch, v_document_ids);
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_watched_tables__follow() is
'After a statement on a watched table or one of its partitions: rows that came are documents and are '
'judged, rows whose text changed are judged anew, documents of rows that went go; rows that other '
'triggers changed meanwhile, as they are then. A statement that leaves text and key as they were '
'writes nothing. Errors: SH040 a near-duplicate, where the watch rejects them; SH046 the watch is gone; SH047 a column is gone; SH048 a key is too long.';

-- Inside of a function that runs with its owner's rights current_user is the owner.
create or replace function sherlock._is_readable_by_caller(p_table regclass)
returns boolean
language sql stable
begin atomic
    select has_table_privilege(
               coalesce(nullif(current_setting('role'), 'none'), session_user), p_table, 'select')
           and not exists (
               select
               from (
                   select p_table::oid as relation
                   union
                   select p.relid::oid from pg_partition_tree(p_table) as p
               ) as r
               join pg_catalog.pg_class as c on c.oid = r.relation
               where c.relrowsecurity);
end;

create or replace function sherlock._evidence_roles(p_entities jsonb)
returns text
language sql immutable parallel safe
return (
    select string_agg(distinct e.entity ->> 'role', ' and ' order by e.entity ->> 'role')
    from jsonb_array_elements(p_entities) as e (entity)
);

-- Where a document is, for a message: its row, or the document itself. The key of a row that is not
-- the writer's own is only named if the writer can read the table, all of it.
create or replace function sherlock._document_place(p_document_id bigint, p_is_own boolean)
returns text
language sql stable
begin atomic
    select coalesce(
        (select case
                    when p_is_own or sherlock._is_readable_by_caller(w.relation)
                    then format('row %s in %s', sherlock._readable_key(r.row_key), w.relation)
                    else format('a row in %s', w.relation)
                end
         from sherlock.watched_rows as r
         join sherlock.watches as w using (watch_id)
         where r.document_id = p_document_id),
        format('document %s', p_document_id));
end;

-- Like a unique constraint: the statement fails if one of the documents is in a pair of the class.
create or replace function sherlock._reject_duplicates(
    p_watch sherlock.watches,
    p_document_ids bigint[]
)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_other_ids bigint[];
    v_pair record;
begin
    -- Nobody is refused because of rows that went with a partition or a table.
    loop
        select array_agg(distinct o.document_id) into v_other_ids
        from sherlock.matches as m
        cross join lateral (values (m.document_id), (m.matched_document_id)) as o (document_id)
        where (m.document_id = any(p_document_ids) or m.matched_document_id = any(p_document_ids))
          and o.document_id <> all(p_document_ids)
          and sherlock._class_rank(m.confidence) <= sherlock._class_rank(p_watch.min_class);
        exit when v_other_ids is null or sherlock._forget_gone_rows(v_other_ids) = 0;
        -- What matched them is judged again by then, unless there was too much of it.
        perform sherlock._judge(array(
            select i.id
            from unnest(p_document_ids) as i (id)
            where not exists (
                select from sherlock.detections as v where v.document_id = i.id)
              and exists (select from sherlock.documents as d where d.document_id = i.id)
            order by i.id));
    end loop;

    select m.confidence, m.final_score, m.minhash_score, m.tfidf_score, m.entity_score, m.evidence,
           case when o.is_later then m.document_id else m.matched_document_id end as document_id,
           case when o.is_later then m.matched_document_id else m.document_id end as other_id
    into v_pair
    from sherlock.matches as m
    cross join lateral (select m.document_id = any(p_document_ids) as is_later) as o
    where (m.document_id = any(p_document_ids) or m.matched_document_id = any(p_document_ids))
      and sherlock._class_rank(m.confidence) <= sherlock._class_rank(p_watch.min_class)
    order by sherlock._class_rank(m.confidence), m.final_score desc, m.document_id,
             m.matched_document_id
    limit 1;
    if not found then
        return;
    end if;
    raise exception using
        errcode = 'SH040',
        message = format(
            'near-duplicate of %s',
            sherlock._document_place(v_pair.other_id, v_pair.other_id = any(p_document_ids))),
        -- Roles without their values: the writer may not be allowed to see the other row.
        detail = format(
            '%s: %s', sherlock._document_place(v_pair.document_id, true),
            concat_ws(
                ', ', 'class ' || v_pair.confidence,
                'score ' || round(v_pair.final_score::numeric, 4),
                'shingles ' || round(v_pair.minhash_score::numeric, 2),
                'terms ' || round(v_pair.tfidf_score::numeric, 2),
                'parties ' || round(v_pair.entity_score::numeric, 2),
                'same ' || sherlock._evidence_roles(v_pair.evidence -> 'shared'),
                'different ' || sherlock._evidence_roles(v_pair.evidence -> 'differing'))),
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
