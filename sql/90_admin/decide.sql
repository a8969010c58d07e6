-- What a person says about a pair that waits in the queue.
create or replace function sherlock.decide(
    p_review_id bigint,
    p_decision text,
    p_decided_by text default session_user
)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_review sherlock.review_queue;
begin
    if p_decision is null or p_decision not in ('duplicate', 'distinct') then
        raise exception using
            errcode = 'SH051',
            message = format('unknown decision: %s', coalesce(p_decision, 'null')),
            hint = 'duplicate or distinct';
    end if;
    if not has_table_privilege('sherlock.review_queue', 'select')
       or not has_table_privilege('sherlock.review_queue', 'update')
    then
        raise exception using
            errcode = 'SH044',
            message = format('%s can''t decide what is in the review queue', current_user),
            hint = format(
                'have %s run: grant select, update on sherlock.review_queue to %I',
                (select c.relowner::regrole
                 from pg_class as c
                 where c.oid = 'sherlock.review_queue'::regclass), current_user);
    end if;
    select q.* into v_review
    from sherlock.review_queue as q
    where q.review_id = p_review_id
    for update;
    if not found then
        raise exception using
            errcode = 'SH050',
            message = format('there is no entry %s in the review queue',
                             coalesce(p_review_id::text, 'null')),
            hint = 'open ones are listed by: select * from sherlock.open_reviews';
    end if;
    if v_review.decision is not null then
        raise exception using
            errcode = 'SH052',
            message = case
                when v_review.decision = 'withdrawn'
                then format('entry %s was withdrawn: its pair ended', p_review_id)
                else format('entry %s is decided: %s, by %s', p_review_id, v_review.decision,
                            coalesce(v_review.decided_by, 'nobody named'))
            end,
            detail = format('at %s', v_review.decided_at),
            hint = 'open ones are listed by: select * from sherlock.open_reviews';
    end if;
    update sherlock.review_queue as q
    set decision = p_decision, decided_by = p_decided_by, decided_at = now()
    where q.review_id = p_review_id;
end;
$$;

comment on function sherlock.decide(bigint, text, text) is
'Stores what a person says about a pair of sherlock.open_reviews: duplicate or distinct. Nothing else '
'follows from it, but the pair is not queued again unless one of its texts changes. Errors: SH044 rights, SH050 no '
'such entry, SH051 unknown decision, SH052 decided or withdrawn before.';
