-- Level 2 without Python: fitting a vocabulary, the switch from one to the next, and how each
-- collection stands. sherlock_pg/vectorize does the same by the same rules; tests compare the two.

create or replace function sherlock._check_count(p_name text, p_count integer, p_max integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if (p_count between 1 and p_max) is not true then
        raise exception using
            errcode = 'SH036',
            message = format('%s is %s', p_name, coalesce(p_count::text, 'null')),
            hint = format('a number of documents, from 1 to %s', p_max);
    end if;
end;
$$;

-- The terms of a canonical text as sherlock.tfidf_vector has them, each with its frequency.
create or replace function sherlock._term_counts(
    p_canonical text,
    p_ngram_min integer,
    p_ngram_max integer
)
returns table (term text, frequency integer)
language sql immutable parallel safe
begin atomic
    select n.term, count(*)::integer
    from (
        select array(
            select t.token
            from string_to_table(p_canonical, ' ') as t (token)
            where octet_length(t.token) between 2 and 100
        ) as tokens
        offset 0
    ) as d
    cross join lateral unnest(d.tokens, d.tokens[2:]) as u (token, next_token)
    cross join lateral (
        select u.token as term
        where p_ngram_min = 1
        union all
        select u.token || ' ' || u.next_token
        where p_ngram_max = 2 and u.next_token is not null
    ) as n
    group by n.term;
end;

create or replace function sherlock.fit_vocabulary(
    p_collection text default 'default',
    p_sample integer default 20000
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    c_portion constant integer := 500;
    v_collection sherlock.collections;
    v_text_count integer;
    v_terms text[];
    v_idf double precision[];
begin
    perform sherlock._check_count('p_sample', p_sample, 2147483647);
    select c.* into strict v_collection
    from sherlock.collections as c
    where c.collection_id = sherlock.collection_id(p_collection);

    with sample as (
        select d.document_id, row_number() over w as position
        from sherlock.documents as d
        where d.collection_id = v_collection.collection_id and d.text_state = 'indexed'
        window w as (order by hashint8extended(d.document_id, 1), d.document_id)
        order by position
        limit p_sample
    ),
    -- document_texts keeps what it returns until the call ends.
    portions as (
        select array_agg(s.document_id) as document_ids
        from sample as s
        group by s.position / c_portion
    ),
    kept as (
        -- Each text counts as one null too: the row of the null, always kept, counts the texts.
        select o.term, count(*) as document_count
        from portions as p
        cross join lateral sherlock.document_texts(p.document_ids) as d
        cross join lateral (
            select t.term collate "C" as term, t.frequency
            from sherlock._term_counts(
                sherlock.canonical_text(d.content), v_collection.tfidf_ngram_min,
                v_collection.tfidf_ngram_max) as t
            union all
            select null, 1
        ) as o
        group by o.term
        order by o.term is not null, sum(o.frequency) desc, strpos(o.term, ' ') > 0, o.term
        limit v_collection.tfidf_max_features + 1
    ),
    counted as (
        select k.term, k.document_count,
               max(k.document_count) filter (where k.term is null) over () as text_count
        from kept as k
    )
    select max(c.text_count),
           array_agg(c.term order by c.term) filter (where c.term is not null),
           array_agg(ln((c.text_count + 1)::float8 / (c.document_count + 1)) + 1 order by c.term)
               filter (where c.term is not null)
    into v_text_count, v_terms, v_idf
    from counted as c;
    if v_terms is null then
        raise exception using
            errcode = 'SH034',
            message = format('collection %s has nothing to fit a vocabulary on',
                             quote_literal(p_collection)),
            detail = format('indexed documents with a text: %s; with a word of two letters: 0',
                            coalesce(v_text_count, 0)),
            hint = 'put texts in first, or call sherlock.backfill for a watched table; why others '
                   'do not count: select text_state, count(*) from sherlock.documents group by 1';
    end if;
    return sherlock.create_tfidf_model(
        p_collection, v_terms, v_idf, v_text_count, v_collection.tfidf_ngram_min,
        v_collection.tfidf_ngram_max);
end;
$$;

comment on function sherlock.fit_vocabulary(text, integer) is
'Fits a TF-IDF vocabulary on a sample of a collection''s indexed documents (p_sample of them, 1 or '
'more, always the same ones; all if there are fewer) and stores it as a new model, in status '
'building; returns its id. Keeps the tfidf_max_features most frequent terms of the collection''s '
'n-gram range; of equally frequent ones shorter n-grams first, then in code point order. Equal to '
'the fit of the loader. Larger samples than 20,000 change cosines by about 0.001. Nothing uses the '
'model yet: sherlock.refresh_vocabulary does all of it. Errors: SH002 no such collection, SH034 '
'nothing to fit on, SH036 p_sample out of range.';

-- One holder at a time, here and in the loader (lifecycle.py), which takes the same lock.
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
        message = 'another session is refreshing the vocabulary of this collection',
        detail = format('process id: %s', coalesce(
            sherlock._vocabulary_lock_holder(p_collection_id)::text, 'it ended just now')),
        hint = 'wait until refreshing_pid is null in sherlock.vocabulary_status; that refresh does '
               'what this one would';
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

create or replace function sherlock._drop_tfidf_models(
    p_collection_id integer,
    p_status text,
    p_keep integer
)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_model_id integer;
begin
    for v_model_id in
        select m.model_id
        from sherlock.tfidf_models as m
        where m.collection_id = p_collection_id and m.status = p_status
        order by m.model_id desc
        offset p_keep
    loop
        perform sherlock.drop_tfidf_model(v_model_id);
    end loop;
end;
$$;

-- By id, and not "the next without a vector": rows that are gone from a watched table never get one.
create or replace function sherlock._vectorize_batch(
    p_model_id integer,
    p_after bigint,
    p_limit integer,
    out last_document_id bigint,
    out document_count integer
)
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_ids bigint[];
begin
    v_document_ids := array(
        select d.document_id
        from sherlock.documents as d
        where d.collection_id = (
                select m.collection_id
                from sherlock.tfidf_models as m
                where m.model_id = p_model_id
            )
          and d.text_state = 'indexed'
          and d.document_id > p_after
        order by d.document_id
        limit p_limit
    );
    document_count := cardinality(v_document_ids);
    last_document_id := v_document_ids[document_count];
    perform sherlock.vectorize_documents(p_model_id, v_document_ids);
end;
$$;

-- No search_path of its own, because a procedure with one cannot commit: all names are qualified.
-- All work is done in the one block that lets go of the lock when it fails; a procedure cannot
-- commit within such a block, so each turn of the loop is one step and its commit.
create or replace procedure sherlock.refresh_vocabulary(
    p_collection text default 'default',
    p_sample integer default 20000,
    p_batch_size integer default 1000
)
language plpgsql
as $$
declare
    c_index_from constant integer := 2000;
    c_max_attempts constant integer := 5;
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_started timestamptz := clock_timestamp();
    v_step text := 'clean';
    v_attempt integer := 1;
    v_model_id integer;
    v_model sherlock.tfidf_models;
    v_batch record;
    v_after bigint := 0;
    v_done bigint := 0;
    v_total bigint;
begin
    perform sherlock._check_count('p_sample', p_sample, 2147483647);
    perform sherlock._check_count('p_batch_size', p_batch_size, 10000);
    call sherlock._refuse_transaction_block('sherlock.refresh_vocabulary()');
    commit;
    -- With an older snapshot the switch would not see documents that it has just waited for.
    set transaction isolation level read committed;
    perform sherlock._hold_vocabulary(v_collection_id);
    loop
        begin
            case v_step
            when 'clean' then
                perform sherlock._drop_tfidf_models(v_collection_id, 'building', p_keep => 0);
                v_step := 'fit';
            when 'fit' then
                v_model_id := sherlock.fit_vocabulary(p_collection, p_sample);
                select m.* into strict v_model
                from sherlock.tfidf_models as m
                where m.model_id = v_model_id;
                raise notice using message = format(
                    '%s: model %s has %s terms of %s documents, fitted in %s s', p_collection,
                    v_model_id, v_model.feature_count, v_model.fitted_document_count,
                    round(extract(epoch from clock_timestamp() - v_started), 1));
                select count(*) into v_total
                from sherlock.documents as d
                where d.collection_id = v_collection_id and d.text_state = 'indexed';
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
                        '%s: %s of %s documents have a vector of model %s, %s documents/s',
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
                    v_step := 'drop';
                exception when sqlstate 'SH032' then
                    -- A writer that began before the model was there has ended meanwhile.
                    v_after := 0;
                    v_done := 0;
                    v_step := 'vectorize';
                end;
            when 'drop' then
                perform sherlock._drop_tfidf_models(v_collection_id, 'retired', p_keep => 1);
                v_step := 'done';
            end case;
            v_attempt := 1;
        exception
            when deadlock_detected or serialization_failure or lock_not_available then
                if v_attempt < c_max_attempts then
                    v_attempt := v_attempt + 1;
                elsif v_step = 'drop' then
                    raise warning using
                        message = format('%s: retired models are still being read and stay',
                                         p_collection),
                        hint = 'the next refresh drops them';
                    v_step := 'done';
                else
                    perform sherlock._release_vocabulary(v_collection_id);
                    raise;
                end if;
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

comment on procedure sherlock.refresh_vocabulary(text, integer, integer) is
'Gives a collection a new TF-IDF vocabulary: fits it (sherlock.fit_vocabulary), computes the vectors '
'of all documents, p_batch_size to a transaction (1 to 10000) with a NOTICE after each, builds an '
'index if there are 2,000 or more, and switches to it; call it outside of a transaction block. '
'Searches use the old model until the switch, and documents that arrive meanwhile get vectors of '
'both. The newest retired model is kept, to go back to with sherlock.activate_tfidf_model. One '
'session at a time, the loader included, which waits. Interrupted, call it again: it begins anew '
'and drops what was unfinished. Verdicts stay as they are. Writers wait during the switch, and it '
'waits for theirs. Errors: SH002 no such collection, SH034 nothing to fit on, SH035 another session '
'is at it, SH036 a number out of range; 2D000 in a transaction block, 55P03 others held their locks '
'all the while.';

create or replace view sherlock.vocabulary_status as
select c.name as collection, m.model_id, m.activated_at, m.feature_count as term_count,
       m.fitted_document_count, d.document_count,
       d.document_count::double precision / m.fitted_document_count as growth_ratio,
       case
           when m.model_id is not null
           then d.without_vector_count::double precision / nullif(d.document_count, 0)
       end as without_vector_share,
       case
           when m.model_id is null then d.document_count > 0
           when m.fitted_document_count >= 20000 then false
           else d.document_count >= 2 * m.fitted_document_count
       end as is_due,
       sherlock._vocabulary_lock_holder(c.collection_id) as refreshing_pid
from sherlock.collections as c
left join sherlock.tfidf_models as m
    on m.collection_id = c.collection_id and m.status = 'active'
cross join lateral (
    select count(*) as document_count,
           count(*) filter (where not exists (
               select from sherlock.document_vectors as v
               where v.document_id = i.document_id and v.model_id = m.model_id
           )) as without_vector_count
    from sherlock.documents as i
    where i.collection_id = c.collection_id and i.text_state = 'indexed'
) as d;

comment on view sherlock.vocabulary_status is
'Level 2 of each collection: the vocabulary in use, and whether it still fits. Reads all documents.';
comment on column sherlock.vocabulary_status.collection is 'The collection.';
comment on column sherlock.vocabulary_status.model_id is
'The TF-IDF model in use; null: none, and level 2 is absent.';
comment on column sherlock.vocabulary_status.activated_at is 'Since when it is in use.';
comment on column sherlock.vocabulary_status.term_count is 'Terms of its vocabulary.';
comment on column sherlock.vocabulary_status.fitted_document_count is
'Documents that it was fitted on; a sample, where the collection had more than 20,000.';
comment on column sherlock.vocabulary_status.document_count is
'Indexed documents now: those that take part in all levels.';
comment on column sherlock.vocabulary_status.growth_ratio is
'document_count / fitted_document_count; null without a model.';
comment on column sherlock.vocabulary_status.without_vector_share is
'Share of the indexed documents without a vector of the model, 0 to 1: they are found by the other '
'levels only. Null without a model or documents.';
comment on column sherlock.vocabulary_status.is_due is
'Whether to call sherlock.refresh_vocabulary: there is no model but documents, or there are twice as '
'many documents as it was fitted on. Never once it was fitted on 20,000: from there on growth alone '
'hardly changes it. The loader refreshes by the same rule.';
comment on column sherlock.vocabulary_status.refreshing_pid is
'Session that is refreshing the vocabulary now (see pg_stat_activity); null if none is.';
