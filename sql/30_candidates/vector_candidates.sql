-- Level 2 retrieval: nearest sign patterns of the projected vectors. Without an index on the model's
-- partition the search is exact; with one, a fixed number of its lists is read, and the setting that
-- says so is put back, so that the result does not depend on the session's. Cut with ties first:
-- before PostgreSQL 17 no index on distances serves an order by with a second key.
create or replace function sherlock.vector_candidates(
    p_model_id integer,
    p_sign_bits bit,
    p_limit integer,
    p_before bigint default null
)
returns table (document_id bigint, hamming_distance double precision)
language plpgsql stable
set search_path from current
-- Planned each time, for the one partition and the rows that are wanted: few vectors are read one by
-- one.
set plan_cache_mode = force_custom_plan
as $$
declare
    c_probes constant text := '40';
    v_probes constant text := current_setting('ivfflat.probes', true);
begin
    if p_model_id is null or p_sign_bits is null then
        return;
    end if;
    perform set_config('ivfflat.probes', c_probes, true);
    return query
    select n.document_id, n.distance
    from (
        select v.document_id, (v.sign_bits <~> p_sign_bits)::double precision as distance
        from sherlock.document_vectors as v
        where v.model_id = p_model_id
          and v.sign_bits is not null
          and (p_before is null or v.document_id < p_before)
        order by v.sign_bits <~> p_sign_bits
        fetch first (p_limit) rows with ties
    ) as n
    order by n.distance, n.document_id
    limit p_limit;
    perform set_config('ivfflat.probes', coalesce(v_probes, '1'), true);
end;
$$;

comment on function sherlock.vector_candidates(integer, bit, integer, bigint) is
'Level 2 retrieval: documents whose projected TF-IDF vector has the most similar signs, nearest '
'first, with the number of differing bits (0 to 512). Vectors of other models are never compared.';
