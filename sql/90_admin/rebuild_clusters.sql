-- Clusters made anew from the matches, and whether they follow them from then on.
create or replace function sherlock._survivor_order(p_survivor text)
returns text
language plpgsql immutable parallel safe
as $$
declare
    c_columns constant text[] := array[
        'document_id', 'created_at', 'word_count', 'page_count', 'file_size_bytes', 'read_quality'];
    v_words constant text[] := regexp_split_to_array(lower(btrim(p_survivor)), ' +');
begin
    if p_survivor in ('oldest', 'newest', 'longest', 'best_read') then
        return case p_survivor
            when 'oldest' then 'document_id asc'
            when 'newest' then 'document_id desc'
            when 'longest' then 'word_count desc'
            else 'read_quality desc'
        end;
    end if;
    if cardinality(v_words) <= 2
       and v_words[1] = any(c_columns)
       and coalesce(v_words[2], 'asc') in ('asc', 'desc') then
        return v_words[1] || ' ' || coalesce(v_words[2], 'asc');
    end if;
    raise exception using
        errcode = 'SH062',
        message = format('unknown order of survivors: %s', coalesce(quote_literal(p_survivor), 'null')),
        hint = format('use oldest, newest, longest, best_read, or one of %s, with desc if the greatest '
                      'survives; documents by hand go into p_preferred',
                      array_to_string(c_columns, ', '));
end;
$$;

create or replace function sherlock.rebuild_clusters(
    p_collection text default 'default',
    p_mode text default 'principal',
    p_min_class text default 'HIGH',
    p_survivor text default 'oldest',
    p_preferred bigint[] default '{}',
    p_keep boolean default null
)
returns bigint
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection_id constant integer := sherlock.collection_id(p_collection);
    v_order constant text := sherlock._survivor_order(p_survivor);
    v_is_kept constant boolean := coalesce(
        p_keep,
        (select c.is_kept from sherlock.clusterings as c where c.collection_id = v_collection_id),
        false);
    v_clustering sherlock.clusterings;
begin
    if p_mode is null or p_mode not in ('principal', 'connected') then
        raise exception using
            errcode = 'SH061',
            message = format('unknown mode of clusters: %s', coalesce(p_mode, 'null')),
            hint = 'use principal (each member matches the survivor) or connected (chains of matches)';
    end if;
    if p_min_class is null or p_min_class not in ('EXACT', 'HIGH', 'MEDIUM', 'LOW') then
        raise exception using
            errcode = 'SH063',
            message = format('unknown class: %s', coalesce(p_min_class, 'null')),
            hint = 'classes are EXACT, HIGH, MEDIUM and LOW; matches of this one and better count';
    end if;
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception using
            errcode = 'SH057',
            message = 'with this isolation level matches that others store can''t be seen',
            hint = 'run it in a transaction of its own: begin isolation level read committed';
    end if;
    -- Who has stored matches that are not to be seen yet did not note them if clusters were not kept.
    if v_is_kept then
        lock table sherlock.matches in share row exclusive mode;
    end if;
    insert into sherlock.clusterings as c (
        collection_id, mode, min_class, survivor_order, preferred_ids, is_kept, rebuilt_at,
        changed_at)
    values (
        v_collection_id, p_mode, p_min_class, v_order, coalesce(p_preferred, '{}'), v_is_kept,
        clock_timestamp(), clock_timestamp())
    on conflict (collection_id) do update set
        mode = excluded.mode,
        min_class = excluded.min_class,
        survivor_order = excluded.survivor_order,
        preferred_ids = excluded.preferred_ids,
        is_kept = excluded.is_kept,
        rebuilt_at = excluded.rebuilt_at,
        changed_at = excluded.changed_at
    returning * into v_clustering;
    -- Between its statements a cluster can be without its survivor.
    set constraints sherlock.cluster_members_survivor_fkey deferred;
    delete from sherlock.cluster_members as m where m.collection_id = v_collection_id;
    perform sherlock._make_clusters(v_clustering);
    return (
        select count(*)
        from sherlock.cluster_members as m
        where m.collection_id = v_collection_id and m.document_id = m.cluster_id);
end;
$$;

comment on function sherlock.rebuild_clusters(text, text, text, text, bigint[], boolean) is
'Makes the clusters of a collection anew from sherlock.matches of p_min_class and better, of documents '
'and watched rows alike, and returns how many there are; nothing is deleted or merged. p_mode: principal '
'(each member matches the survivor itself) or connected (all that a chain of matches connects, which can '
'join documents that have nothing in common). p_survivor: oldest, newest, longest, best_read, or a '
'column of sherlock.documents (document_id, created_at, word_count, page_count, file_size_bytes), with desc '
'if the greatest survives. p_preferred: documents that survive before all others, in this order. p_keep: '
'clusters follow the matches from now on, when transactions commit, which take turns for that (null: as '
'before; at first not). If so, nobody stores matches while it runs, and transactions of repeatable read '
'that began before must have ended. Errors: SH002 no such collection, SH057 isolation level other than '
'read committed, SH061 unknown mode, SH062 unknown order, SH063 unknown class.';
