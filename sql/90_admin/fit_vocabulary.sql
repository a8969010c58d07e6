-- Level 2 without Python: fitting a vocabulary. sherlock_pg/vectorize/tfidf.py does the same with
-- scikit-learn; tests compare the two.

create or replace function sherlock._check_count(p_name text, p_count integer, p_max integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if (p_count between 1 and p_max) is not true then
        raise exception using
            errcode = 'SH036',
            message = format('%s is %s', p_name, coalesce(p_count::text, 'null')),
            hint = format('a number of documents, from 1 to %s', p_max);
    end if;
end;
$$;

-- What growth is measured by.
create or replace function sherlock._indexed_document_count(p_collection_id integer)
returns integer
language sql stable
return (
    select count(*)::integer
    from sherlock.documents as d
    where d.collection_id = p_collection_id and d.text_state = 'indexed'
);

-- The terms of a canonical text as sherlock.tfidf_vector has them, each with its frequency.
create or replace function sherlock._term_counts(
    p_canonical text,
    p_ngram_min integer,
    p_ngram_max integer
)
returns table (term text, frequency integer)
language sql immutable parallel safe
begin atomic
    select n.term, count(*)::integer
    from (
        select array(
            select t.token
            from string_to_table(sherlock.skeleton(p_canonical), ' ') as t (token)
            where octet_length(t.token) between 2 and 100
        ) as tokens
        offset 0
    ) as d
    cross join lateral unnest(d.tokens, d.tokens[2:]) as u (token, next_token)
    cross join lateral (
        select u.token as term
        where p_ngram_min = 1
        union all
        select u.token || ' ' || u.next_token
        where p_ngram_max = 2 and u.next_token is not null
    ) as n
    group by n.term;
end;

-- How a role without rights is told; what it may not was said by the server.
create or replace function sherlock._refuse_change_of_vocabulary(p_denied text)
returns void
language plpgsql stable
set search_path from current
as $$
begin
    raise exception using
        errcode = 'insufficient_privilege',
        message = format('you may not change the vocabulary of a collection: %s', p_denied),
        hint = sherlock._who_may() || ', and executing its functions';
end;
$$;

create or replace function sherlock.fit_vocabulary(
    p_collection text default 'default',
    p_sample integer default 20000
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    c_portion constant integer := 500;
    v_collection sherlock.collections;
    v_text_count integer;
    v_terms text[];
    v_idf double precision[];
begin
    perform sherlock._check_count('p_sample', p_sample, 2147483647);
    select c.* into strict v_collection
    from sherlock.collections as c
    where c.collection_id = sherlock.collection_id(p_collection);
    -- Before the texts are read, which can take minutes.
    if exists (
        select from pg_catalog.pg_proc as p
        where p.pronamespace = 'sherlock'::regnamespace
          and p.proname = 'create_tfidf_model'
          and not has_function_privilege(p.oid, 'execute')
    ) then
        perform sherlock._refuse_change_of_vocabulary(
            'permission denied for function create_tfidf_model');
    end if;

    with sample as (
        select d.document_id, row_number() over w as position
        from sherlock.documents as d
        where d.collection_id = v_collection.collection_id and d.text_state = 'indexed'
        window w as (order by hashint8extended(d.document_id, 1), d.document_id)
        order by position
        limit p_sample
    ),
    -- document_texts keeps what it returns until the call ends.
    portions as (
        select array_agg(s.document_id) as document_ids
        from sample as s
        group by s.position / c_portion
    ),
    kept as (
        -- Each text counts as one null too: the row of the null, always kept, counts the texts.
        select o.term, count(*) as document_count
        from portions as p
        cross join lateral sherlock.document_texts(p.document_ids) as d
        cross join lateral (
            select t.term collate "C" as term, t.frequency
            from sherlock._term_counts(
                sherlock.canonical_text(d.content), v_collection.tfidf_ngram_min,
                v_collection.tfidf_ngram_max) as t
            union all
            select null, 1
        ) as o
        group by o.term
        order by o.term is not null, sum(o.frequency) desc, strpos(o.term, ' ') > 0, o.term
        limit v_collection.tfidf_max_features + 1
    ),
    counted as (
        select k.term, k.document_count,
               max(k.document_count) filter (where k.term is null) over () as text_count
        from kept as k
    )
    select max(c.text_count),
           array_agg(c.term order by c.term) filter (where c.term is not null),
           array_agg(ln((c.text_count + 1)::float8 / (c.document_count + 1)) + 1 order by c.term)
               filter (where c.term is not null)
    into v_text_count, v_terms, v_idf
    from counted as c;
    if v_terms is null then
        raise exception using
            errcode = 'SH034',
            message = format('collection %s has nothing to fit a vocabulary on',
                             quote_literal(p_collection)),
            detail = format('indexed documents with a text: %s; with a word of two letters: 0',
                            coalesce(v_text_count, 0)),
            hint = 'put texts in first, or call sherlock.backfill for a watched table; why others '
                   'do not count: select text_state, count(*) from sherlock.documents group by 1';
    end if;
    return sherlock.create_tfidf_model(
        p_collection, v_terms, v_idf, v_text_count, v_collection.tfidf_ngram_min,
        v_collection.tfidf_ngram_max, p_sample);
end;
$$;

comment on function sherlock.fit_vocabulary(text, integer) is
'Fits a TF-IDF vocabulary on a sample of a collection''s indexed documents (p_sample of them, 1 or '
'more, always the same ones; all if there are fewer) and stores it as a new model, in status '
'building; returns its id. Keeps the tfidf_max_features most frequent terms of the collection''s '
'n-gram range; of equally frequent ones shorter n-grams first, then in code point order. Equal to '
'the fit of the loader. Larger samples than 20,000 change cosines by about 0.001. Nothing uses the '
'model yet: sherlock.refresh_vocabulary does all of it. Errors: SH002 no such collection, SH034 '
'nothing to fit on, SH036 p_sample out of range; 42501 rights.';
