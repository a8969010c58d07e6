-- Level 2: the life of TF-IDF models. building → active → retired → archived or dropped. Each model
-- has a partition of document_vectors and an index of its own, so that a new one is filled beside the
-- active one and the switch is an update of two rows. An archived model keeps its vocabulary, so that
-- the matches that it made can be explained, but no vectors. A retired or archived model becomes
-- building again on its way back: documents that arrive then get vectors of it too.

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
            message = format('there is no TF-IDF model %s', coalesce(p_model_id::text, 'null')),
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
            when sherlock.skeleton(u.term) <> u.term
            then format('the term %s is not in the form that texts are compared in, %s',
                        quote_literal(left(u.term, c_max_token_bytes)),
                        quote_literal(sherlock.skeleton(left(u.term, c_max_token_bytes))))
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
            hint = 'fit it on what sherlock.skeleton(sherlock.canonical_text(...)) gives; each term '
                   'needs one idf, at the same position';
    end if;
end
$$;

create or replace function sherlock._create_vector_partition(p_model_id integer)
returns void
language plpgsql volatile
set search_path from current
as $$
declare
    v_partition text := 'document_vectors_model_' || p_model_id;
begin
    -- Attached instead of created as a partition, which would lock out all readers of the vectors.
    execute format(
        'create table sherlock.%I (like sherlock.document_vectors including all)'
        ' with (toast_tuple_target = 8160)',
        v_partition);
    execute format(
        'alter table sherlock.document_vectors attach partition sherlock.%I for values in (%L)',
        v_partition, p_model_id);
    execute format(
        'comment on table sherlock.%I is %L',
        v_partition, format('Level 2: TF-IDF vectors of model %s.', p_model_id));
end
$$;

create or replace function sherlock.create_tfidf_model(
    p_collection text,
    p_terms text[],
    p_idf double precision[],
    p_fitted_document_count integer,
    p_ngram_min integer,
    p_ngram_max integer,
    p_sample_limit integer default null
)
returns integer
language plpgsql volatile security definer
set search_path from current
as $$
declare
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_model_id integer;
begin
    perform sherlock._check_tfidf_vocabulary(
        p_terms, p_idf, p_fitted_document_count, p_ngram_min, p_ngram_max);

    insert into sherlock.tfidf_models (
        collection_id, feature_count, fitted_document_count, ngram_min, ngram_max, sample_limit,
        max_features, document_count, known_numbers, known_number_idf)
    select c.collection_id, cardinality(p_terms), p_fitted_document_count, p_ngram_min,
           p_ngram_max, p_sample_limit, c.tfidf_max_features,
           greatest(p_fitted_document_count, sherlock._indexed_document_count(c.collection_id)),
           k.numbers, k.idf
    from sherlock.collections as c
    cross join lateral (
        select coalesce(array_agg(n.number order by n.number), '{}') as numbers,
               coalesce(array_agg(u.idf order by n.number), '{}') as idf
        from unnest(p_terms, p_idf) as u (term, idf)
        -- The skeleton of a number tells it.
        cross join lateral (select translate(u.term, 'oizshg', '012589') as number) as n
        where length(n.number) >= 3 and ltrim(n.number, '0123456789') = ''
    ) as k
    where c.collection_id = v_collection_id
    returning model_id into v_model_id;
    insert into sherlock.tfidf_features (model_id, term, feature_index, idf)
    select v_model_id, u.term, u.feature_index, u.idf
    from unnest(p_terms, p_idf) with ordinality as u(term, idf, feature_index);
    -- Without statistics the planner expects a handful of features and compares each term of a
    -- text with all of them.
    analyze sherlock.tfidf_features;

    perform sherlock._create_vector_partition(v_model_id);
    return v_model_id;
end
$$;

comment on function sherlock.create_tfidf_model(
    text, text[], double precision[], integer, integer, integer, integer) is
'Stores a fitted vocabulary as a new model of a collection, in status building, with an empty '
'partition for its vectors; returns its id. p_sample_limit: the documents that the fit read at most. '
'Then: vectorize_missing until it returns 0, build_tfidf_index, activate_tfidf_model. Errors: SH002 '
'no such collection, SH031 the vocabulary is not valid.';

-- Archived models have no partition.
create or replace function sherlock._check_has_vectors(p_model sherlock.tfidf_models)
returns void
language plpgsql immutable
as $$
begin
    if p_model.status = 'archived' then
        raise exception using
            errcode = 'SH037',
            message = format('TF-IDF model %s is archived: it has a vocabulary but no vectors',
                             p_model.model_id),
            hint = format('to go back to it: call sherlock.roll_back_vocabulary(p_collection => '
                          '..., p_model_id => %s)', p_model.model_id);
    end if;
end;
$$;

-- Lists of about 150 vectors, of which sherlock.vector_candidates reads 40: a vector is put into one
-- by comparing it with their centres, a fiftieth of what an insert into an HNSW index costs, and
-- filings, which lie in clusters, are found as well. Shorter ones while that makes no more than 150
-- lists, so that few thousand vectors aren't nearly all read either. Lists that have become three times
-- as long are made anew, because a search reads all of each.
create or replace function sherlock._most_lists(p_memory_bytes bigint)
returns integer
language sql immutable parallel safe
-- To find the centres pgvector holds four bytes for each list and each of its samples, 50 a list and
-- at least 10,000, and refuses what is more than maintenance_work_mem: 64 MB are enough for 500 lists.
-- It counts these in an integer.
return greatest(1, least(
    6500,
    sqrt(0.8 * p_memory_bytes / 208),
    0.8 * p_memory_bytes / 40000 - 20))::integer;

