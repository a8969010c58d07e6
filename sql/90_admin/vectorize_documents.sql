-- Level 2: the vectors of documents under a model, from their texts, in bounded batches.

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
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
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
    v_model sherlock.tfidf_models;
    v_document_ids bigint[];
    v_canonical_texts text[];
begin
    select m.* into v_model
    from sherlock.tfidf_models as m
    where m.model_id = p_model_id;
    if not found then
        raise exception using
            errcode = 'SH030',
            message = format('there is no TF-IDF model %s', coalesce(p_model_id::text, 'null')),
            hint = 'see: select model_id, status from sherlock.tfidf_models';
    end if;
    perform sherlock._check_has_vectors(v_model);
    select array_agg(t.document_id), array_agg(sherlock.canonical_text(t.content))
    into v_document_ids, v_canonical_texts
    from sherlock.document_texts(array(
        select d.document_id
        from sherlock.documents as d
        where d.document_id = any (p_document_ids)
          and d.collection_id = v_model.collection_id
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
'Errors: SH030 no such model, SH037 the model is archived.';

create or replace function sherlock._without_vector_count(p_model_id integer)
returns bigint
language sql stable
return (
    select count(*)
    from sherlock.tfidf_models as m
    join sherlock.documents as d on d.collection_id = m.collection_id
    where m.model_id = p_model_id
      and d.text_state = 'indexed'
      and not exists (
          select from sherlock.document_vectors as v
          where v.model_id = p_model_id and v.document_id = d.document_id
      )
);

-- By id, so that a fill reads each document once: the next ones without a vector, from p_after on.
create or replace function sherlock._ids_without_vector(
    p_model_id integer,
    p_after bigint,
    p_limit integer
)
returns bigint[]
language sql stable
return array(
    select d.document_id
    from sherlock.documents as d
    where d.collection_id = (
            select m.collection_id
            from sherlock.tfidf_models as m
            where m.model_id = p_model_id
        )
      and d.text_state = 'indexed'
      and d.document_id > p_after
      and not exists (
          select from sherlock.document_vectors as v
          where v.model_id = p_model_id and v.document_id = d.document_id
      )
    order by d.document_id
    limit p_limit
);

-- The same with their texts, for Python, which makes the vectors in a quarter of the time. A text that
-- is gone is null. indexed_at tells afterwards whether it is still that text.
create or replace function sherlock._next_without_vector(
    p_model_id integer,
    p_after bigint,
    p_limit integer
)
returns table (document_id bigint, indexed_at timestamptz, content text)
language plpgsql stable
set search_path from current
as $$
declare
    v_document_ids constant bigint[] := sherlock._ids_without_vector(p_model_id, p_after, p_limit);
begin
    return query
    select d.document_id, d.indexed_at, t.content
    from sherlock.documents as d
    left join sherlock.document_texts(v_document_ids) as t using (document_id)
    where d.document_id = any(v_document_ids);
end;
$$;

-- Which of these documents still need a vector of the text that they had then; until the
-- transaction ends they keep it.
create or replace function sherlock._hold_without_vector(
    p_model_id integer,
    p_document_ids bigint[],
    p_indexed_at timestamptz[]
)
returns setof bigint
language plpgsql volatile
set search_path from current
as $$
begin
    return query
    select d.document_id
    from sherlock.documents as d
    join unnest(p_document_ids, p_indexed_at) as t (document_id, indexed_at) using (document_id)
    where d.text_state = 'indexed'
      and d.indexed_at is not distinct from t.indexed_at
      and not exists (
          select from sherlock.document_vectors as v
          where v.model_id = p_model_id and v.document_id = d.document_id
      )
    order by d.document_id
    for share of d;
end;
$$;

-- Rows that are gone from a watched table never get one; the caller passes over them.
create or replace function sherlock._vectorize_batch(
    p_model_id integer,
    p_after bigint,
    p_limit integer,
    out last_document_id bigint,
    out document_count integer,
    out vector_count integer
)
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_ids bigint[];
begin
    v_document_ids := sherlock._ids_without_vector(p_model_id, p_after, p_limit);
    vector_count := sherlock.vectorize_documents(p_model_id, v_document_ids);
    document_count := cardinality(v_document_ids);
    last_document_id := v_document_ids[document_count];
end;
$$;

create or replace function sherlock.vectorize_missing(
    p_model_id integer,
    p_limit integer default 1000
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_batch record;
    v_after bigint := 0;
begin
    loop
        select b.* into strict v_batch
        from sherlock._vectorize_batch(p_model_id, v_after, p_limit) as b;
        exit when v_batch.vector_count > 0 or v_batch.document_count = 0;
        v_after := v_batch.last_document_id;
    end loop;
    return v_batch.vector_count;
end
$$;

comment on function sherlock.vectorize_missing(integer, integer) is
'Computes and stores the vectors of the next documents of the model''s collection that have none; '
'returns how many. Call it, one transaction each, until it returns 0. Errors: SH030 no such model, '
'SH037 the model is archived.';
