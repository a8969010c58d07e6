-- The query side of a search, read once into one value: of a stored document, or of a text that is
-- not stored.
create or replace function sherlock._query_of_document(p_document_id bigint)
returns sherlock._query
language plpgsql stable
set search_path from current
as $$
declare
    v_query sherlock._query;
    v_scheme_id integer;
    v_status text;
    v_reason text;
begin
    select d.collection_id, d.document_id, d.doc_type, d.text_state, d.canonical_sha256,
           c.scheme_id, sherlock.active_tfidf_model(d.collection_id), d.status, d.reason
    into v_query.collection_id, v_query.document_id, v_query.doc_type, v_query.text_state,
         v_query.canonical_sha256, v_scheme_id, v_query.model_id, v_status, v_reason
    from sherlock.documents as d
    join sherlock.collections as c using (collection_id)
    where d.document_id = p_document_id;
    if not found then
        raise exception using
            errcode = 'SH001',
            message = format('there is no document %s', coalesce(p_document_id::text, 'null')),
            hint = 'documents are listed by: select document_id, name from sherlock.documents';
    end if;
    if v_query.text_state is null and v_status in ('pending', 'failed') then
        raise exception using
            errcode = 'SH008',
            message = format('document %s has no text: %s', p_document_id,
                             case v_status when 'failed' then 'reading it failed, ' || v_reason
                                  else 'it is being read' end),
            hint = 'failed files are read again by: sherlock-pg load --retry-failed';
    end if;
    if v_query.text_state is null then
        raise exception using
            errcode = 'SH004',
            message = format('document %s has no features yet', p_document_id),
            hint = format('run: select sherlock.index_documents(array[%s])', p_document_id);
    end if;
    if v_query.text_state <> 'indexed' then
        return v_query;
    end if;
    select s.signature, s.sketch into v_query.signature, v_query.sketch
    from sherlock.document_signatures as s
    where s.document_id = p_document_id and s.scheme_id = v_scheme_id;
    select v.vector, v.sign_bits into v_query.vector, v_query.sign_bits
    from sherlock.document_vectors as v
    where v.document_id = p_document_id and v.model_id = v_query.model_id
      and v.sign_bits is not null;
    v_query.entities := sherlock._entity_profile(p_document_id);
    select r.numbers, r.dates into v_query.numbers, v_query.dates
    from sherlock.document_references as r
    where r.document_id = p_document_id;
    return v_query;
end;
$$;

create or replace function sherlock._query_of_text(
    p_collection_id integer,
    p_doc_type text,
    p_text text,
    p_entities jsonb
)
returns sherlock._query
language plpgsql stable
set search_path from current
as $$
declare
    v_query sherlock._query;
    v_scheme sherlock.shingle_schemes;
    v_canonical text := sherlock.canonical_text(p_text);
    v_shingles bigint[];
begin
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = p_collection_id;
    v_shingles := sherlock.shingles(v_canonical, v_scheme.shingle_kind, v_scheme.shingle_width);
    v_query.collection_id := p_collection_id;
    v_query.doc_type := p_doc_type;
    v_query.model_id := sherlock.active_tfidf_model(p_collection_id);
    v_query.entities := sherlock._entity_profile(coalesce(p_entities, '[]'));
    v_query.text_state := sherlock._text_state(
        sherlock._distinct_shingles(v_shingles, v_scheme.min_shingles), v_scheme.min_shingles,
        false);
    if v_canonical <> '' then
        v_query.canonical_sha256 := sha256(convert_to(v_canonical, 'UTF8'));
    end if;
    if v_query.text_state <> 'indexed' then
        return v_query;
    end if;
    v_query.signature := sherlock._distinctive_signature(
        v_shingles, sherlock._distinctive_shingles(v_shingles, v_scheme.stop_list_id),
        v_scheme.min_shingles);
    v_query.sketch := sherlock.signature_sketch(v_query.signature);
    select r.numbers, r.dates into v_query.numbers, v_query.dates
    from sherlock._references(p_text, v_canonical) as r;
    if v_query.model_id is not null then
        v_query.vector := sherlock.tfidf_vector(v_query.model_id, v_canonical);
        v_query.sign_bits := sherlock.sign_projection(v_query.vector);
        if v_query.sign_bits is null then
            v_query.vector := null;
        end if;
    end if;
    return v_query;
end;
$$;

-- Flags of the extraction that keep a text out of the fuzzy levels: what was read is not the text, or
-- not all of it. A person may have accepted it all the same.
create or replace function sherlock._is_excluded(p_flags text[], p_accepted_at timestamptz)
returns boolean
language sql immutable parallel safe
return p_accepted_at is null
    and p_flags && array['low_yield', 'low_quality', 'ocr_timeout_pages'];

create or replace function sherlock._text_state(
    p_shingle_count integer,
    p_min_shingles integer,
    p_is_excluded boolean
)
returns text
language sql immutable parallel safe
return case
    when p_is_excluded then 'excluded'
    when coalesce(p_shingle_count, 0) = 0 then 'empty'
    when p_shingle_count < p_min_shingles then 'short'
    else 'indexed'
end;

-- What a text that is not stored would be stored as.
create or replace function sherlock._text_state_of(
    p_collection_id integer,
    p_text text,
    p_flags text[]
)
returns text
language plpgsql stable
set search_path from current
as $$
declare
    v_scheme sherlock.shingle_schemes;
begin
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = p_collection_id;
    return sherlock._text_state(
        sherlock._distinct_shingles(
            sherlock.shingles(
                sherlock.canonical_text(p_text), v_scheme.shingle_kind, v_scheme.shingle_width),
            v_scheme.min_shingles),
        v_scheme.min_shingles,
        sherlock._is_excluded(p_flags, null));
end;
$$;

create or replace function sherlock._distinct_shingles(p_shingles bigint[], p_enough integer)
returns integer
language plpgsql immutable parallel safe
as $$
-- How many different shingles a text has, or p_enough if it has that many or more: a word repeated
-- a thousand times says no more than one. Most texts have enough at their beginning.
declare
    v_count integer;
begin
    select count(distinct s.shingle) into v_count
    from unnest(p_shingles[:5 * p_enough]) as s (shingle);
    if v_count < p_enough and cardinality(p_shingles) > 5 * p_enough then
        select count(distinct s.shingle) into v_count from unnest(p_shingles) as s (shingle);
    end if;
    return least(v_count, p_enough);
end;
$$;
