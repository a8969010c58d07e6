-- Containment: an annex or a quoted filing inside a larger document. Neither is a duplicate of the other,
-- so nothing here touches scores, classes, matches or verdicts.

create or replace function sherlock._check_containment(
    p_min_containment double precision,
    p_limit integer,
    p_min_size_ratio double precision
)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if p_min_containment is null or p_min_containment <= 0 or p_min_containment > 1
       or p_min_size_ratio is null or p_min_size_ratio < 1 or p_min_size_ratio > 1000000 then
        raise exception using
            errcode = 'SH060',
            message = format('containment from %s or ratio of sizes from %s out of range',
                             coalesce(p_min_containment::text, 'null'),
                             coalesce(p_min_size_ratio::text, 'null')),
            hint = 'containment is above 0 and at most 1, the ratio of sizes 1 or more';
    end if;
    if p_limit is null or p_limit not between 1 and 100 then
        raise exception using
            errcode = 'SH013',
            message = format('limit out of range: %s', coalesce(p_limit::text, 'null')),
            hint = 'use 1 to 100: the text of each is read';
    end if;
end;
$$;

-- A text as containment sees it: that of a stored document, or p_content in a collection.
create or replace function sherlock._containment_query(
    p_document_id bigint,
    p_content text,
    p_collection_id integer,
    out document_id bigint,
    out collection_id integer,
    out scheme sherlock.shingle_schemes,
    out content text,
    out word_count integer,
    out is_indexed boolean,
    out shingles bigint[],
    out kept_shingles bigint[],
    out sample integer[]
)
language plpgsql stable
set search_path from current
as $$
declare
    v_text_state text;
    v_canonical text;
begin
    document_id := p_document_id;
    collection_id := p_collection_id;
    content := p_content;
    if p_collection_id is null then
        select d.collection_id, d.text_state into collection_id, v_text_state
        from sherlock.documents as d
        where d.document_id = p_document_id;
        if not found then
            raise exception using
                errcode = 'SH001',
                message = format('there is no document %s', coalesce(p_document_id::text, 'null')),
                hint = 'documents are listed by: select document_id, name from sherlock.documents';
        end if;
        if v_text_state is null then
            raise exception using
                errcode = 'SH004',
                message = format('document %s has no features yet', p_document_id),
                hint = format('compute them: select sherlock.index_documents(array[%s])',
                              p_document_id);
        end if;
        content := sherlock.document_text(p_document_id);
        if content is null then
            raise exception using
                errcode = 'SH008',
                message = format('document %s has no text', p_document_id),
                hint = 'its row of a watched table is gone, or not yours to read';
        end if;
    end if;
    select s.* into strict scheme
    from sherlock.collections as c
    join sherlock.shingle_schemes as s using (scheme_id)
    where c.collection_id = _containment_query.collection_id;
    v_canonical := sherlock.canonical_text(coalesce(content, ''));
    word_count := cardinality(sherlock.tokens(v_canonical));
    shingles := sherlock.shingles(v_canonical, scheme.shingle_kind, scheme.shingle_width);
    kept_shingles := sherlock._distinctive_shingles(shingles, scheme.stop_list_id);
    is_indexed := coalesce(v_text_state, 'indexed') = 'indexed'
        and sherlock._distinct_shingles(kept_shingles, scheme.min_shingles) >= scheme.min_shingles;
    sample := sherlock._containment_sample(
        kept_shingles, scheme.shingle_width, scheme.scheme_id, collection_id);
end;
$$;

-- One text in the other: how much, and which words.
create or replace function sherlock._measure_containment(
    p_scheme sherlock.shingle_schemes,
    p_inner_kept bigint[],
    p_outer bigint[],
    p_outer_kept bigint[],
    p_outer_content text
)
returns sherlock.containment
language plpgsql stable
set search_path from current
as $$
declare
    v_found sherlock.containment;
    v_passage record;
    v_canonical text;
begin
    v_passage := sherlock._passage(p_inner_kept, p_outer, p_outer_kept);
    v_found.shared_shingles := coalesce(v_passage.shared_count, 0);
    v_found.shingle_count := (
        select count(distinct i.shingle) from unnest(p_inner_kept) as i (shingle));
    v_found.containment := round(
        v_found.shared_shingles::numeric / greatest(v_found.shingle_count, 1), 4);
    if v_found.shared_shingles = 0 then
        return v_found;
    end if;
    v_found.container_share := round(
        (v_passage.last_position - v_passage.first_position + 1)::numeric / cardinality(p_outer),
        4);
    v_found.first_word := v_passage.first_position;
    v_found.last_word := v_passage.last_position + p_scheme.shingle_width - 1;
    if p_scheme.shingle_kind = 'char' then
        v_canonical := sherlock.canonical_text(p_outer_content);
        v_found.first_word := cardinality(sherlock.tokens(left(v_canonical, v_found.first_word)));
        v_found.last_word := cardinality(sherlock.tokens(left(v_canonical, v_found.last_word)));
    end if;
    return v_found;
