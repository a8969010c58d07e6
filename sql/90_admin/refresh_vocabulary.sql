-- Level 2 without Python: from one vocabulary to the next and back. Both answer until the switch.
-- sherlock_pg/vectorize/lifecycle.py takes the same steps, under the same lock.

-- One holder at a time, here and in lifecycle.py.
create or replace function sherlock._vocabulary_lock_class()
returns integer
language sql immutable parallel safe
return 21320;

create or replace function sherlock._vocabulary_lock_holder(p_collection_id integer)
returns integer
language sql volatile
begin atomic
    select l.pid
    from pg_catalog.pg_locks as l
    where l.locktype = 'advisory'
      and l.database = (
          select d.oid from pg_catalog.pg_database as d where d.datname = current_database()
      )
      and l.classid = sherlock._vocabulary_lock_class()::oid
      and l.objid = p_collection_id::oid
      and l.objsubid = 2
      and l.granted;
end;

create or replace function sherlock._hold_vocabulary(p_collection_id integer)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    -- Ours already: a call that was cancelled between two of its transactions left it.
    if sherlock._vocabulary_lock_holder(p_collection_id) = pg_backend_pid()
       or pg_try_advisory_lock(sherlock._vocabulary_lock_class(), p_collection_id)
    then
        return;
    end if;
    raise exception using
        errcode = 'SH035',
        message = 'another session is changing the vocabulary of this collection',
        detail = format('process id: %s', coalesce(
            sherlock._vocabulary_lock_holder(p_collection_id)::text, 'it ended just now')),
        hint = 'wait until refreshing_pid is null in sherlock.vocabulary_status';
end;
$$;

create or replace function sherlock._release_vocabulary(p_collection_id integer)
returns void
language plpgsql volatile
set search_path from current
as $$
begin
    perform pg_advisory_unlock(sherlock._vocabulary_lock_class(), p_collection_id);
end;
$$;

-- Growth since the fit, as a share, from which a new vocabulary is proposed.
create or replace function sherlock._refit_growth()
returns double precision
language sql immutable parallel safe
return 0.10::double precision;

-- The fit that was interrupted, if it is the one that would be made now: then it is continued.
create or replace function sherlock._unfinished_vocabulary(
    p_collection_id integer,
    p_sample integer
)
returns integer
language sql stable
return (
    select max(m.model_id)
    from sherlock.tfidf_models as m
    join sherlock.collections as c using (collection_id)
    where m.collection_id = p_collection_id
      and m.status = 'building'
      and m.activated_at is null
      and m.sample_limit = p_sample
      and m.max_features = c.tfidf_max_features
      and m.ngram_min = c.tfidf_ngram_min
      and m.ngram_max = c.tfidf_ngram_max
      and (sherlock._indexed_document_count(p_collection_id) - m.document_count)::double precision
          / m.document_count < sherlock._refit_growth()
);

-- The one in use before the one that is; also where going back to it was interrupted.
create or replace function sherlock._previous_vocabulary(p_collection_id integer)
returns integer
language sql stable
return (
    select m.model_id
    from sherlock.tfidf_models as m
    where m.collection_id = p_collection_id
      and m.status <> 'active'
      and m.activated_at is not null
    order by m.activated_at desc, m.model_id desc
    limit 1
);

-- What was interrupted and is not continued: fits go, and those that were in use before stay.
create or replace function sherlock._set_aside_vocabularies(
    p_collection_id integer,
    p_continued_id integer
)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_model sherlock.tfidf_models;
begin
    for v_model in
        select m.*
        from sherlock.tfidf_models as m
        where m.collection_id = p_collection_id
          and m.status = 'building'
          and m.model_id is distinct from p_continued_id
        order by m.model_id
    loop
        if v_model.activated_at is null then
            perform sherlock.drop_tfidf_model(v_model.model_id);
        else
            update sherlock.tfidf_models as m
            set status = 'retired'
            where m.model_id = v_model.model_id;
        end if;
    end loop;
end;
$$;

-- Of the retired ones the last in use keeps its vectors. Others keep their vocabulary for as long as
-- a match names them.
create or replace function sherlock._clear_old_vocabularies(p_collection_id integer)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_kept_id integer := sherlock._previous_vocabulary(p_collection_id);
    v_model record;
