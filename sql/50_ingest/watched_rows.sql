-- Rows of watched tables as documents: what identifies a row, what its text is, and what happens when
-- rows come, change and go. The texts stay in the table.

create or replace function sherlock._base_type(p_type oid)
returns oid
language sql stable parallel safe
begin atomic
    with recursive types as (
        select t.oid, t.typtype, t.typbasetype
        from pg_catalog.pg_type as t
        where t.oid = p_type
        union all
        select b.oid, b.typtype, b.typbasetype
        from types as d
        join pg_catalog.pg_type as b on b.oid = d.typbasetype
        where d.typtype = 'd'
    )
    select t.oid from types as t where t.typtype <> 'd';
end;

-- SQL expressions over a watched table, its partitions and their transition tables, that is called t: the
-- key as JSON, and the text, which a transition table has otherwise; and lists of the columns: those of
-- the key, and all (with t). Values of types that are not built in go through their output function,
-- never through a cast that a user could have made: a trigger evaluates this with its owner's rights.
create or replace function sherlock._watched_row_sql(
    p_watch sherlock.watches,
    p_relation oid,
    out key_sql text,
    out text_sql text,
    out transition_text_sql text,
    out key_columns_sql text,
    out all_columns_sql text
)
language plpgsql stable
set search_path from current
as $$
declare
    v_missing text;
begin
    select string_agg(
               case
                   when b.typnamespace = 'pg_catalog'::regnamespace
                   then 't.' || quote_ident(a.attname)
                   else format('format(''%%s'', t.%s)', quote_ident(a.attname))
               end,
               ', ' order by c.position) filter (where c.is_key),
           string_agg(x.text_sql, ', ' order by c.position) filter (where not c.is_key),
           string_agg(
               -- A transition table has no values of virtual columns.
               case when a.attgenerated = 'v'
                    then format('(%s)::text', pg_get_expr(e.adbin, e.adrelid))
                    else x.text_sql end,
               ', ' order by c.position) filter (where not c.is_key),
           string_agg(quote_ident(c.name), ', ' order by c.position) filter (where c.is_key),
           string_agg(distinct 't.' || quote_ident(c.name), ', '),
           string_agg(quote_ident(c.name), ', ') filter (where a.attname is null)
    into key_sql, text_sql, transition_text_sql, key_columns_sql, all_columns_sql, v_missing
    from (
        select true as is_key, k.name, k.position
        from unnest(p_watch.key_columns) with ordinality as k (name, position)
        union all
        select false, x.name, x.position
        from unnest(p_watch.text_columns) with ordinality as x (name, position)
    ) as c
    left join pg_attribute as a
        on a.attrelid = p_relation and a.attname = c.name and a.attnum > 0 and not a.attisdropped
    left join pg_type as b on b.oid = sherlock._base_type(a.atttypid)
    left join pg_attrdef as e on e.adrelid = a.attrelid and e.adnum = a.attnum
    cross join lateral (
        select case
                   when b.typnamespace = 'pg_catalog'::regnamespace
                   then format('t.%s::text', quote_ident(a.attname))
                   else format('case when t.%1$s is not null then format(''%%s'', t.%1$s) end',
                               quote_ident(a.attname))
               end as text_sql
    ) as x;
    if v_missing is not null then
        raise exception using
            errcode = 'SH047',
            message = format('the watched table %s has no column %s any more',
                             p_watch.relation, v_missing),
            hint = format('if it was renamed, give the new names: select sherlock.watch(%L, p_key => '
                          '..., p_text => ...); to end the watch: select sherlock.unwatch(%L)',
                          p_watch.relation, p_watch.relation);
    end if;
    key_sql := format('jsonb_build_array(%s)', key_sql);
    text_sql := format('concat_ws(E''\n\n'', %s)', text_sql);
    transition_text_sql := format('concat_ws(E''\n\n'', %s)', transition_text_sql);
end;
$$;