end;
$$;

-- The best of what was measured, with names, places and a sample.
create or replace function sherlock._with_evidence(
    p_found sherlock.containment[],
    p_contents text[],
    p_limit integer
)
returns setof sherlock.containment
language sql stable
begin atomic
    select f.document_id, d.name, f.containment, f.container_share, f.shared_shingles,
           f.shingle_count, f.first_word, f.last_word, o.start_offset, o.end_offset,
           translate(substr(p_contents[f.position], o.start_offset + 1,
                            least(o.end_offset - o.start_offset, 160)), E'\r\n\t', '   '),
           f.hot_keys
    from (
        select u.*
        from unnest(p_found) with ordinality as u (
            document_id, name, containment, container_share, shared_shingles, shingle_count,
            first_word, last_word, start_offset, end_offset, sample, hot_keys, position)
        order by u.containment desc, u.container_share desc, u.document_id
        limit p_limit
    ) as f
    join sherlock.documents as d on d.document_id = f.document_id
    cross join lateral sherlock._word_offsets(
        p_contents[f.position], f.first_word, f.last_word) as o
    order by f.containment desc, f.container_share desc, f.document_id;
end;

create or replace function sherlock._warn_of_containment(
    p_scheme_id integer,
    p_hot_keys integer,
    p_key_count integer
)
returns void
language plpgsql stable
set search_path from current
as $$
begin
    if exists (
        select
        from sherlock.document_signatures as s
        where s.containment_sample is null and s.scheme_id = p_scheme_id
    ) then
        raise warning using
            message = 'documents that were indexed before containment was known are not found',
            hint = 'run: sherlock-pg reprocess --features; they are counted by: '
                   'select * from sherlock.containment_status';
    end if;
    if p_hot_keys > 0 and p_hot_keys = p_key_count then
        raise warning using
            message = 'all that was looked up stands in many documents: not all of those were '
                      'looked at',
            hint = 'leave boilerplate out: see sherlock.learn_boilerplate';
    end if;
end;
$$;

-- p_is_outer: the text is the larger one, and what stands in it is looked for; else what it stands in.
create or replace function sherlock._find_containment(
    p_document_id bigint,
    p_content text,
    p_collection_id integer,
    p_is_outer boolean,
    p_min_containment double precision,
    p_limit integer,
    p_min_size_ratio double precision
)
returns setof sherlock.containment
language plpgsql stable
set search_path from current
as $$
declare
    -- Of the samples that the two should share: a changed word breaks two shingles, and the pairs that
    -- samples are made of twice as often. Minus two and a half standard deviations.
    c_sample_share constant double precision := p_min_containment ^ 2;
    c_deviations constant double precision := 2.5 * 0.5;
    c_measured_per_result constant integer := 3;
    v_query record;
    v_scheme sherlock.shingle_schemes;
    v_candidates record;
    v_text record;
    v_shingles bigint[];
    v_kept_shingles bigint[];
    v_found sherlock.containment;
    v_all_found sherlock.containment[] := '{}';
    v_contents text[] := '{}';
begin
    perform sherlock._check_containment(p_min_containment, p_limit, p_min_size_ratio);
    v_query := sherlock._containment_query(p_document_id, p_content, p_collection_id);
    v_scheme := v_query.scheme;
    if not v_query.is_indexed then
        return;
    end if;
    v_candidates := sherlock._containment_candidates(
        v_query.sample, v_scheme.band_key_limit, p_document_id, v_query.collection_id);
    perform sherlock._warn_of_containment(
        v_scheme.scheme_id, v_candidates.hot_keys, cardinality(v_query.sample));
    for v_text in
        select t.document_id, t.content
        from sherlock.document_texts(array(
            select d.document_id
            from sherlock.documents as d
            join sherlock.document_signatures as s
                on s.document_id = d.document_id and s.scheme_id = v_scheme.scheme_id
            cross join lateral (
                select count(*) as shared_count,
                       cardinality(case when p_is_outer then s.containment_sample
                                        else v_query.sample end)::float8 as sample_count
                from unnest(s.containment_sample) as k (key)
                where k.key in (select unnest(v_query.sample))
            ) as c
            where d.document_id = any(v_candidates.document_ids)
              and case when p_is_outer then v_query.word_count else d.word_count end
                  >= p_min_size_ratio
                     * case when p_is_outer then d.word_count else v_query.word_count end
              and c.shared_count
                  >= c_sample_share * c.sample_count - c_deviations * sqrt(c.sample_count)
            order by c.shared_count / c.sample_count desc, d.document_id
            limit c_measured_per_result * p_limit)) as t
    loop
        v_shingles := sherlock.shingles(
            sherlock.canonical_text(v_text.content), v_scheme.shingle_kind,
            v_scheme.shingle_width);
        v_kept_shingles := sherlock._distinctive_shingles(v_shingles, v_scheme.stop_list_id);
        v_found := case
            when p_is_outer
            then sherlock._measure_containment(
                v_scheme, v_kept_shingles, v_query.shingles, v_query.kept_shingles,
                v_query.content)
            else sherlock._measure_containment(
                v_scheme, v_query.kept_shingles, v_shingles, v_kept_shingles, v_text.content)
        end;
        if v_found.containment >= p_min_containment then
            v_found.document_id := v_text.document_id;
            v_found.hot_keys := v_candidates.hot_keys;
            v_all_found := v_all_found || v_found;
            v_contents := v_contents
                || case when p_is_outer then v_query.content else v_text.content end;
        end if;
    end loop;
    return query select * from sherlock._with_evidence(v_all_found, v_contents, p_limit);
