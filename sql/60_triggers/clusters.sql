-- Clusters follow the matches: what a transaction changes is noted, and followed when it commits. Not
-- at once, because who holds a clustering and then waits for a judgement could make a deadlock.
create or replace function sherlock._note_cluster_change(
    p_collection_id integer,
    p_document_ids bigint[],
    p_change text
)
returns void
language sql volatile
begin atomic
    insert into sherlock.cluster_changes as c (transaction_id, collection_id, document_id, change)
    select pg_current_xact_id()::text::bigint, p_collection_id, i.id, p_change
    from unnest(p_document_ids) as i (id)
    -- A rank says more than a lost match, and that more than one that came.
    on conflict (transaction_id, collection_id, document_id) do update
        set change = case
            when c.change = 'rank' or excluded.change = 'rank' then 'rank'
            when c.change = 'lost' or excluded.change = 'lost' then 'lost'
            else 'found'
        end;
end;

create or replace function sherlock.tg_matches__cluster()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_document_ids constant bigint[] := case
        when tg_op = 'DELETE' then array[old.document_id, old.matched_document_id]
        else array[new.document_id, new.matched_document_id]
    end;
    v_collection_id integer;
    v_clustering sherlock.clusterings;
    v_class_rank integer;
    v_ranks double precision[];
    v_did_count boolean;
    v_does_count boolean;
begin
    if not exists (select from sherlock.clusterings as c where c.is_kept) then
        return null;
    end if;
    -- Both documents may be gone; if so, they are known here if they were in a cluster.
    v_collection_id := coalesce(
        (select d.collection_id from sherlock.documents as d
         where d.document_id = any(v_document_ids) limit 1),
        (select m.collection_id from sherlock.cluster_members as m
         where m.document_id = any(v_document_ids) limit 1));
    select c.* into v_clustering
    from sherlock.clusterings as c
    where c.collection_id = v_collection_id and c.is_kept;
    v_class_rank := sherlock._class_rank(v_clustering.min_class);
    v_did_count := tg_op <> 'INSERT' and sherlock._class_rank(old.confidence) <= v_class_rank;
    v_does_count := tg_op <> 'DELETE' and sherlock._class_rank(new.confidence) <= v_class_rank;
    if v_clustering.collection_id is null or v_did_count = v_does_count then
        return null;
    end if;
    -- What ranks before is not touched by what comes after it; what is gone has no rank.
    v_ranks := array(
        select sherlock._survivor_rank(
            v_clustering.survivor_order, v_clustering.preferred_ids, i.id)
        from unnest(v_document_ids) with ordinality as i (id, position)
        order by i.position);
    perform sherlock._note_cluster_change(
        v_collection_id,
        case
            when v_ranks[1] = 'infinity' or v_ranks[2] = 'infinity' then v_document_ids
            when (v_ranks[1], v_document_ids[1]) > (v_ranks[2], v_document_ids[2])
            then v_document_ids[:1]
            else v_document_ids[2:]
        end,
        case when v_did_count then 'lost' else 'found' end);
    return null;
end;
$$;

comment on function sherlock.tg_matches__cluster() is
'After a match comes, goes or changes its class: clusters that are kept follow when the transaction '
'commits.';

create or replace trigger _500_cluster
after insert or delete or update of confidence on sherlock.matches
for each row execute function sherlock.tg_matches__cluster();

create or replace function sherlock.tg_documents__cluster()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
begin
    if exists (
        select from sherlock.clusterings as c
        where c.collection_id = new.collection_id and c.is_kept
    ) and exists (
        select from sherlock._cluster_neighbours(new.document_id, sherlock._class_rank('LOW'))
    ) then
        perform sherlock._note_cluster_change(new.collection_id, array[new.document_id], 'rank');
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_documents__cluster() is
'After a document changes in what survivors are chosen by: clusters that are kept follow.';

create or replace trigger _600_cluster
after update of word_count, page_count, file_size_bytes, created_at, status, flags
on sherlock.documents
for each row
when ((old.word_count, old.page_count, old.file_size_bytes, old.created_at, old.status, old.flags)
      is distinct from
      (new.word_count, new.page_count, new.file_size_bytes, new.created_at, new.status, new.flags))
execute function sherlock.tg_documents__cluster();

create or replace function sherlock.tg_cluster_changes__follow()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
begin
    -- The first of a transaction takes them all.
    perform sherlock._follow_matches(new.transaction_id);
    return null;
end;
$$;

comment on function sherlock.tg_cluster_changes__follow() is
'When a transaction commits, or at set constraints all immediate: clusters follow its matches.';

do $$
begin
    -- Constraint triggers have no create or replace.
    if not exists (
        select from pg_catalog.pg_trigger as t
        where t.tgrelid = 'sherlock.cluster_changes'::regclass and t.tgname = '_500_follow'
    ) then
        create constraint trigger _500_follow
        after insert on sherlock.cluster_changes
        deferrable initially deferred
        for each row execute function sherlock.tg_cluster_changes__follow();
    end if;
end;
$$;