-- The other way round: a row source v (k1, k2, ...) with the values of a key, in their types, from
-- the JSON that p_key_sql gives; and the list of the key's columns.
create or replace function sherlock._watched_key_sql(
    p_watch sherlock.watches,
    p_key_sql text,
    out values_sql text,
    out columns_sql text,
    out names_sql text
)
language sql stable parallel safe
begin atomic
    select format('jsonb_to_record(jsonb_build_object(%s)) as v (%s)',
                  string_agg(format('%L, (%s) -> %s', 'k' || k.position, p_key_sql, k.position - 1),
                             ', ' order by k.position),
                  string_agg(format('%I %s', 'k' || k.position,
                                    format_type(a.atttypid, a.atttypmod)),
                             ', ' order by k.position)),
           string_agg(format('t.%I', a.attname), ', ' order by k.position),
           string_agg(format('v.%I', 'k' || k.position), ', ' order by k.position)
    from unnest(p_watch.key_columns) with ordinality as k (name, position)
    join pg_catalog.pg_attribute as a
        on a.attrelid = p_watch.relation and a.attname = k.name and not a.attisdropped;
end;

create or replace function sherlock._readable_key(p_row_key jsonb)
returns text
language sql immutable parallel safe
return (
    select string_agg(k.value, ', ' order by k.position)
    from jsonb_array_elements_text(p_row_key) with ordinality as k (value, position)
);

-- Rows become documents, or, where they are documents already and their text is another one, are
-- taken in again. Returns the documents that were judged.
create or replace function sherlock._keep_watched_rows(
    p_watch sherlock.watches,
    p_row_keys jsonb[],
    p_texts text[]
)
returns bigint[]
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    -- What fits into an index, whatever the compression makes of it.
    c_max_key_bytes constant integer := 2600;
    v_row_key jsonb;
    v_added_ids bigint[];
    v_changed_ids bigint[];
    v_texts text[];
begin
    select k.row_key into v_row_key
    from unnest(p_row_keys) as k (row_key)
    where pg_column_size(k.row_key) > c_max_key_bytes
    limit 1;
    if found then
        raise exception using
            errcode = 'SH048',
            message = format('a key of the watched table %s is too long', p_watch.relation),
            detail = format('%s bytes are more than %s: %s ...', pg_column_size(v_row_key),
                            c_max_key_bytes, left(sherlock._readable_key(v_row_key), 100)),
            hint = 'watch the table by a shorter key';
    end if;

    -- Another session's entry of the same row is waited for; then the row is known. The reference
    -- to the document is checked when the statement has ended.
    with rows as materialized (
        select nextval(pg_get_serial_sequence('sherlock.documents', 'document_id')) as document_id,
               u.row_key, u.content
        from (
            select k.row_key, k.content
            from unnest(p_row_keys, p_texts) with ordinality as k (row_key, content, position)
            -- A scalar, so that it is looked up by the index for each key.
            where (
                select w.document_id
                from sherlock.watched_rows as w
                where w.watch_id = p_watch.watch_id and w.row_key = k.row_key
            ) is null
            order by k.position
        ) as u
    ),
    added as (
        insert into sherlock.watched_rows (document_id, watch_id, row_key, text_sha256)
        select r.document_id, p_watch.watch_id, r.row_key, sha256(convert_to(r.content, 'UTF8'))
        from rows as r
        order by r.row_key
        on conflict (watch_id, row_key) do nothing
        returning document_id
    ),
    stored as (
        -- With a state, so that the trigger on documents leaves them to us.
        insert into sherlock.documents (document_id, collection_id, doc_type, name, text_state)
        select r.document_id, p_watch.collection_id, p_watch.doc_type,
               sherlock._readable_key(r.row_key), 'empty'
        from rows as r
        join added as a using (document_id)
        order by r.document_id
    )
    select coalesce(array_agg(r.document_id order by r.document_id), '{}'),
           array_agg(r.content order by r.document_id)
    into v_added_ids, v_texts
    from rows as r
    join added as a using (document_id);
    if v_added_ids <> '{}' then
        perform sherlock._take_in(v_added_ids, v_texts);
    end if;
    if cardinality(v_added_ids) = cardinality(p_row_keys) then
        return v_added_ids;
    end if;

    with changed as (
        update sherlock.watched_rows as w
        set text_sha256 = k.text_sha256
        from (
            select u.row_key, u.content, sha256(convert_to(u.content, 'UTF8')) as text_sha256
            from unnest(p_row_keys, p_texts) as u (row_key, content)
        ) as k
        where w.watch_id = p_watch.watch_id
          and w.row_key = k.row_key
          and w.text_sha256 <> k.text_sha256
        returning w.document_id, k.content
    )
    select coalesce(array_agg(c.document_id order by c.document_id), '{}'),
           array_agg(c.content order by c.document_id)
    into v_changed_ids, v_texts
    from changed as c;
    if v_changed_ids <> '{}' then
        perform sherlock._retake(v_changed_ids, v_texts);
    end if;
    return v_added_ids || v_changed_ids;
