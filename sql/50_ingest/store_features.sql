-- Features that a reader made beside the text, in Python: stored where they are what
-- sherlock._index_canonical_texts would compute.

-- The features, or null where the collection's scheme or the rules are others by now.
create or replace function sherlock._current_features(p_collection_id integer, p_features jsonb)
returns jsonb
language sql stable
return (
    select p_features
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = p_collection_id
      and s.scheme_id = (p_features ->> 'scheme_id')::integer
      and s.stop_list_id is not distinct from (p_features ->> 'stop_list_id')::integer
      and sherlock.feature_version() = (p_features ->> 'feature_version')::integer
);

-- All but what stands in sherlock.documents, whose row the caller has written before: then a model
-- is not put to use before this transaction ends (see sherlock.activate_tfidf_model). A model's
-- vocabulary never changes, so its vectors are good; of one that they lack they are computed. Returns
-- whether the vectors were those of the models in use, no more and no less.
create or replace function sherlock._store_features(
    p_document_id bigint,
    p_canonical text,
    p_features jsonb
)
returns boolean
language plpgsql volatile
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_document sherlock.documents;
    v_vectors constant jsonb := p_features -> 'vectors';
    v_model_ids integer[];
    v_missing_id integer;
begin
    select d.* into strict v_document
    from sherlock.documents as d
    where d.document_id = p_document_id;
    if v_document.indexed_at is not null then
        perform sherlock._forget_features(array[p_document_id]);
    end if;
    v_model_ids := array(
        select m.model_id
        from sherlock.tfidf_models as m
        where m.collection_id = v_document.collection_id and m.status in ('active', 'building')
    );
    if p_features ->> 'text_state' = 'indexed'
        and not sherlock._is_excluded(v_document.flags, v_document.accepted_at)
    then
        insert into sherlock.document_signatures (
            document_id, scheme_id, shingle_count, boilerplate_count, signature, sketch,
            containment_sample)
        values (
            p_document_id,
            (p_features ->> 'scheme_id')::integer,
            (p_features ->> 'shingle_count')::integer,
            (p_features ->> 'boilerplate_count')::integer,
            (p_features ->> 'signature')::integer[],
            (p_features ->> 'sketch')::bit(2048),
            (p_features ->> 'containment_sample')::integer[]);
        insert into sherlock.band_keys (key, document_id)
        select k.key, p_document_id
        from unnest((p_features ->> 'band_keys')::bigint[]) as k (key);

        insert into sherlock.document_references (document_id, numbers, dates)
        select p_document_id, r.numbers, r.dates
        from (
            select array(
                       select n.number
                       from jsonb_array_elements_text(p_features -> 'numbers')
                           with ordinality as n (number, position)
                       order by n.position) as numbers,
                   array(
                       select d.date::date
                       from jsonb_array_elements_text(p_features -> 'dates')
                           with ordinality as d (date, position)
                       order by d.position) as dates
        ) as r
        where r.numbers <> '{}' or r.dates <> '{}';

        insert into sherlock.document_vectors (document_id, model_id, vector, sign_bits)
        select p_document_id, m.model_id, (v.value ->> 'vector')::sparsevec,
               (v.value ->> 'sign_bits')::bit(512)
        from unnest(v_model_ids) as m (model_id)
        cross join lateral (select v_vectors -> m.model_id::text) as v (value)
        where v.value is not null;
        foreach v_missing_id in array v_model_ids loop
            if not v_vectors ? v_missing_id::text then
                perform sherlock._vectorize_texts(
                    v_missing_id, array[p_document_id], array[p_canonical]);
            end if;
        end loop;
    end if;
    return (select count(*) from jsonb_object_keys(v_vectors)) = cardinality(v_model_ids)
        and v_vectors ?& v_model_ids::text[];
end;
$$;
