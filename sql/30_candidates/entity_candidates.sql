-- Level 3 retrieval. Exact keys first (ids, dockets, addresses, names: microseconds); similar names
-- by trigrams only where those leave nothing. The demandado never retrieves: thousands of filings
-- share one. Every key is read up to a limit.
create or replace function sherlock.entity_candidates(
    p_collection_id integer,
    p_entities jsonb,
    p_limit integer,
    p_before bigint default null
)
returns table (document_id bigint)
language plpgsql stable
set search_path from current
as $$
declare
    -- A bound either way: whatever the plan, an index is read no further.
    v_before constant bigint := coalesce(p_before, 9223372036854775807);
    v_found bigint[];
    v_threshold text;
begin
    select array_agg(distinct c.document_id) into v_found
    from (
        select r.role, v.value as normalised
        from unnest(array['cedula', 'correo', 'radicado']) as r (role)
        cross join lateral jsonb_array_elements_text(coalesce(p_entities -> r.role, '[]'))
            as v (value)
        union
        select 'demandante', n.value ->> 0
        from jsonb_array_elements(coalesce(p_entities -> 'demandante', '[]')) as n (value)
    ) as q
    cross join lateral (
        select e.document_id
        from sherlock.entities as e
        where e.collection_id = p_collection_id
          and e.role = q.role
          and e.normalised = q.normalised
          and e.is_comparable
          and e.document_id < v_before
        order by e.document_id
        limit p_limit
    ) as c;

    if v_found is null then
        select array_agg(distinct c.document_id) into v_found
        from jsonb_array_elements(coalesce(p_entities -> 'demandante', '[]')) as n (value)
        cross join lateral (
            select e.document_id
            from sherlock.entities as e
            where e.collection_id = p_collection_id
              and e.role = 'demandante'
              and e.name_key = n.value ->> 1
              and e.is_comparable
              and e.document_id < v_before
            order by e.document_id
            limit p_limit
        ) as c;
    end if;

    if v_found is null then
        v_threshold := current_setting('pg_trgm.similarity_threshold', true);
        perform set_config('pg_trgm.similarity_threshold', '0.45', true);
        select array_agg(distinct c.document_id) into v_found
        from jsonb_array_elements(coalesce(p_entities -> 'demandante', '[]')) as n (value)
        cross join lateral (
            select p.normalised
            from sherlock.party_names as p
            where p.collection_id = p_collection_id
              and p.role = 'demandante'
              and p.normalised % (n.value ->> 0)
            order by similarity(p.normalised, n.value ->> 0) desc, p.normalised
            limit p_limit
        ) as s
        cross join lateral (
            select e.document_id
            from sherlock.entities as e
            where e.collection_id = p_collection_id
              and e.role = 'demandante'
              and e.normalised = s.normalised
              and e.is_comparable
              and e.document_id < v_before
            order by e.document_id
            limit p_limit
        ) as c;
        perform set_config('pg_trgm.similarity_threshold', coalesce(v_threshold, '0.3'), true);
    end if;

    return query select f.id from unnest(v_found) as f (id);
end;
$$;

comment on function sherlock.entity_candidates(integer, jsonb, integer, bigint) is
'Level 3 retrieval: documents of the collection that share an id, an address, a docket or the '
'plaintiff''s name; similar names (trigram similarity 0.45 or more) only if none does. p_entities: '
'as sherlock._entity_profile gives them. At most p_limit documents per key.';