create or replace function sherlock.build_tfidf_index(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
set client_min_messages = warning
as $$
declare
    c_list_length constant integer := 150;
    c_short_list_length constant integer := 50;
    c_most_short_lists constant integer := 150;
    c_too_long constant integer := 3;
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
    v_partition text := 'document_vectors_model_' || v_model.model_id;
    v_index text := v_partition || '_sign_bits_idx';
    v_list_count integer;
    v_present_count integer;
begin
    perform sherlock._check_has_vectors(v_model);
    select least(
               greatest(
                   count(*) / c_list_length,
                   least(count(*) / c_short_list_length, c_most_short_lists), 1),
               sherlock._most_lists(pg_size_bytes(current_setting('maintenance_work_mem'))))
    into v_list_count
    from sherlock.document_vectors as v
    where v.model_id = p_model_id and v.sign_bits is not null;
    select split_part(o.option, '=', 2)::integer into v_present_count
    from pg_class as c
    cross join lateral unnest(c.reloptions) as o (option)
    where c.oid = to_regclass(format('sherlock.%I', v_index)) and o.option like 'lists=%';
    if v_list_count < c_too_long * v_present_count then
        return;
    end if;
    execute format('drop index if exists sherlock.%I', v_index);
    execute format(
        'create index %I on sherlock.%I using ivfflat (sign_bits bit_hamming_ops) with (lists = %s)',
        v_index, v_partition, v_list_count);
    execute format(
        'comment on index sherlock.%I is %L',
        v_index, 'Usage: vector_candidates; the nearest sign patterns.');
end
$$;

comment on function sherlock.build_tfidf_index(integer) is
'Builds the IVFFlat index on a model''s sign bits, unless it is there and still fits: its lists are '
'made from the vectors that are stored, so call it after those, and again when there are three times '
'as many (sherlock-pg load does). From some 170,000 vectors on, lists are longer unless '
'maintenance_work_mem is more than 256 MB. Without it retrieval reads all of them. Errors: SH030 no such '
'model, SH037 the model is archived.';

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
    perform sherlock._check_has_vectors(v_model);
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
'model, SH032 documents lack a vector of it, SH037 the model is archived.';

create or replace function sherlock._refuse_active_model(p_model sherlock.tfidf_models)
returns void
language plpgsql immutable
as $$
begin
    if p_model.status = 'active' then
        raise exception using
            errcode = 'SH033',
            message = format('TF-IDF model %s is the active one of its collection',
                             p_model.model_id),
            hint = 'activate another model of the collection first';
    end if;
end;
$$;

create or replace function sherlock.archive_tfidf_model(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
set lock_timeout = '10s'
as $$
declare
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
begin
    perform sherlock._refuse_active_model(v_model);
    if v_model.status = 'archived' then
        return;
    end if;
    execute format('drop table sherlock.%I', 'document_vectors_model_' || p_model_id);
    update sherlock.tfidf_models as m
    set status = 'archived'
    where m.model_id = p_model_id;
end
$$;

comment on function sherlock.archive_tfidf_model(integer) is
'Drops the vectors of a building or retired model and keeps its vocabulary, so that '
'sherlock.compare_versions still explains the matches that it made, and '
'sherlock.roll_back_vocabulary can go back to it. Readers of vectors wait for the transaction''s end; '
'it waits for them ten seconds at most. Errors: SH030 no such model, SH033 the model is active.';

-- On the way back: index_documents gives documents that arrive vectors of models that are building.
create or replace function sherlock._reopen_tfidf_model(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
as $$
declare
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
begin
    if v_model.status = 'archived' then
        perform sherlock._create_vector_partition(p_model_id);
    end if;
    update sherlock.tfidf_models as m
    set status = 'building'
    where m.model_id = p_model_id and m.status in ('retired', 'archived');
end
$$;

create or replace function sherlock.drop_tfidf_model(p_model_id integer)
returns void
language plpgsql volatile security definer
set search_path from current
set lock_timeout = '10s'
as $$
declare
    v_model sherlock.tfidf_models := sherlock._lock_tfidf_model(p_model_id);
begin
    perform sherlock._refuse_active_model(v_model);
    if v_model.status <> 'archived' then
        execute format('drop table sherlock.%I', 'document_vectors_model_' || p_model_id);
    end if;
    delete from sherlock.tfidf_features as f where f.model_id = p_model_id;
    delete from sherlock.tfidf_models as m where m.model_id = p_model_id;
end
$$;

comment on function sherlock.drop_tfidf_model(integer) is
'Drops a model with its vocabulary and vectors; matches that it made keep its number and can no '
'longer be explained by it (see archive_tfidf_model). Readers of vectors wait for the transaction''s '
'end; it waits for them ten seconds at most. Errors: SH030 no such model, SH033 the model is active.';
