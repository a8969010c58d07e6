-- The queue for people follows the verdicts: a document of a table that is watched with on_duplicate
-- queue waits there as long as its best match is of the class that the watch names.

-- Verdicts that are gone, or name another best match than the one that was queued.
create or replace function sherlock._withdraw_reviews(p_document_ids bigint[])
returns void
language sql volatile
begin atomic
    update sherlock.review_queue as q
    set decision = 'withdrawn', decided_at = now()
    where q.decision is null
      and q.document_id = any(p_document_ids)
      and not exists (
          select from sherlock.detections as v
          where v.document_id = q.document_id and v.best_match_id = q.matched_document_id
      );
end;

create or replace function sherlock.tg_detections__queue()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
begin
    -- insert … on conflict do update fires both triggers, one of them for no row.
    if not exists (select from new_detections) then
        return null;
    end if;
    perform sherlock._withdraw_reviews(array(select n.document_id from new_detections as n));
    -- What a person decided is not asked again, unless one of the two texts changed since.
    insert into sherlock.review_queue as q (
        document_id, matched_document_id, confidence, final_score)
    select n.document_id, n.best_match_id, n.confidence, n.best_score
    from new_detections as n
    join sherlock.watched_rows as r using (document_id)
    join sherlock.watches as w using (watch_id)
    where w.on_duplicate = 'queue'
      and n.best_match_id is not null
      and sherlock._class_rank(n.confidence) <= sherlock._class_rank(w.min_class)
      and not exists (
          select from sherlock.review_queue as d
          where d.document_id = n.document_id
            and d.matched_document_id = n.best_match_id
            and d.decision in ('duplicate', 'distinct')
            and not exists (
                select from sherlock.closed_matches as c
                where c.document_id = n.document_id
                  and c.matched_document_id = n.best_match_id
                  and c.closed_reason = 'changed'
                  and c.closed_at >= d.decided_at
            )
      )
    order by n.document_id
    on conflict (document_id) where decision is null do update
        set confidence = excluded.confidence, final_score = excluded.final_score;
    return null;
end;
$$;

comment on function sherlock.tg_detections__queue() is
'After verdicts are stored: pairs of watched tables that wait for a person, and those that ended.';

create or replace function sherlock.tg_detections__withdraw()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
begin
    perform sherlock._withdraw_reviews(array(select o.document_id from old_detections as o));
    return null;
end;
$$;

comment on function sherlock.tg_detections__withdraw() is
'After verdicts end: what waited for a person because of them is withdrawn.';

create or replace trigger _500_queue_insert
after insert on sherlock.detections
referencing new table as new_detections
for each statement execute function sherlock.tg_detections__queue();

create or replace trigger _500_queue_update
after update on sherlock.detections
referencing new table as new_detections
for each statement execute function sherlock.tg_detections__queue();

create or replace trigger _500_withdraw
after delete on sherlock.detections
referencing old table as old_detections
for each statement execute function sherlock.tg_detections__withdraw();
