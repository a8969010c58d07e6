-- Level 2: the life of TF-IDF models. building → active → retired → dropped; a retired model can
-- be activated again. Each model has a partition of document_vectors and an index of its own, so
-- that a new one is filled beside the active one and the switch is an update of two rows.

-- Locks the collection's row first, then the model's: the one order that all of them use.
create or replace function sherlock._lock_tfidf_model(p_model_id integer)
returns sherlock.tfidf_models
language plpgsql volatile
set search_path from current
as $$
declare
    v_model sherlock.tfidf_models;
begin
    perform c.collection_id
    from sherlock.collections as c
    where c.collection_id = (
        select m.collection_id from sherlock.tfidf_models as m where m.model_id = p_model_id
    )
    for no key update;
    select m.* into v_model
    from sherlock.tfidf_models as m
    where m.model_id = p_model_id
    for update;
    if not found then
        raise exception using
            errcode = 'SH030',
            message = format('there is no TF-IDF model %s', p_model_id),
            hint = 'see: select model_id, status from sherlock.tfidf_models';
    end if;
    return v_model;
end
$$;

create or replace function sherlock._check_tfidf_vocabulary(
    p_terms text[],
    p_idf double precision[],
    p_fitted_document_count integer,
    p_ngram_min integer,
    p_ngram_max integer
)
returns void
language plpgsql immutable
as $$
declare
    c_max_features constant integer := 5000;
    c_max_token_bytes constant integer := 100;
    v_term_count integer := coalesce(cardinality(p_terms), 0);
    v_problem text;
begin
    v_problem := case
        when v_term_count = 0 then 'it has no terms'
        when v_term_count > c_max_features
        then format('it has %s terms, more than %s', v_term_count, c_max_features)
        when v_term_count is distinct from cardinality(p_idf)
        then format('it has %s terms but %s weights', v_term_count,
                    coalesce(cardinality(p_idf), 0))
        when p_fitted_document_count >= 1 is not true
        then 'the number of documents it was fitted on must be 1 or more'
        when (p_ngram_min >= 1 and p_ngram_max between p_ngram_min and 2) is not true
        then 'its n-grams must have 1 to 2 tokens'
    end;
    if v_problem is null then
        select min(case
            when u.term is null
                 or (cardinality(string_to_array(u.term, ' '))
                     between p_ngram_min and p_ngram_max) is not true
            then format('the term %s is not an n-gram of %s to %s tokens',
                        quote_nullable(left(u.term, c_max_token_bytes)), p_ngram_min, p_ngram_max)
            when exists (
                select from string_to_table(u.term, ' ') as t (token)
                where octet_length(t.token) > c_max_token_bytes
            )
            then format('the term that begins with %s has a token of more than %s bytes',
                        quote_literal(left(u.term, 20)), c_max_token_bytes)
            when (u.idf between 0.001 and 1000) is not true
            then format('the weight of the term %s is %s, not between 0.001 and 1000',
                        quote_nullable(u.term), coalesce(u.idf::text, 'null'))
            when u.occurrence > 1
            then format('the term %s occurs twice', quote_nullable(u.term))
        end) into v_problem
        from (
            select t.term, t.idf, row_number() over (partition by t.term) as occurrence
            from unnest(p_terms, p_idf) as t(term, idf)
        ) as u;
    end if;
    if v_problem is not null then
        raise exception using
            errcode = 'SH031',
            message = 'the TF-IDF vocabulary is not valid',
            detail = v_problem,
            hint = 'fit it on canonical texts; each term needs one idf, at the same position';
    end if;
end
$$;

create or replace function sherlock.create_tfidf_model(
    p_collection text,
    p_terms text[],
    p_idf double precision[],
    p_fitted_document_count integer,
    p_ngram_min integer,
    p_ngram_max integer
)
returns integer
language plpgsql volatile security definer
set search_path from current
as $$
declare
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_model_id integer;
    v_partition text;
