-- Features of documents: canonical text, signature, band keys, TF-IDF vector. Set-based, for one
-- document or for thousands; what was there before is replaced.

create or replace function sherlock.feature_version()
returns integer
language sql immutable parallel safe
return 1;

comment on function sherlock.feature_version() is
'Version of the rules that features are made by: canonical text, numbers, dates, which texts take part. '
'It is raised when they change; documents with an older one are found and processed again by '
'sherlock-pg reprocess --features.';

create or replace function sherlock._canonical_texts(p_texts text[])
returns text[]
language sql immutable parallel safe
return array(
    select sherlock.canonical_text(coalesce(t.content, ''))
    from unnest(p_texts) with ordinality as t (content, position)
    order by t.position
);

create or replace function sherlock._index_canonical_texts(
    p_document_ids bigint[],
    p_texts text[],
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
    v_model record;
    v_document_ids bigint[];
    v_contents text[];
    v_canonical_texts text[];
begin
    -- Most documents are new: then there is nothing to forget.
    perform sherlock._forget_features(i.document_ids)
    from (
        select array_agg(d.document_id) as document_ids
        from sherlock.documents as d
        where d.document_id = any(p_document_ids) and d.indexed_at is not null
    ) as i
    where i.document_ids is not null;

    -- In the order of the ids: sessions with overlapping documents then wait in one direction.
    select array_agg(t.document_id order by t.document_id),
           array_agg(t.content order by t.document_id),
           array_agg(t.canonical order by t.document_id)
    into v_document_ids, v_contents, v_canonical_texts
    from unnest(p_document_ids, p_texts, p_canonical_texts)
        as t (document_id, content, canonical);

    with texts as materialized (
        select d.document_id, d.collection_id, c.scheme_id, t.canonical,
               sherlock._is_excluded(d.flags, d.accepted_at) as is_excluded
        from unnest(v_document_ids, v_canonical_texts) as t (document_id, canonical)
        join sherlock.documents as d using (document_id)
        join sherlock.collections as c using (collection_id)
    ),
    shingled as materialized (
        select t.document_id, t.collection_id, t.canonical, s.scheme_id, s.band_count,
               s.rows_per_band, s.min_shingles, s.shingle_width, h.shingles,
               k.shingles as kept_shingles,
               sherlock._text_state(
                   sherlock._distinct_shingles(h.shingles, s.min_shingles), s.min_shingles,
                   t.is_excluded) as text_state
        from texts as t
        join sherlock.shingle_schemes as s using (scheme_id)
        cross join lateral (
            select sherlock.shingles(t.canonical, s.shingle_kind, s.shingle_width) as shingles
            offset 0
        ) as h
        cross join lateral (
            select sherlock._distinctive_shingles(h.shingles, s.stop_list_id) as shingles
            offset 0
        ) as k
    ),
    -- Nothing but boilerplate, or almost: the other levels still compare it.
    signed as materialized (
        select s.document_id, s.collection_id, s.scheme_id, s.band_count, s.rows_per_band,
               cardinality(s.shingles) as shingle_count,
               cardinality(s.shingles) - cardinality(s.kept_shingles) as boilerplate_count,
               sherlock._distinctive_signature(
                   s.shingles, s.kept_shingles, s.min_shingles) as signature,
               sherlock._containment_sample(
                   s.kept_shingles, s.shingle_width, s.scheme_id, s.collection_id) as sample
        from shingled as s
        where s.text_state = 'indexed'
    ),
    stored_signatures as (
        insert into sherlock.document_signatures (
            document_id, scheme_id, shingle_count, boilerplate_count, signature, sketch,
            containment_sample)
        select s.document_id, s.scheme_id, s.shingle_count, s.boilerplate_count, s.signature,
               sherlock.signature_sketch(s.signature), s.sample
        from signed as s
    ),
    stored_keys as (
        insert into sherlock.band_keys (key, document_id)
        select k.key, s.document_id
        from signed as s
        cross join lateral unnest(sherlock.band_keys(
            s.signature, s.scheme_id, s.collection_id, s.band_count, s.rows_per_band)) as k (key)
    )
    update sherlock.documents as d
    set canonical_sha256 = case
            when s.canonical <> '' then sha256(convert_to(s.canonical, 'UTF8'))
        end,
        word_count = cardinality(sherlock.tokens(s.canonical)),
        text_state = s.text_state,
        feature_version = sherlock.feature_version(),
        indexed_at = clock_timestamp()
    from shingled as s
    where d.document_id = s.document_id;
    get diagnostics v_count = row_count;

    insert into sherlock.document_references (document_id, numbers, dates)
    select t.document_id, r.numbers, r.dates
    from unnest(v_document_ids, v_contents, v_canonical_texts)
        as t (document_id, content, canonical)
    join sherlock.documents as d using (document_id)
    cross join lateral sherlock._references(t.content, t.canonical) as r
    where d.text_state = 'indexed' and (r.numbers <> '{}' or r.dates <> '{}');

    for v_model in
        select m.model_id, array_agg(d.document_id) as document_ids,
               array_agg(t.canonical) as canonical_texts
        from unnest(v_document_ids, v_canonical_texts) as t (document_id, canonical)
        join sherlock.documents as d using (document_id)
        join sherlock.tfidf_models as m
            on m.collection_id = d.collection_id and m.status in ('active', 'building')
        where d.text_state = 'indexed'
        group by m.model_id
    loop
        perform sherlock._vectorize_texts(
            v_model.model_id, v_model.document_ids, v_model.canonical_texts);
    end loop;
    return v_count;
end;
$$;

create or replace function sherlock._index_texts(p_document_ids bigint[], p_texts text[])
returns integer
language sql volatile
return sherlock._index_canonical_texts(
    p_document_ids, p_texts, sherlock._canonical_texts(p_texts));

create or replace function sherlock.index_documents(p_document_ids bigint[])
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_document_ids bigint[];
    v_texts text[];
begin
    select array_agg(t.document_id order by t.document_id), array_agg(t.content order by t.document_id)
    into v_document_ids, v_texts
    from sherlock.document_texts(p_document_ids) as t;
    return sherlock._index_texts(v_document_ids, v_texts);
end;
$$;

comment on function sherlock.index_documents(bigint[]) is
'Computes the features of documents from their texts: canonical hash, signature, band keys and '
'the vector of each model in use, numbers and dates. What is on the scheme''s list of boilerplate is left out of the '
'signature, and counted; where too little is left there is no signature. Replaces what was there; returns how many were indexed. '
'Documents without a text are left as they are.';

-- A plan made while the tables were small would read all band keys for each document.
create or replace function sherlock._forget_features(p_document_ids bigint[])
returns void
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
begin
    delete from sherlock.band_keys as b
    using sherlock.document_signatures as s
    join sherlock.documents as d using (document_id)
    join sherlock.shingle_schemes as c using (scheme_id)
    cross join lateral unnest(sherlock.band_keys(
        s.signature, s.scheme_id, d.collection_id, c.band_count, c.rows_per_band)) as k (key)
    where s.document_id = any(p_document_ids)
      and b.key = k.key
      and b.document_id = s.document_id;
    delete from sherlock.document_signatures as s where s.document_id = any(p_document_ids);
    delete from sherlock.document_vectors as v where v.document_id = any(p_document_ids);
    delete from sherlock.document_references as r where r.document_id = any(p_document_ids);
end;
$$;
