-- The ensemble: a weighted mean of the levels that exist. The boosts are the entity level's own
-- shares, never added on top; a level that cannot be scored must not cap the score.
create or replace function sherlock.ensemble_score(
    p_minhash double precision,
    p_tfidf double precision,
    p_entity double precision,
    p_minhash_weight double precision,
    p_tfidf_weight double precision,
    p_entity_weight double precision
)
returns double precision
language sql immutable parallel safe
return round(
    (
        (coalesce(p_minhash, 0) * p_minhash_weight
         + coalesce(p_tfidf, 0) * p_tfidf_weight
         + coalesce(p_entity, 0) * p_entity_weight)
        / nullif(
            case when p_minhash is null then 0 else p_minhash_weight end
            + case when p_tfidf is null then 0 else p_tfidf_weight end
            + case when p_entity is null then 0 else p_entity_weight end,
            0)
    )::numeric,
    4
)::double precision;

comment on function sherlock.ensemble_score(
    double precision, double precision, double precision,
    double precision, double precision, double precision
) is
'Weighted mean of the level scores, 0 to 1, rounded to four digits before it is compared with a '
'threshold. A null level is left out and its weight with it; all null or weightless gives null.';

-- The same comparison without the rounding: for bounds, thousands of times per search. The margin
-- keeps a score that rounds up to the threshold.
create or replace function sherlock._can_reach(
    p_threshold double precision,
    p_minhash double precision,
    p_tfidf double precision,
    p_entity double precision,
    p_minhash_weight double precision,
    p_tfidf_weight double precision,
    p_entity_weight double precision
)
returns boolean
language sql immutable parallel safe
return coalesce(p_minhash * p_minhash_weight, 0)
       + coalesce(p_tfidf * p_tfidf_weight, 0)
       + coalesce(p_entity * p_entity_weight, 0)
       >= (p_threshold - 0.0001)
          * (case when p_minhash is null then 0 else p_minhash_weight end
             + case when p_tfidf is null then 0 else p_tfidf_weight end
             + case when p_entity is null then 0 else p_entity_weight end);
