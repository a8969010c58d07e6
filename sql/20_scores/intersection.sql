-- Size of the intersection |A ∩ B| of two sets of shingles, exact and estimated.

create or replace function sherlock.intersection_size(
    p_left integer[],
    p_right integer[],
    p_left_count integer,
    p_right_count integer
)
returns double precision
language plpgsql immutable strict parallel safe
as $$
-- |A ∪ B| = |A| + |B| - |A ∩ B|, so J = |A ∩ B| / |A ∪ B| gives |A ∩ B| = J / (1 + J) (|A| + |B|).
declare
    v_jaccard constant double precision := sherlock.jaccard_estimate(p_left, p_right);
begin
    if p_left_count < 1 or p_right_count < 1 then
        raise exception using
            errcode = 'SH012',
            message = format(
                'a set with a signature has no %s shingles', least(p_left_count, p_right_count)),
            hint = 'count the different shingles, or take sherlock.distinct_count_estimate()';
    end if;
    return least(
        v_jaccard / (1 + v_jaccard) * (p_left_count::double precision + p_right_count),
        p_left_count, p_right_count);
end
$$;

comment on function sherlock.intersection_size(integer[], integer[], integer, integer) is
'Estimate of how many shingles two sets share, from their signatures and their numbers of '
'different shingles; never more than the smaller set has. Divided by one of the numbers it is '
'the containment. Null if one of them has no signature. Error: SH012 not a signature, or a number '
'below 1.';

create or replace function sherlock.intersection_size(
    p_left text,
    p_right text,
    p_kind text default 'word',
    p_width integer default 2
)
returns bigint
language sql immutable parallel safe
return case
    when p_left is not null and p_right is not null then (
        select count(*)
        from (
            select unnest(
                sherlock.shingles(sherlock.canonical_text(p_left), p_kind, p_width))
            intersect
            select unnest(
                sherlock.shingles(sherlock.canonical_text(p_right), p_kind, p_width))
        ) as shared
    )
end;

comment on function sherlock.intersection_size(text, text, text, integer) is
'How many different shingles two texts share, counted: word or character shingles of the given '
'width, unless said otherwise those of the scheme word-2. Null for a null text. Error: '
'SH010 no such shingles.';
