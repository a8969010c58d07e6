-- The planner of level 1: what each division of a signature into bands finds and what it costs, by
-- theory and on the documents that are there.
--
-- Of two texts of Jaccard similarity J a slot agrees with probability J, a band of r slots with J^r,
-- at least one of b bands with 1 - (1 - J^r)^b: the S-curve.

create or replace function sherlock._any_band_agrees(
    p_band_agrees double precision,
    p_band_count integer
)
returns double precision
language sql immutable parallel safe
-- In logarithms, because power() raises an error where the result is too small for its type.
return case
    when p_band_agrees >= 1 then 1
    else 1 - exp(greatest(p_band_count * ln(1 - p_band_agrees), -700))
end;

create or replace function sherlock._candidate_probability(
    p_jaccard double precision,
    p_band_count integer,
    p_rows_per_band integer
)
returns double precision
language sql immutable parallel safe
return sherlock._any_band_agrees(
    case
        when p_jaccard <= 0 then 0
        else exp(greatest(p_rows_per_band * ln(p_jaccard), -700))
    end,
    p_band_count);

create or replace function sherlock.s_curve(p_band_count integer, p_rows_per_band integer)
returns table (jaccard double precision, probability double precision)
language plpgsql immutable
set search_path from current
as $$
begin
    perform sherlock._check_bands(p_band_count, p_rows_per_band);
    return query
    select s.step / 20.0::double precision,
           sherlock._candidate_probability(
               s.step / 20.0::double precision, p_band_count, p_rows_per_band)
    from generate_series(0, 20) as s (step);
end;
$$;

comment on function sherlock.s_curve(integer, integer) is
'The S-curve of a division into bands: the probability that two texts share a band key and so are '
'candidates of each other, for Jaccard similarities from 0 to 1 by 0.05. Error: SH011 no such '
'bands.';

-- The share of all choices of p_rows slots in which all agree, where p_equal_slots of 128 do: for
-- sampled signatures the unbiased estimate of J^r. The r-th power of the estimated J would be five
-- times too high for the many unrelated pairs, which cost the most.
create or replace function sherlock._band_agreement(p_equal_slots integer, p_rows integer)
returns double precision
language plpgsql immutable parallel safe
as $$
declare
    v_share double precision := 1;
begin
    for v_row in 0 .. p_rows - 1 loop
        v_share := v_share * greatest(p_equal_slots - v_row, 0) / (128 - v_row);
    end loop;
    return v_share;
end;
$$;

-- Pairs of sampled documents by their equal slots. The order by hash makes the sample look random
-- and always come out the same.
create or replace function sherlock._sampled_pairs(
    p_collection_id integer,
    p_scheme_id integer,
    p_sample integer,
    p_partners integer
)
returns table (query_number bigint, equal_slots integer, pair_count bigint)
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
begin
    return query
    with picked as materialized (
        select d.document_id, hashint8extended(d.document_id, 0) as hash
        from sherlock.documents as d
        join sherlock.document_signatures as s using (document_id)
        where d.collection_id = p_collection_id
          and s.scheme_id = p_scheme_id
          and s.signature is not null
        order by hash, d.document_id
        limit p_sample
    ),
    sampled as materialized (
        select row_number() over (order by p.hash, p.document_id) - 1 as query_number,
               count(*) over () as size, s.signature
        from picked as p
        join sherlock.document_signatures as s using (document_id)
        where s.scheme_id = p_scheme_id
    )
    select l.query_number,
           (128 * sherlock.jaccard_estimate(l.signature, r.signature))::integer as equal_slots,
           count(*)
    from sampled as l
    cross join generate_series(1, p_partners) as o (distance)
    join sampled as r on r.query_number = (l.query_number + o.distance) % l.size
    group by l.query_number, equal_slots;
end;
$$;

create or replace function sherlock.plan(
    p_threshold double precision default 0.5,
    p_recall double precision default 0.95,
    p_collection text default 'default',
    p_sample integer default 500
)
returns table (
    band_count integer,
    rows_per_band integer,
    probabilities double precision[],
    recall double precision,
    reaches_recall boolean,
    candidates_per_query double precision,
    keys_per_document integer,
    is_current boolean,
    is_recommended boolean
)
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
declare
    c_slots constant integer := 128;
    c_max_rows constant integer := 16;
    c_max_sample constant integer := 10000;
    -- A comparison takes about 30 microseconds.
    c_partners constant integer := 25;
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_scheme sherlock.shingle_schemes;
    v_document_count bigint;
    v_partners integer;
