-- Boilerplate: what so many texts of a collection have in common that it tells none from another.
-- A list of such shingles is learnt, looked at, and put into force as a scheme that leaves them out.

create or replace function sherlock.learn_boilerplate(
    p_collection text default 'default',
    p_share double precision default 0.1,
    p_sample integer default 20000
)
returns sherlock.stop_lists
language plpgsql volatile
set search_path from current
as $$
declare
    c_portion constant integer := 500;
    c_measured constant integer := 1000;
    -- A filing and the later versions of it are no template, however small the collection.
    c_min_texts constant integer := 20;
    v_scheme sherlock.shingle_schemes;
    v_document_count bigint;
    v_document_ids bigint[];
    v_text_count integer;
    v_shingles bigint[];
    v_shares real[];
    v_list sherlock.stop_lists;
begin
    perform sherlock._check_count('p_sample', p_sample, 1000000);
    if (p_share >= 0.001 and p_share < 1) is not true then
        raise exception using
            errcode = 'SH025',
            message = format('p_share is %s', coalesce(p_share::text, 'null')),
            hint = 'a share of the documents, from 0.001 to below 1';
    end if;
    select s.* into strict v_scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = sherlock.collection_id(p_collection);

    select count(*) into v_document_count
    from sherlock.documents as d
    where d.collection_id = sherlock.collection_id(p_collection) and d.text_state = 'indexed';
    -- Exact copies count once: a filing that came in a hundred times is no template either.
    v_document_ids := array(
        select t.document_id
        from (
            select min(d.document_id) as document_id
            from sherlock.documents as d
            where d.collection_id = sherlock.collection_id(p_collection)
              and d.text_state = 'indexed'
            group by d.canonical_sha256
        ) as t
        order by hashint8extended(t.document_id, 1), t.document_id
        limit p_sample
    );
    with counted as (
        -- Each text counts as one null too: the row of the null counts the texts.
        select o.shingle, count(*) as text_count
        from sherlock._texts_in_portions(v_document_ids, c_portion) as d
        cross join lateral (
            select distinct unnest(sherlock.shingles(
                sherlock.canonical_text(d.content), v_scheme.shingle_kind, v_scheme.shingle_width
            )) as shingle
            union all
            select null
        ) as o
        group by o.shingle
        having o.shingle is null or count(*) >= c_min_texts
    ),
    shared as (
        select c.shingle, c.text_count,
               max(c.text_count) filter (where c.shingle is null) over () as all_count
        from counted as c
    )
    select max(s.all_count), array_agg(s.shingle order by s.shingle) filter (where p.is_listed),
           array_agg(s.text_count::real / s.all_count order by s.shingle)
               filter (where p.is_listed)
    into v_text_count, v_shingles, v_shares
    from shared as s
    cross join lateral (
        select s.shingle is not null and s.text_count > p_share * s.all_count as is_listed
    ) as p;
    if v_shingles is null then
        raise exception using
            errcode = 'SH026',
            message = format(
                'collection %s has no boilerplate: nothing stands in more than %s of its texts',
                quote_literal(p_collection), p_share),
            detail = format('texts that were read: %s', coalesce(v_text_count, 0)),
            hint = format(
                'nothing needs to be done; a lower p_share finds more, but what fewer than %s texts '
                'share is never boilerplate', c_min_texts);
    end if;

    begin
        insert into sherlock.stop_lists (
            shingle_kind, shingle_width, learnt_from, document_share, text_count, shingle_count,
            measured_count, mean_removed_share, too_few_count, candidates_with,
            candidates_without)
        values (
            v_scheme.shingle_kind, v_scheme.shingle_width, p_collection, p_share, v_text_count,
            cardinality(v_shingles), 0, 0, 0, 0, 0)
        returning * into v_list;
        insert into sherlock.stop_shingles (stop_list_id, shingle, document_share)
        select v_list.stop_list_id, s.shingle, s.document_share
        from unnest(v_shingles, v_shares) as s (shingle, document_share);
    exception when insufficient_privilege then
        raise exception using
            errcode = 'insufficient_privilege',
            message = format('you may not make lists of boilerplate: %s', sqlerrm),
            hint = sherlock._who_may();
    end;

    update sherlock.stop_lists as l
    set measured_count = e.measured_count,
        mean_removed_share = e.mean_removed_share,
        too_few_count = e.too_few_count,
        candidates_with = e.partners_with * (v_document_count - 1),
        candidates_without = e.partners_without * (v_document_count - 1)
    from sherlock._boilerplate_effect(
        v_list.stop_list_id, v_scheme, v_document_ids[:c_measured]) as e
    where l.stop_list_id = v_list.stop_list_id
    returning l.* into v_list;
    return v_list;
