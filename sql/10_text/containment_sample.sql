-- A sample of what stands in a text, by which texts that contain it, or that it contains, are found.
--
-- A signature has as many slots for a page as for a book, so it can't tell that the one stands in the
-- other. A sample that keeps each run of words whose hash is divisible by twelve, whichever text it
-- stands in, can: a passage brings its sample along.

create or replace function sherlock._containment_sample(
    p_shingles bigint[],
    p_width integer,
    p_scheme_id integer,
    p_collection_id integer
)
returns integer[]
language sql immutable parallel safe
-- What is kept of a shingle that is chosen is a hash of it and the one after it, four words for
-- shingles of two: rare enough to find by. Those of different schemes or collections do not meet, so
-- that they may share one index.
return array(
    select distinct (hashint8extended(
               hashint8extended(p_shingles[s.position + p_width], s.shingle),
               hashint8extended(p_collection_id, hashint8extended(p_scheme_id, 0))) >> 32)::integer
    from unnest(p_shingles) with ordinality as s (shingle, position)
    where s.shingle % 12 = 0 and s.position <= cardinality(p_shingles) - p_width
    order by 1
);