begin
    if (p_threshold > 0 and p_threshold <= 1 and p_recall > 0 and p_recall <= 1
        and p_sample between 2 and c_max_sample) is not true then
        raise exception using
            errcode = 'SH018',
            message = format(
                'no plan for threshold %s, recall %s and a sample of %s',
                coalesce(p_threshold::text, 'null'), coalesce(p_recall::text, 'null'),
                coalesce(p_sample::text, 'null')),
            hint = format(
                'threshold and recall must be above 0 and at most 1, the sample 2 to %s documents',
                c_max_sample);
    end if;
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = v_collection_id;
    select count(*) into v_document_count
    from sherlock.documents as d
    join sherlock.document_signatures as s using (document_id)
    where d.collection_id = v_collection_id
      and s.scheme_id = v_scheme.scheme_id
      and s.signature is not null;
    v_partners := least(c_partners, p_sample - 1, v_document_count - 1);

    return query
    with shapes as materialized (
        -- For each number of rows as many bands as there are slots for, and as few as will do.
        select c_slots / r.row_count as band_count, r.row_count as rows_per_band
        from generate_series(1, c_max_rows) as r (row_count)
        union
        select min(b.band_count), r.row_count
        from generate_series(1, c_max_rows) as r (row_count)
        cross join generate_series(1, c_slots / r.row_count) as b (band_count)
        where sherlock._candidate_probability(p_threshold, b.band_count, r.row_count) >= p_recall
        group by r.row_count
        union
        select v_scheme.band_count, v_scheme.rows_per_band
    ),
    pairs as materialized (
        select p.query_number, p.equal_slots, p.pair_count
        from sherlock._sampled_pairs(
            v_collection_id, v_scheme.scheme_id, p_sample, v_partners) as p
        where v_partners >= 1
    ),
    collisions as materialized (
        select s.band_count, s.rows_per_band, e.equal_slots,
               sherlock._any_band_agrees(
                   sherlock._band_agreement(e.equal_slots, s.rows_per_band), s.band_count
               ) as probability
        from shapes as s
        cross join (select distinct p.equal_slots from pairs as p) as e
    ),
    -- Each sampled document is a query that meets all others as it met its partners.
    queries as (
        select c.band_count, c.rows_per_band, p.query_number,
               least(
                   sum(p.pair_count * c.probability) / v_partners * (v_document_count - 1),
                   c.band_count::bigint * v_scheme.band_key_limit) as candidates
        from pairs as p
        join collisions as c using (equal_slots)
        group by c.band_count, c.rows_per_band, p.query_number
    ),
    costs as (
        select q.band_count, q.rows_per_band, avg(q.candidates) as candidates
        from queries as q
        group by q.band_count, q.rows_per_band
    ),
    curves as (
        select s.band_count, s.rows_per_band, c.candidates,
               sherlock._candidate_probability(
                   p_threshold, s.band_count, s.rows_per_band) as recall,
               array(
                   select round(sherlock._candidate_probability(
                       t.tenths / 10.0::double precision, s.band_count, s.rows_per_band
                   )::numeric, 4)::double precision
                   from generate_series(1, 9) as t (tenths)
                   order by t.tenths
               ) as probabilities,
               (
                   select avg(sherlock._candidate_probability(
                       p_threshold * h.step / 100, s.band_count, s.rows_per_band))
                   from generate_series(1, 99) as h (step)
               ) as below_threshold
        from shapes as s
        left join costs as c using (band_count, rows_per_band)
    ),
    ranked as (
        select c.*,
               -- Of those that reach the recall the cheapest on these documents, or, where these
               -- do not tell, by the S-curve below the threshold; else the highest recall.
               row_number() over (
                   order by c.recall >= p_recall desc,
                            case when c.recall < p_recall then c.recall end desc,
                            round(c.candidates::numeric, 2), c.below_threshold, c.band_count,
                            c.rows_per_band
               ) as rank
        from curves as c
    )
    select r.band_count, r.rows_per_band, r.probabilities,
           round(r.recall::numeric, 4)::double precision, r.recall >= p_recall,
           round(r.candidates::numeric, 2)::double precision, r.band_count,
           r.band_count = v_scheme.band_count and r.rows_per_band = v_scheme.rows_per_band,
           r.rank = 1
    from ranked as r
    order by r.rows_per_band, r.band_count desc;
end;
$$;

comment on function sherlock.plan(double precision, double precision, text, integer) is
'Ways to divide signatures into bands, one a row: for 1 to 16 rows a band as many bands as there '
'are slots for and as few as reach p_recall, and those of the collection''s scheme (is_current). '
'probabilities: of being found, for pairs of Jaccard 0.1, 0.2 ... 0.9 (see sherlock.s_curve; here to '
'four digits). '
'recall: the same for pairs at p_threshold. candidates_per_query: documents that a query of this '
'collection would read, estimated from p_sample of its signatures (2 to 10000, always the same; '
'each is compared with 25 others, about a millisecond) and bounded by the scheme''s band_key_limit; null for fewer than '
'two. keys_per_document: index entries. is_recommended: the cheapest one that reaches the recall; '
'where none does (reaches_recall is false in all rows), the one with the highest. Then: '
'sherlock.create_scheme, call sherlock.use_scheme. Errors: SH002 no such collection, SH018 '
'arguments out of range.';