begin
    perform sherlock._check_tfidf_vocabulary(
        p_terms, p_idf, p_fitted_document_count, p_ngram_min, p_ngram_max);

    insert into sherlock.tfidf_models
        (collection_id, feature_count, fitted_document_count, ngram_min, ngram_max)
    values
        (v_collection_id, cardinality(p_terms), p_fitted_document_count, p_ngram_min, p_ngram_max)
    returning model_id into v_model_id;
    insert into sherlock.tfidf_features (model_id, term, feature_index, idf)
    select v_model_id, u.term, u.feature_index, u.idf
    from unnest(p_terms, p_idf) with ordinality as u(term, idf, feature_index);
    -- Without statistics the planner expects a handful of features and compares each term of a
    -- text with all of them.
    analyze sherlock.tfidf_features;

    -- Attached instead of created as a partition, which would lock out all readers of the vectors.
    v_partition := 'document_vectors_model_' || v_model_id;
    execute format(
        'create table sherlock.%I (like sherlock.document_vectors including all)'
        ' with (toast_tuple_target = 8160)',
        v_partition);
    execute format(
        'alter table sherlock.document_vectors attach partition sherlock.%I for values in (%L)',
        v_partition, v_model_id);
    execute format(
        'comment on table sherlock.%I is %L',
        v_partition, format('Level 2: TF-IDF vectors of model %s.', v_model_id));
    return v_model_id;
end
$$;

comment on function sherlock.create_tfidf_model(
    text, text[], double precision[], integer, integer, integer) is
'Stores a fitted vocabulary as a new model of a collection, in status building, with an empty '
'partition for its vectors; returns its id. Then: vectorize_missing until it returns 0, '
'build_tfidf_index, activate_tfidf_model. Errors: SH002 no such collection, SH031 the vocabulary '
'is not valid.';