end;
$$;

comment on function sherlock.learn_boilerplate(text, double precision, integer) is
'Learns a list of boilerplate from a collection, stores it as a proposal and returns it with what it '
'would do: the shingles, of the kind and width that the collection''s scheme has, that stand in more '
'than p_share of p_sample texts, chosen by a fixed hash, of exact copies one; and never what fewer '
'than 20 texts share. Of 1,000 of these texts: the mean share that it would remove, how many would be '
'left with too little to be signed, and so be found by their exact text, their vector and their '
'entities only, and how many candidates level 1 brings for a text of the collection, with and without. '
'Nothing changes until: call sherlock.use_boilerplate(collection, list). Reads the texts once, about '
'two seconds of computing for a million words; the counts go to disk where they exceed work_mem. A list that no scheme has can be deleted from '
'sherlock.stop_lists. Errors: '
'SH002 no such collection, SH025 share out of range, SH026 no boilerplate, SH036 p_sample out of '
'range; 42501 rights.';

-- sherlock.document_texts keeps what it returns until it ends.
create or replace function sherlock._texts_in_portions(p_document_ids bigint[], p_portion integer)
returns table (document_id bigint, content text)
language sql stable
begin atomic
    select t.document_id, t.content
    from generate_series(1, cardinality(p_document_ids), p_portion) as p (first)
    cross join lateral sherlock.document_texts(
        p_document_ids[p.first : p.first + p_portion - 1]) as t;
end;

-- What a list does to texts that it was learnt from: the share that it removes, and with how many of
-- the others each shares a band key, as a share, with the boilerplate and without.
create or replace function sherlock._boilerplate_effect(
    p_stop_list_id integer,
    p_scheme sherlock.shingle_schemes,
    p_document_ids bigint[],
    out measured_count bigint,
    out mean_removed_share double precision,
    out too_few_count bigint,
    out partners_with double precision,
    out partners_without double precision
)
language plpgsql stable
set search_path from current
as $$
declare
    c_portion constant integer := 500;
    -- Each is compared with each, and where all are alike that is 32 keys a pair.
    c_paired constant integer := 500;
begin
    with texts as materialized (
        select d.document_id, h.shingles, k.shingles as kept
        from sherlock._texts_in_portions(p_document_ids, c_portion) as d
        cross join lateral (
            select sherlock.shingles(
                sherlock.canonical_text(d.content), p_scheme.shingle_kind, p_scheme.shingle_width
            ) as shingles
            offset 0
        ) as h
        cross join lateral (
            select sherlock._distinctive_shingles(h.shingles, p_stop_list_id) as shingles
            offset 0
        ) as k
    ),
    keys as materialized (
        select t.document_id, k.with_key, k.without_key
        from texts as t
        cross join lateral unnest(
            sherlock.band_keys(
                sherlock.signature(t.shingles), 0, 0, p_scheme.band_count,
                p_scheme.rows_per_band),
            sherlock.band_keys(
                sherlock._distinctive_signature(t.shingles, t.kept, p_scheme.min_shingles),
                0, 0, p_scheme.band_count, p_scheme.rows_per_band)
        ) as k (with_key, without_key)
        where t.document_id = any(p_document_ids[:c_paired])
    ),
    pairs as (
        select count(distinct (l.document_id, r.document_id)) as pair_count
        from keys as l
        join keys as r on r.with_key = l.with_key and r.document_id <> l.document_id
    ),
    distinctive_pairs as (
        select count(distinct (l.document_id, r.document_id)) as pair_count
        from keys as l
        join keys as r on r.without_key = l.without_key and r.document_id <> l.document_id
    ),
    possible as (
        select (n.text_count * greatest(n.text_count - 1, 1))::double precision as pair_count
        from (select count(distinct k.document_id) as text_count from keys as k) as n
    )
    select count(*),
           avg(1 - cardinality(t.kept)::double precision / cardinality(t.shingles)),
           count(*) filter (
               where sherlock._distinct_shingles(t.kept, p_scheme.min_shingles)
                     < p_scheme.min_shingles),
           (select p.pair_count / o.pair_count from pairs as p, possible as o),
           (select p.pair_count / o.pair_count from distinctive_pairs as p, possible as o)
    into measured_count, mean_removed_share, too_few_count, partners_with, partners_without
    from texts as t;
end;
$$;

-- The scheme that a collection would use with a list, or without any: made if there is none yet.
create or replace function sherlock._scheme_with_list(p_collection text, p_stop_list_id integer)
returns text
language plpgsql volatile
set search_path from current
as $$
declare
    v_base sherlock.shingle_schemes;
    v_list sherlock.stop_lists;
    v_name text;
