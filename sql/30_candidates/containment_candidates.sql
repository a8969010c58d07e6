-- Documents whose samples meet a text's: it may stand in them, or they in it. What many documents share
-- (a template) says little: such a key is hot. Of those three at most are read, up to the limit, in
-- document order; the others are counted.
create or replace function sherlock._containment_candidates(
    p_sample integer[],
    p_key_limit integer,
    p_document_id bigint,
    p_collection_id integer,
    out document_ids bigint[],
    out hot_keys integer
)
language plpgsql stable
set search_path from current
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    c_hot_keys_read constant integer := 3;
    v_hot_keys integer[];
begin
    -- In any order: of a key that is not hot all are read.
    select coalesce(array_agg(r.key) filter (where cardinality(r.document_ids) > p_key_limit), '{}'),
           coalesce(array_agg(distinct u.id) filter (
               where cardinality(r.document_ids) <= p_key_limit), '{}')
    into v_hot_keys, document_ids
    from (
        select k.key,
               array(
                   select s.document_id
                   from sherlock.document_signatures as s
                   where s.containment_sample @> array[k.key]
                   limit p_key_limit + 1) as document_ids
        from unnest(p_sample) as k (key)
    ) as r
    left join lateral unnest(
        case when cardinality(r.document_ids) <= p_key_limit then r.document_ids
             else '{null}' end) as u (id) on true;
    hot_keys := cardinality(v_hot_keys);
    document_ids := array(
        select distinct d.document_id
        from (
            select u.id as document_id from unnest(document_ids) as u (id)
            union all
            select h.document_id
            from unnest(v_hot_keys[:c_hot_keys_read]) as k (key)
            cross join lateral (
                select a.document_id
                from (
                    select s.document_id
                    from sherlock.document_signatures as s
                    where s.containment_sample @> array[k.key]
                    -- Else all documents may be read in their order.
                    offset 0
                ) as a
                order by a.document_id
                limit p_key_limit
            ) as h
        ) as i
        join sherlock.documents as d using (document_id)
        where d.collection_id = p_collection_id and d.document_id is distinct from p_document_id
    );
end;
$$;