create or replace function sherlock.build_tfidf_index(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
set client_min_messages = warning
as $$
declare
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
    v_partition text := 'document_vectors_model_' || v_model.model_id;
    v_index text := v_partition || '_sign_bits_idx';
begin
    execute format(
        'create index if not exists %I on sherlock.%I using hnsw (sign_bits bit_hamming_ops)'
        ' with (m = 24, ef_construction = 200)',
        v_index, v_partition);
    execute format(
        'comment on index sherlock.%I is %L',
        v_index, 'Usage: vector_candidates; the nearest sign patterns.');
end
$$;

comment on function sherlock.build_tfidf_index(integer) is
'Builds the HNSW index on a model''s sign bits, unless it is there; much faster after the vectors '
'are stored than before. Without it retrieval reads all of them. Error: SH030 no such model.';

-- In the order of the ids: two sessions with overlapping documents then wait for each other in
-- one direction only. Offset 0 keeps each vector from being computed twice.
create or replace function sherlock._vectorize_texts(
    p_model_id integer,
    p_document_ids bigint[],
    p_canonical_texts text[]
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_count integer;
begin
    insert into sherlock.document_vectors (document_id, model_id, vector, sign_bits)
    select t.document_id, p_model_id, t.vector, sherlock.sign_projection(t.vector)
    from (
        select d.document_id, sherlock.tfidf_vector(p_model_id, d.canonical) as vector
        from (
            select i.document_id, i.canonical
            from unnest(p_document_ids, p_canonical_texts) as i (document_id, canonical)
            where not exists (
                select from sherlock.document_vectors as v
                where v.model_id = p_model_id and v.document_id = i.document_id
            )
            order by i.document_id
        ) as d
        offset 0
    ) as t
    on conflict do nothing;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

create or replace function sherlock.vectorize_documents(
    p_model_id integer,
    p_document_ids bigint[]
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection_id integer;
    v_document_ids bigint[];
    v_canonical_texts text[];
begin
    select m.collection_id into v_collection_id
    from sherlock.tfidf_models as m
    where m.model_id = p_model_id;
    if not found then
        raise exception using
            errcode = 'SH030',
            message = format('there is no TF-IDF model %s', p_model_id),
            hint = 'see: select model_id, status from sherlock.tfidf_models';
    end if;
    select array_agg(t.document_id), array_agg(sherlock.canonical_text(t.content))
    into v_document_ids, v_canonical_texts
    from sherlock.document_texts(array(
        select d.document_id
        from sherlock.documents as d
        where d.document_id = any (p_document_ids)
          and d.collection_id = v_collection_id
          and d.text_state = 'indexed'
          and not exists (
              select from sherlock.document_vectors as v
              where v.model_id = p_model_id and v.document_id = d.document_id
          )
    )) as t;
    return sherlock._vectorize_texts(p_model_id, v_document_ids, v_canonical_texts);
end
$$;

comment on function sherlock.vectorize_documents(integer, bigint[]) is
'Computes and stores the vectors of those of the documents that are indexed, belong to the '
'model''s collection, have a text and have no vector of the model yet; returns how many. '
'Error: SH030 no such model.';

create or replace function sherlock.vectorize_missing(
    p_model_id integer,
    p_limit integer default 1000
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_ids bigint[];
    v_last_id bigint := 0;
    v_count integer := 0;
begin
    -- Documents whose text is gone, with the row of a watched table, never get one: pass over them.
    while v_count = 0 loop
        v_document_ids := array(
            select d.document_id
            from sherlock.documents as d
            where d.collection_id = (
                    select m.collection_id
                    from sherlock.tfidf_models as m
                    where m.model_id = p_model_id
                )
              and d.document_id > v_last_id
              and d.text_state = 'indexed'
              and (d.content is not null
                   or exists (
                       select from sherlock.watched_rows as w
                       where w.document_id = d.document_id))
              and not exists (
                  select from sherlock.document_vectors as v
                  where v.model_id = p_model_id and v.document_id = d.document_id
              )
            order by d.document_id
            limit p_limit
        );
        v_count := sherlock.vectorize_documents(p_model_id, v_document_ids);
        v_last_id := v_document_ids[cardinality(v_document_ids)];
        exit when v_last_id is null;
    end loop;
    return v_count;
end
$$;

comment on function sherlock.vectorize_missing(integer, integer) is
'Computes and stores the vectors of the next documents of the model''s collection that have none; '
'returns how many. Call it, one transaction each, until it returns 0. Error: SH030 no such model.';

-- The lock on documents lets writers that still saw the old model finish first, so that none of
-- their documents stays without a vector of the new one.
create or replace function sherlock.activate_tfidf_model(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
set lock_timeout = '10s'
as $$
declare
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
    v_missing_count bigint;
    v_elsewhere_count bigint;
begin
    if v_model.status = 'active' then
        return;
    end if;
    lock table sherlock.documents in share mode;
    select count(*) filter (where d.content is not null),
           count(*) filter (where d.content is null)
    into v_missing_count, v_elsewhere_count
    from sherlock.documents as d
    where d.collection_id = v_model.collection_id
      and d.text_state = 'indexed'
      and not exists (
          select from sherlock.document_vectors as v
          where v.model_id = p_model_id and v.document_id = d.document_id
      );
    if v_missing_count > 0 then
        raise exception using
            errcode = 'SH032',
            message = format('TF-IDF model %s is not complete', p_model_id),
            detail = format('%s indexed documents have no vector of it', v_missing_count),
            hint = format('call until it returns 0: select sherlock.vectorize_missing(%s)',
                          p_model_id);
    end if;
    if v_elsewhere_count > 0 then
        raise warning using
            message = format('%s documents whose text is not stored here have no vector of '
                             'TF-IDF model %s', v_elsewhere_count, p_model_id),
            hint = 'give their text again; until then they are found by the other levels only';
    end if;
    update sherlock.tfidf_models as m
    set status = 'retired'
    where m.collection_id = v_model.collection_id and m.status = 'active';
    update sherlock.tfidf_models as m
    set status = 'active', activated_at = now()
    where m.model_id = p_model_id;
end
$$;

comment on function sherlock.activate_tfidf_model(integer) is
'Makes a model the one that its collection uses and retires the one before, in one step. A '
'retired model can be activated again; an active one stays as it is. Writers of documents wait '
'until the transaction ends, and it waits for theirs, ten seconds at most. Errors: SH030 no such '
'model, SH032 documents lack a vector of it.';

create or replace function sherlock.drop_tfidf_model(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
set lock_timeout = '10s'
as $$
declare
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
begin
    if v_model.status = 'active' then
        raise exception using
            errcode = 'SH033',
            message = format('TF-IDF model %s is the active one of its collection', p_model_id),
            hint = 'activate another model of the collection first';
    end if;
    execute format('drop table sherlock.%I', 'document_vectors_model_' || p_model_id);
    delete from sherlock.tfidf_features as f where f.model_id = p_model_id;
    delete from sherlock.tfidf_models as m where m.model_id = p_model_id;
end
$$;

comment on function sherlock.drop_tfidf_model(integer) is
'Drops a building or retired model with its vocabulary and vectors. Readers of vectors wait for '
'the transaction''s end; it waits for them ten seconds at most. Errors: SH030 no such model, SH033 '
'the model is active.';