begin
    select b.* into strict v_base
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    join sherlock.shingle_schemes as b on b.scheme_id = coalesce(s.base_scheme_id, s.scheme_id)
    where c.collection_id = sherlock.collection_id(p_collection);
    if p_stop_list_id is null then
        return v_base.name;
    end if;
    select l.* into v_list from sherlock.stop_lists as l where l.stop_list_id = p_stop_list_id;
    if not found then
        raise exception using
            errcode = 'SH027',
            message = format('there is no list of boilerplate %s', p_stop_list_id),
            hint = 'lists are shown by: select * from sherlock.boilerplate_status';
    elsif (v_list.shingle_kind, v_list.shingle_width)
          is distinct from (v_base.shingle_kind, v_base.shingle_width)
    then
        raise exception using
            errcode = 'SH028',
            message = format(
                'list %s does not fit scheme %s: it holds shingles of kind %s, width %s',
                p_stop_list_id, quote_literal(v_base.name), v_list.shingle_kind,
                v_list.shingle_width),
            hint = format('learn another: select * from sherlock.learn_boilerplate(%L)',
                          p_collection);
    end if;
    begin
        insert into sherlock.shingle_schemes (
            name, normaliser_version, shingle_kind, shingle_width, slot_count, band_count,
            rows_per_band, min_shingles, band_key_limit, stop_list_id, base_scheme_id)
        values (
            format('%s without list %s', v_base.name, p_stop_list_id), v_base.normaliser_version,
            v_base.shingle_kind, v_base.shingle_width, v_base.slot_count, v_base.band_count,
            v_base.rows_per_band, v_base.min_shingles, v_base.band_key_limit, p_stop_list_id,
            v_base.scheme_id)
        on conflict (base_scheme_id, stop_list_id) do nothing;
    exception
        when insufficient_privilege then
            raise exception using
                errcode = 'insufficient_privilege',
                message = format('you may not make schemes: %s', sqlerrm),
                hint = sherlock._who_may();
        when unique_violation then
            raise exception using
                errcode = 'SH014',
                message = format('another scheme has the name %s',
                                 quote_literal(format('%s without list %s', v_base.name,
                                                      p_stop_list_id))),
                hint = 'rename it: update sherlock.shingle_schemes set name = ...';
    end;
    select s.name into strict v_name
    from sherlock.shingle_schemes as s
    where s.base_scheme_id = v_base.scheme_id and s.stop_list_id = p_stop_list_id;
    return v_name;
end;
$$;

-- No search_path of its own, because a procedure with one cannot commit: all names are qualified.
create or replace procedure sherlock.use_boilerplate(p_collection text, p_stop_list_id integer)
language plpgsql
as $$
declare
    v_scheme text;
    v_status sherlock.schemes;
begin
    call sherlock._refuse_transaction_block('sherlock.use_boilerplate()');
    v_scheme := sherlock._scheme_with_list(p_collection, p_stop_list_id);
    commit;
    call sherlock.use_scheme(p_collection, v_scheme);

    select s.* into v_status
    from sherlock.schemes as s
    where s.collection = p_collection and s.scheme = v_scheme;
    if v_status.boilerplate_only_count > 0 then
        raise warning using
            message = format(
                '%s of %s documents have too little left for level 1 without list %s: they are '
                'found by their exact text, their vector and their entities only',
                v_status.boilerplate_only_count,
                v_status.signed_count + v_status.unsigned_count + v_status.boilerplate_only_count,
                p_stop_list_id),
            hint = format(
                'if that is too many, go back: call sherlock.use_boilerplate(%1$L, null); or learn '
                'a list with a larger p_share: select * from sherlock.learn_boilerplate(%1$L, ...). '
                'The count is shown by sherlock.schemes as boilerplate_only_count', p_collection);
    end if;
end;
$$;

comment on procedure sherlock.use_boilerplate(text, integer) is
'Puts a list of boilerplate into force for a collection: makes the scheme that is like the one in '
'use but leaves the list out, named for both as in "word-2 without list 3", and moves the collection '
'to it as sherlock.use_scheme does, which says what that means meanwhile. Jaccard similarities are '
'then those of the distinctive text; a WARNING says how many documents have too little of it for '
'level 1. Another list replaces the one in force; null: none, back to the scheme without. Until '
'somebody calls this no list is in force. Errors: SH002 no such collection, SH014 another scheme '
'has the name, SH019 somebody else moved the collection meanwhile, SH027 no such list, SH028 a '
'list of other shingles; 2D000 in a transaction block, 42501 rights, 55P03 others held their '
'locks all the while.';
