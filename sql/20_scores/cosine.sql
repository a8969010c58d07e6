-- Level 2 score. Not strict and without a search_path so that it is inlined into the caller's
-- statement: it is called once per candidate. Cosine distance is NaN where a vector is zero.
create or replace function sherlock.cosine_score(p_left sparsevec, p_right sparsevec)
returns double precision
language sql immutable parallel safe
return nullif(1 - cosine_distance(p_left, p_right), 'NaN'::double precision);

comment on function sherlock.cosine_score(sparsevec, sparsevec) is
'Cosine of two TF-IDF vectors, whose weights are never negative: from 0 (no term shared) to 1 '
'(same direction). Null where one of them has no terms. Both must come from the same model.';