begin
    for v_model in
        select m.model_id,
               exists (
                   select from sherlock.matches as o where o.model_id = m.model_id
               ) or exists (
                   select from sherlock.closed_matches as o where o.model_id = m.model_id
               ) as is_named
        from sherlock.tfidf_models as m
        where m.collection_id = p_collection_id
          and m.status in ('retired', 'archived')
          and m.model_id is distinct from v_kept_id
        order by m.model_id
    loop
        if v_model.is_named then
            perform sherlock.archive_tfidf_model(v_model.model_id);
        else
            perform sherlock.drop_tfidf_model(v_model.model_id);
        end if;
    end loop;
end;
$$;

create or replace function sherlock._check_earlier_vocabulary(
    p_collection text,
    p_model_id integer
)
returns integer
language plpgsql stable
set search_path from current
as $$
declare
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_model_id integer;
begin
    if p_model_id is null then
        v_model_id := sherlock._previous_vocabulary(v_collection_id);
    else
        select m.model_id into v_model_id
        from sherlock.tfidf_models as m
        where m.model_id = p_model_id
          and m.collection_id = v_collection_id
          and m.activated_at is not null;
    end if;
    if v_model_id is null then
        raise exception using
            errcode = 'SH038',
            message = case
                when p_model_id is null
                then format('collection %s has no earlier vocabulary', quote_literal(p_collection))
                else format('vocabulary %s was never in use in collection %s', p_model_id,
                            quote_literal(p_collection))
            end,
            hint = 'those that were: select model_id, collection_id, status, activated_at from '
                   'sherlock.tfidf_models where activated_at is not null';
    end if;
    return v_model_id;
end;
$$;

-- To the vocabulary p_model_id, or to a new one if it is null.
-- No search_path of its own, because a procedure with one cannot commit: all names are qualified.
-- All work is done in the one block that lets go of the lock when it fails; a procedure cannot
-- commit within such a block, so each turn of the loop is one step and its commit.
create or replace procedure sherlock._change_vocabulary(
    p_collection text,
    p_model_id integer,
    p_sample integer,
    p_batch_size integer
)
language plpgsql
as $$
declare
    c_index_from constant integer := 2000;
    c_max_attempts constant integer := 5;
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_started timestamptz := clock_timestamp();
    v_step text := 'prepare';
    v_attempt integer := 1;
    v_model_id integer;
    v_model sherlock.tfidf_models;
    v_batch record;
    v_after bigint;
    v_done bigint;
    v_total bigint;
    v_hint text;
begin
    commit;
    -- With an older snapshot the switch would not see documents that it has just waited for.
    set transaction isolation level read committed;
    perform sherlock._hold_vocabulary(v_collection_id);
    loop
        begin
            case v_step
            when 'prepare' then
                v_model_id := coalesce(
                    p_model_id, sherlock._unfinished_vocabulary(v_collection_id, p_sample));
                perform sherlock._set_aside_vocabularies(v_collection_id, v_model_id);
                if v_model_id is null then
                    v_step := 'fit';
                elsif p_model_id is null then
                    raise notice using message = format(
                        '%s: model %s was left unfinished and is continued', p_collection,
                        v_model_id);
                    v_step := 'count';
                else
                    perform sherlock._reopen_tfidf_model(v_model_id);
                    v_step := 'count';
                end if;
            when 'fit' then
                v_model_id := sherlock.fit_vocabulary(p_collection, p_sample);
                select m.* into strict v_model
                from sherlock.tfidf_models as m
                where m.model_id = v_model_id;
                raise notice using message = format(
                    '%s: model %s has %s terms of %s documents, fitted in %s s', p_collection,
                    v_model_id, v_model.feature_count, v_model.fitted_document_count,
                    round(extract(epoch from clock_timestamp() - v_started), 1));
                v_step := 'count';
            when 'count' then
                v_total := sherlock._without_vector_count(v_model_id);
                v_done := 0;
                v_after := 0;
                v_started := clock_timestamp();
                v_step := 'vectorize';
            when 'vectorize' then
                select b.* into strict v_batch
                from sherlock._vectorize_batch(v_model_id, v_after, p_batch_size) as b;
                if v_batch.document_count = 0 then
                    v_step := 'index';
                else
                    v_after := v_batch.last_document_id;
                    v_done := v_done + v_batch.document_count;
                    raise notice using message = format(
                        '%s: %s of %s documents have got a vector of model %s, %s documents/s',
                        p_collection, v_done, greatest(v_done, v_total), v_model_id,
                        round(v_done / greatest(
                            extract(epoch from clock_timestamp() - v_started), 0.001)));
                end if;
            when 'index' then
                if c_index_from <= (
                    select count(*)
                    from sherlock.document_vectors as v
                    where v.model_id = v_model_id
                ) then
                    perform sherlock.build_tfidf_index(v_model_id);
                end if;
                v_step := 'activate';
            when 'activate' then
                begin
                    perform sherlock.activate_tfidf_model(v_model_id);
                    v_step := 'clear';
                exception when sqlstate 'SH032' then
                    -- A writer that began before the model was there has ended meanwhile.
                    v_step := 'count';
                end;
            when 'clear' then
                perform sherlock._clear_old_vocabularies(v_collection_id);
                v_step := 'done';
            end case;
            v_attempt := 1;
        exception
            when deadlock_detected or serialization_failure or lock_not_available then
                if v_attempt < c_max_attempts then
                    v_attempt := v_attempt + 1;
                elsif v_step = 'clear' then
                    raise warning using
                        message = format('%s: retired models are still being read and stay',
                                         p_collection),
                        hint = 'the next refresh drops them';
                    v_step := 'done';
                else
                    perform sherlock._release_vocabulary(v_collection_id);
                    raise;
                end if;
            when insufficient_privilege then
                perform sherlock._release_vocabulary(v_collection_id);
                get stacked diagnostics v_hint = pg_exception_hint;
                if v_hint = '' then
                    perform sherlock._refuse_change_of_vocabulary(sqlerrm);
                end if;
                raise;
            when others or query_canceled or assert_failure then
                perform sherlock._release_vocabulary(v_collection_id);
                raise;
        end;
        commit and chain;
        exit when v_step = 'done';
    end loop;
    perform sherlock._release_vocabulary(v_collection_id);
    raise notice using message = format('%s: model %s is in use', p_collection, v_model_id);