end;
$$;

create or replace function sherlock.find_containers(
    p_document_id bigint,
    p_min_containment double precision default 0.85,
    p_limit integer default 10,
    p_min_size_ratio double precision default 1.25
)
returns setof sherlock.containment
language plpgsql stable
set search_path from current
as $$
begin
    return query select * from sherlock._find_containment(
        p_document_id, null, null, false, p_min_containment, p_limit, p_min_size_ratio);
end;
$$;

comment on function sherlock.find_containers(
    bigint, double precision, integer, double precision) is
'Larger documents of the same collection that a stored document stands in, as an annex or a quotation: '
'how much of it stands in one passage of theirs, and where. No duplicates: verdicts and matches do not '
'change. p_min_containment: least share of its distinct shingles (without boilerplate) in the passage, '
'above 0, at most 1. p_min_size_ratio: they have at least so many times its words, 1 or more. p_limit: 1 '
'to 100. It reads the text of each candidate. Texts too short for level 1 are found in nothing; of '
'unchanged texts of 50 words about nine in ten are found, of 100 words practically all. Errors: SH001 '
'no such document, SH004 not indexed yet, SH008 its text is gone, SH013 limit, SH060 containment or '
'ratio out of range.';

create or replace function sherlock.find_containers_of_text(
    p_text text,
    p_collection text default 'default',
    p_min_containment double precision default 0.85,
    p_limit integer default 10,
    p_min_size_ratio double precision default 1.25
)
returns setof sherlock.containment
language plpgsql stable
set search_path from current
as $$
begin
    return query select * from sherlock._find_containment(
        null, p_text, sherlock.collection_id(p_collection), false, p_min_containment, p_limit,
        p_min_size_ratio);
end;
$$;

comment on function sherlock.find_containers_of_text(
    text, text, double precision, integer, double precision) is
'The same as sherlock.find_containers for a text that is not stored. Errors: SH002 no such collection, '
'SH013 limit, SH060 containment or ratio out of range.';

create or replace function sherlock.find_contained(
    p_document_id bigint,
    p_min_containment double precision default 0.85,
    p_limit integer default 10,
    p_min_size_ratio double precision default 1.25
)
returns setof sherlock.containment
language plpgsql stable
set search_path from current
as $$
begin
    return query select * from sherlock._find_containment(
        p_document_id, null, null, true, p_min_containment, p_limit, p_min_size_ratio);
end;
$$;

comment on function sherlock.find_contained(
    bigint, double precision, integer, double precision) is
'Smaller documents of the same collection that stand in a stored document; places and samples are of '
'that document. Arguments and errors as for sherlock.find_containers: SH001 no such document, SH004 not '
'indexed yet, SH008 its text is gone, SH013 limit, SH060 containment or ratio out of range.';

create or replace function sherlock.find_contained_in_text(
    p_text text,
    p_collection text default 'default',
    p_min_containment double precision default 0.85,
    p_limit integer default 10,
    p_min_size_ratio double precision default 1.25
)
returns setof sherlock.containment
language plpgsql stable
set search_path from current
as $$
begin
    return query select * from sherlock._find_containment(
        null, p_text, sherlock.collection_id(p_collection), true, p_min_containment, p_limit,
        p_min_size_ratio);
end;
$$;

comment on function sherlock.find_contained_in_text(
    text, text, double precision, integer, double precision) is
'The same as sherlock.find_contained for a text that is not stored. Errors: SH002 no such collection, '
'SH013 limit, SH060 containment or ratio out of range.';
