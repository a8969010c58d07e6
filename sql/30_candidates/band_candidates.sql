-- Level 1 retrieval: documents that share a band key. Each key is read up to a limit, in document
-- order, so that a template shared by thousands costs no more than a rare text; a key that holds
-- more is hot: it is counted and reported, never silently complete.
create or replace function sherlock.band_candidates(
    p_keys bigint[],
    p_key_limit integer,
    p_before bigint default null
)
returns table (document_id bigint, shared_bands integer, hot_keys integer)
language sql stable parallel safe
begin atomic
    select b.document_id, count(*)::integer, count(*) filter (where h.is_hot)::integer
    from unnest(p_keys) as q (key)
    -- Not "p_before is null or ...": whatever the plan, the index is read no further.
    cross join lateral (
        select exists (
            select
            from sherlock.band_keys as k
            where k.key = q.key
              and k.document_id < coalesce(p_before, 9223372036854775807)
            order by k.document_id
            offset greatest(coalesce(p_key_limit, 2147483647), 1) - 1
            limit 1) as is_hot
        offset 0
    ) as h
    cross join lateral (
        select k.document_id
        from sherlock.band_keys as k
        where k.key = q.key
          and k.document_id < coalesce(p_before, 9223372036854775807)
        order by k.document_id
        limit p_key_limit
    ) as b
    group by b.document_id;
end;

comment on function sherlock.band_candidates(bigint[], integer, bigint) is
'Level 1 retrieval: documents that share at least one band key with a text, how many they share, '
'and how many of those are hot (shared by p_key_limit documents or more, the rest is not read). '
'p_before: only documents with a smaller document_id.';
