-- Level 3 retrieval: ids, dockets, addresses and names that are equal, and names that resemble each
-- other. The demandado never retrieves: thousands of filings share one. Every key is read up to a
-- limit, so that what "maria" and "rodriguez" cost does not grow with the collection.

create or replace function sherlock._similar_names(p_collection_id integer, p_normalised text)
returns table (normalised text)
language sql stable parallel safe
begin atomic
    -- Names that share a key, the first 200 of each: the hundred that share most, rare keys counting
    -- more; of these the ten that resemble it most. Of a million names, those that
    -- sherlock.names_agree accepts at 0.85 and that share a key were among the first six in 99 of
    -- 100 cases.
    with sharing as materialized (
        select i.name_id, sum(1.0::double precision / cardinality(k.name_ids)) as weight
        from unnest(sherlock.name_keys(p_collection_id, p_normalised)) as q (key)
        cross join lateral (
            select array(
                select k.name_id
                from sherlock.name_keys as k
                where k.key = q.key
                order by k.name_id
                limit 200) as name_ids
            offset 0
        ) as k
        cross join lateral unnest(k.name_ids) as i (name_id)
        group by i.name_id
        order by weight desc, i.name_id
        limit 100
    )
    select n.normalised
    from sharing as s
    -- One index lookup per name, whatever the planner thinks.
    cross join lateral (
        select n.normalised,
               sherlock._trigram_similarity(n.normalised, p_normalised) as similarity
        from sherlock.party_names as n
        where n.name_id = s.name_id
        offset 0
    ) as n
    where n.similarity >= 0.3
    order by n.similarity desc, n.normalised collate "C"
    limit 10;
end;

create or replace function sherlock.entity_candidates(
    p_collection_id integer,
    p_entities jsonb,
    p_limit integer,
    p_before bigint default null
)
returns table (document_id bigint)
language plpgsql stable
set search_path from current
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
    return query
    with plaintiffs as materialized (
        select n.value ->> 0 as normalised
        from jsonb_array_elements(coalesce(p_entities -> 'demandante', '[]')) as n (value)
    )
    select d.document_id
    from (
        select r.role, v.value as normalised
        from unnest(array['cedula', 'correo', 'radicado']) as r (role)
        cross join lateral jsonb_array_elements_text(coalesce(p_entities -> r.role, '[]'))
            as v (value)
        union
        select 'demandante', p.normalised from plaintiffs as p
        union
        select 'demandante', s.normalised
        from plaintiffs as p
        cross join lateral sherlock._similar_names(p_collection_id, p.normalised) as s
    ) as q
    cross join lateral (
        select e.document_id
        from sherlock.entities as e
        where e.collection_id = p_collection_id
          and e.role = q.role
          and e.normalised = q.normalised
          and e.is_comparable
          -- A bound either way: whatever the plan, the index is read no further.
          and e.document_id < coalesce(p_before, 9223372036854775807)
        order by e.document_id
        limit p_limit
    ) as d
    group by d.document_id;
end;
$$;

comment on function sherlock.entity_candidates(integer, jsonb, integer, bigint) is
'Level 3 retrieval: documents of the collection that share an id, an address, a docket or a '
'plaintiff''s name, or have a plaintiff whose name resembles it: of the names that share a key '
'(sherlock.name_keys; the first 200 of each key are read) the ten most similar by trigrams. '
'p_entities: as sherlock._entity_profile gives them. At most p_limit documents per entity and name.';