end;
$$;

-- The same for the rows (row_key, content) of a cursor, in portions that fit into memory.
create or replace function sherlock._keep_watched_rows(
    p_watch sherlock.watches,
    p_rows refcursor,
    out document_ids bigint[],
    out row_count integer,
    out last_row_key jsonb
)
language plpgsql volatile
set search_path from current
as $$
declare
    c_max_rows constant integer := 1000;
    c_max_characters constant integer := 8000000;
    v_row record;
    v_is_end boolean;
    v_row_keys jsonb[] := '{}';
    v_texts text[] := '{}';
    v_characters integer := 0;
begin
    document_ids := '{}';
    row_count := 0;
    loop
        fetch p_rows into v_row;
        v_is_end := not found;
        if not v_is_end then
            v_row_keys := v_row_keys || v_row.row_key;
            v_texts := v_texts || v_row.content;
            v_characters := v_characters + length(v_row.content);
            row_count := row_count + 1;
            last_row_key := v_row.row_key;
        end if;
        if v_is_end or cardinality(v_row_keys) = c_max_rows or v_characters >= c_max_characters then
            if v_row_keys <> '{}' then
                document_ids := document_ids
                    || sherlock._keep_watched_rows(p_watch, v_row_keys, v_texts);
            end if;
            v_row_keys := '{}';
            v_texts := '{}';
            v_characters := 0;
        end if;
        exit when v_is_end;
    end loop;
    close p_rows;
end;
$$;

-- Keys changed: a row keeps its document where it can be told which one it was: by its text, or
-- because it is the only one. Documents of the other old keys go.
create or replace function sherlock._move_watched_rows(
    p_watch_id integer,
    p_old_keys jsonb[],
    p_new_keys jsonb[],
    p_new_sha256 bytea[]
)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    delete from sherlock.documents as d
    using sherlock.watched_rows as w
    where w.watch_id = p_watch_id
      and w.row_key = any(p_new_keys)
      and d.document_id = w.document_id;

    with old_rows as (
        select w.document_id, w.text_sha256,
               row_number() over (partition by w.text_sha256 order by w.document_id) as ordinal,
               count(*) over () as row_count
        from sherlock.watched_rows as w
        where w.watch_id = p_watch_id and w.row_key = any(p_old_keys)
    ),
    new_rows as (
        select n.row_key, n.text_sha256,
               row_number() over (partition by n.text_sha256 order by n.row_key) as ordinal,
               count(*) over () as row_count
        from unnest(p_new_keys, p_new_sha256) as n (row_key, text_sha256)
    ),
    moved as (
        update sherlock.watched_rows as w
        set row_key = n.row_key
        from old_rows as o
        join new_rows as n
            on (o.text_sha256 = n.text_sha256 and o.ordinal = n.ordinal)
            or (o.row_count = 1 and n.row_count = 1)
        where w.document_id = o.document_id
        returning w.document_id, w.row_key
    )
    update sherlock.documents as d
    set name = sherlock._readable_key(m.row_key)
    from moved as m
    where d.document_id = m.document_id;

    delete from sherlock.documents as d
    using sherlock.watched_rows as w
    where w.watch_id = p_watch_id
      and w.row_key = any(p_old_keys)
      and d.document_id = w.document_id;