end;
$$;

create or replace procedure sherlock.refresh_vocabulary(
    p_collection text default 'default',
    p_sample integer default 20000,
    p_batch_size integer default 1000
)
language plpgsql
as $$
begin
    perform sherlock.collection_id(p_collection);
    perform sherlock._check_count('p_sample', p_sample, 2147483647);
    perform sherlock._check_count('p_batch_size', p_batch_size, 10000);
    call sherlock._refuse_transaction_block('sherlock.refresh_vocabulary()');
    call sherlock._change_vocabulary(p_collection, null, p_sample, p_batch_size);
end;
$$;

comment on procedure sherlock.refresh_vocabulary(text, integer, integer) is
'Gives a collection a new TF-IDF vocabulary: fits it (sherlock.fit_vocabulary), computes the vectors '
'of all documents, p_batch_size to a transaction (1 to 10000) with a NOTICE after each, builds an '
'index if there are 2,000 or more, and switches to it; call it outside of a transaction block. '
'Searches use the old model until the switch, and documents that arrive meanwhile get vectors of '
'both. The model in use before is kept, to go back to with sherlock.roll_back_vocabulary; older ones '
'keep their vocabulary while a match names them (archived), or are dropped. One session at a time, '
'the loader included, which waits. Interrupted, call it again: with the same sample and settings it '
'goes on where it was, unless the collection has grown by 10 % meanwhile. Verdicts stay as they are. '
'Writers wait during the switch, and it waits for theirs. Errors: SH002 no such collection, SH034 '
'nothing to fit on, SH035 another session is at it, SH036 a number out of range; 2D000 in a '
'transaction block, 42501 rights, 55P03 others held their locks all the while.';

create or replace procedure sherlock.roll_back_vocabulary(
    p_collection text default 'default',
    p_model_id integer default null,
    p_batch_size integer default 1000
)
language plpgsql
as $$
declare
    v_model_id integer := sherlock._check_earlier_vocabulary(p_collection, p_model_id);
begin
    perform sherlock._check_count('p_batch_size', p_batch_size, 10000);
    call sherlock._refuse_transaction_block('sherlock.roll_back_vocabulary()');
    call sherlock._change_vocabulary(p_collection, v_model_id, null, p_batch_size);
end;
$$;

comment on procedure sherlock.roll_back_vocabulary(text, integer, integer) is
'Goes back to a TF-IDF vocabulary that was in use before: p_model_id, retired or archived, or the '
'last one. First the documents without a vector of it get one, p_batch_size to a transaction (1 to '
'10000) with a NOTICE after each; those that arrive meanwhile get vectors of both. Then the switch, '
'as in sherlock.refresh_vocabulary; rolled back again, the collection is where it was. Verdicts stay '
'as they are. Call it outside of a transaction block; interrupted, call it again. Errors: SH002 no '
'such collection, SH035 another session is at it, SH036 a number out of range, SH038 there is no such '
'earlier vocabulary; 2D000 in a transaction block, 42501 rights, 55P03 others held their locks all '
'the while.';
