-- Level 2: canonical text → TF-IDF vector → sign bits of a fixed random projection.
-- sherlock_pg/vectorize/tfidf.py computes the same in bulk; a test compares the two.
create or replace function sherlock.active_tfidf_model(p_collection_id integer)
returns integer
language sql stable strict parallel safe
return (
    select m.model_id
    from sherlock.tfidf_models as m
    where m.collection_id = p_collection_id and m.status = 'active'
);

comment on function sherlock.active_tfidf_model(integer) is
'The TF-IDF model that a collection uses now; null if it has none.';

-- extra_float_digits: with a session's 0 the weights would lose their last digits on the way
-- through the text form. The token array is a variable so that the planner knows its length.
create or replace function sherlock.tfidf_vector(p_model_id integer, p_canonical text)
returns sparsevec
language plpgsql stable strict parallel safe
set search_path from current
set extra_float_digits = 1
as $$
declare
    v_ngram_min integer;
    v_ngram_max integer;
    v_tokens text[];
begin
    select m.ngram_min, m.ngram_max into v_ngram_min, v_ngram_max
    from sherlock.tfidf_models as m
    where m.model_id = p_model_id;
    if not found then
        raise exception using
            errcode = 'SH030',
            message = format('there is no TF-IDF model %s', p_model_id),
            hint = 'see: select model_id, status from sherlock.tfidf_models';
    end if;
    v_tokens := array(
        select t.token
        from string_to_table(sherlock.skeleton(p_canonical), ' ') as t(token)
        where octet_length(t.token) between 2 and 100
    );
    return (
        with occurrences as (
            select t.token collate "C" as term
            from unnest(v_tokens) as t(token)
            where v_ngram_min = 1
            union all
            select (t.token || ' ' || t.next_token) collate "C"
            from unnest(v_tokens, v_tokens[2:]) as t(token, next_token)
            where v_ngram_max = 2 and t.next_token is not null
        ),
        frequencies as (
            select o.term, count(*) as frequency
            from occurrences as o
            group by o.term
        ),
        weights as (
            select f.feature_index, ((1 + ln(t.frequency::float8)) * f.idf)::float4 as weight
            from frequencies as t
            join sherlock.tfidf_features as f on f.model_id = p_model_id and f.term = t.term
        )
        select l2_normalize(format(
            '{%s}/5000',
            string_agg(w.feature_index || ':' || w.weight, ',' order by w.feature_index)
        )::sparsevec)
        from weights as w
    );
end
$$;

comment on function sherlock.tfidf_vector(integer, text) is
'The TF-IDF vector of a canonical text under a model: (1 + ln frequency) · idf of each known term of '
'its skeleton (sherlock.skeleton), length 1. Tokens of 1 byte or of more than 100 are left out. ''{}/5000'' if no term is known. '
'Error: SH030 no such model.';

-- The 5,000 features are folded first: five blocks of 1,000, each with random signs, are summed (a
-- count sketch, unbiased for the cosine), because dense products of 1,000 numbers are several times
-- faster than sparse ones of 5,000. What is folded is rounded to multiples of 2^-13, by adding
-- what leaves no smaller digits and taking it off again: then every sum is exact in any order, and
-- the signs are the same on every processor. The inner select keeps the directions out of the sort.
create or replace function sherlock.sign_projection(p_vector sparsevec)
returns bit
language plpgsql stable strict parallel safe
set search_path from current
as $$
declare
    c_rounding constant vector := array_fill(1536::real, array[1000])::vector;
    v_dense vector;
    v_folded vector;
begin
    if l2_norm(p_vector) = 0 then
        return null;
    end if;
    v_dense := l2_normalize(p_vector)::vector;
    select sum(subvector(v_dense, (f.block - 1) * 1000 + 1, 1000) * f.signs order by f.block)
           + c_rounding - c_rounding
    into strict v_folded
    from sherlock.tfidf_folding as f;
    return (
        select binary_quantize(array_agg(d.product order by d.dimension)::vector)
        from (
            select p.dimension, inner_product(p.directions, v_folded) as product
            from sherlock.tfidf_projection as p
            offset 0
        ) as d
    );
end
$$;

comment on function sherlock.sign_projection(sparsevec) is
'The 512 signs of a TF-IDF vector: on which side of 512 fixed random hyperplanes it lies. The '
'share of bits in which two vectors differ estimates their angle. Null for a vector without terms.';