end;
$$;

-- Documents of rows that are not in the table any more, however they went.
create or replace function sherlock._forget_gone_rows(p_watch sherlock.watches)
returns bigint
language plpgsql volatile
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
    v_count bigint;
begin
    execute format(
        'delete from sherlock.documents as d'
        ' using sherlock.watched_rows as w'
        ' where w.watch_id = $1'
        '   and d.document_id = w.document_id'
        '   and not exists ('
        '       select from (select %s as row_key from %s as t) as r'
        '       where r.row_key = w.row_key)',
        (sherlock._watched_row_sql(p_watch, p_watch.relation)).key_sql, p_watch.relation)
    using p_watch.watch_id;
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;

-- The same for a few documents, of whichever watched tables, dropped ones too: a row that went with its
-- partition or its table went without a trigger.
create or replace function sherlock._forget_gone_rows(p_document_ids bigint[])
returns bigint
language plpgsql volatile
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
    v_key record;
    v_row_count bigint;
    v_count bigint := 0;
begin
    for v_watch in
        select w.*
        from sherlock.watches as w
        where w.watch_id in (
            select r.watch_id
            from sherlock.watched_rows as r
            where r.document_id = any(p_document_ids))
        order by w.watch_id
    loop
        v_key := sherlock._watched_key_sql(v_watch, 'w.row_key');
        -- One statement, so that both sides are of one moment: a key that somebody changes is not gone.
        execute format(
            'delete from sherlock.documents as d'
            ' using sherlock.watched_rows as w'
            ' where w.watch_id = $1'
            '   and w.document_id = any($2)'
            '   and d.document_id = w.document_id'
            '   and %s',
            case
                when exists (select from pg_class as c where c.oid = v_watch.relation)
                then format('not exists (select from %s join %s as t on (%s) = (%s))',
                            v_key.values_sql, v_watch.relation, v_key.columns_sql, v_key.names_sql)
                else 'true'
            end)
        using v_watch.watch_id, p_document_ids;
        get diagnostics v_row_count = row_count;
        v_count := v_count + v_row_count;
    end loop;
    return v_count;
end;
$$;

create or replace function sherlock._watched_texts(p_watch_id integer, p_row_keys jsonb[])
returns table (row_key jsonb, content text)
language plpgsql stable
set search_path from current
set timezone = 'UTC'
set datestyle = 'ISO'
set intervalstyle = 'postgres'
set bytea_output = 'hex'
set extra_float_digits = 1
set lc_monetary = 'C'
as $$
-- With the rights of the caller: who may read the table may read its texts here. Keys without a row,
-- and all keys of a table that was dropped, have no text.
declare
    v_watch sherlock.watches;
    v_key record;
begin
    select w.* into v_watch
    from sherlock.watches as w
    join pg_class as c on c.oid = w.relation
    where w.watch_id = p_watch_id;
    if not found then
        return;
    end if;
    v_key := sherlock._watched_key_sql(v_watch, 'k.row_key');
    return query execute format(
        'select k.row_key, %s'
        ' from unnest($1) as k (row_key)'
        ' cross join lateral %s'
        ' join %s as t on (%s) = (%s)',
        (sherlock._watched_row_sql(v_watch, v_watch.relation)).text_sql, v_key.values_sql,
        v_watch.relation, v_key.columns_sql, v_key.names_sql)
    using p_row_keys;
end;
$$;
