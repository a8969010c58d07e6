-- Level 1 of all pairs where a good part of a collection is asked for: one pass over the band keys in the
-- order of their index, instead of two lookups for each key of each document.

-- The documents that share a band key, the first to come first. Keys don't say whose they are, but
-- documents of two collections share none. Hashed instead of in the order of the index, the keys would
-- not fit into memory. In PL/pgSQL, because a function in SQL would set its settings for each row.
create or replace function sherlock._documents_sharing_band_keys()
returns setof bigint[]
language plpgsql stable
set search_path from current
set enable_hashagg = off
set jit = off
as $$
begin
    return query
    select array_agg(b.document_id order by b.document_id)
    from sherlock.band_keys as b
    group by b.key
    having count(*) > 1;
end;
$$;

create or replace function sherlock._documents_sharing_texts(p_collection_id integer)
returns setof bigint[]
language plpgsql stable
set search_path from current
set enable_hashagg = off
set jit = off
as $$
begin
    return query
    select array_agg(d.document_id order by d.document_id)
    from sherlock.documents as d
    where d.collection_id = p_collection_id and d.canonical_sha256 is not null
    group by d.canonical_sha256
    having count(*) > 1;
end;
$$;

-- Of the documents that share a key, those that the one at p_position is paired with: the first and its
-- nearest predecessors where the key is hot, else all before it.
create or replace function sherlock._earlier_sharing(
    p_document_ids bigint[],
    p_position integer,
    p_key_limit integer
)
returns bigint[]
language sql immutable parallel safe
return case
    when p_position <= greatest(p_key_limit + 1, 9) then p_document_ids[:p_position - 1]
    else p_document_ids[1] || p_document_ids[p_position - 8:p_position - 1]
end;

-- What _pair_candidates retrieves by band keys and texts, for all documents after p_after and up to
-- p_through. It costs much the same for one document as for all of the database.
create or replace function sherlock._pair_candidates_by_scan(
    p_collection_id integer,
    p_after bigint,
    p_through bigint,
    p_levels text[],
    p_key_limit integer
)
returns table (
    document_id bigint,
    matched_document_id bigint,
    found_by text[],
    shared_bands integer,
    hot_band_keys integer,
    is_capped boolean
)
language plpgsql stable
set search_path from current
set work_mem = '64MB'
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with groups as materialized (
        select false as is_text, k.document_ids
        from sherlock._documents_sharing_band_keys() as k (document_ids)
        where 'minhash' = any(p_levels)
        union all
        select true, t.document_ids
        from sherlock._documents_sharing_texts(p_collection_id) as t (document_ids)
    ),
    shared as (
        -- Most groups are two documents: no need to unnest them.
        select g.is_text, g.document_ids[2] as document_id,
               g.document_ids[1] as matched_document_id, false as is_hot
        from groups as g
        where cardinality(g.document_ids) = 2 and g.document_ids[2] between p_after + 1 and p_through
        union all
        select g.is_text, l.document_id, e.document_id, l.position > p_key_limit + 1
        from groups as g
        cross join lateral unnest(g.document_ids) with ordinality as l (document_id, position)
        cross join lateral unnest(sherlock._earlier_sharing(
            g.document_ids, l.position::integer, p_key_limit)) as e (document_id)
        where cardinality(g.document_ids) > 2
          and g.document_ids[cardinality(g.document_ids)] > p_after
          and l.document_id between p_after + 1 and p_through
    ),
    pairs as (
        select s.document_id, s.matched_document_id, bool_or(s.is_text) as is_by_text,
               count(*) filter (where not s.is_text) as shared_bands,
               count(*) filter (where not s.is_text and s.is_hot) as hot_band_keys,
               bool_or(s.is_hot) as is_capped
        from shared as s
        group by s.document_id, s.matched_document_id
    )
    select p.document_id, p.matched_document_id,
           array_remove(array[
               case when p.is_by_text then 'canonical_text' end,
               case when g.is_signed and p.shared_bands > 0 then 'minhash' end], null),
           case when g.is_signed then p.shared_bands else 0 end::integer,
           case when g.is_signed then p.hot_band_keys else 0 end::integer,
           p.is_capped
    from pairs as p
    -- Band keys of another collection, or of the scheme that this one is leaving, are none.
    cross join lateral (
        select d.text_state = 'indexed' and exists (
            select
            from sherlock.document_signatures as s
            where s.document_id = p.document_id
              and s.scheme_id = (
                  select c.scheme_id
                  from sherlock.collections as c
                  where c.collection_id = p_collection_id)) as is_signed
        from sherlock.documents as d
        where d.document_id = p.document_id and d.collection_id = p_collection_id
        offset 0
    ) as g
    where p.is_by_text or g.is_signed;
end;
$$;
