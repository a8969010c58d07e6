-- All pairs of a collection, range by range: a batch of documents is paired with what was there before
-- them, and the pairs are scored as the search does it.
create or replace function sherlock._check_pair_arguments(p_levels text[], p_key_limit integer)
returns void
language plpgsql immutable parallel safe
as $$
declare
    c_levels constant text[] := array['minhash', 'tfidf', 'entities'];
begin
    if coalesce(p_levels, '{}') = '{}' or not p_levels <@ c_levels then
        raise exception using
            errcode = 'SH058',
            message = format('no such levels: %s', coalesce(p_levels::text, 'null')),
            hint = 'levels are minhash, tfidf and entities; leave the argument out for all of them';
    end if;
    if p_key_limit is null or p_key_limit not between 1 and 10000 then
        raise exception using
            errcode = 'SH059',
            message = format('the limit per key must be from 1 to 10000, not %s',
                             coalesce(p_key_limit::text, 'null')),
            hint = 'the default is 64: all pairs of the first 64 documents that share a key';
    end if;
end;
$$;

-- From how many documents on one pass over all band keys costs less than to look those of each up; null
-- if other levels retrieve too, which look each document up anyway.
create or replace function sherlock._scan_from(p_collection_id integer, p_levels text[])
returns bigint
language sql stable
return (
    select (pg_relation_size('sherlock.band_keys') / c.bytes_per_key / c.keys_per_lookup)::bigint
    from (values (44, 1000)) as c (bytes_per_key, keys_per_lookup)
    where not ('tfidf' = any(p_levels)
               and sherlock.active_tfidf_model(p_collection_id) is not null)
      and not ('entities' = any(p_levels)
               and exists (select from sherlock.entities as e
                           where e.collection_id = p_collection_id))
);

create or replace function sherlock.find_duplicate_pairs(
    p_collection text default 'default',
    p_min_score double precision default null,
    p_after bigint default 0,
    p_limit integer default 10000,
    p_through bigint default null,
    p_levels text[] default array['minhash', 'tfidf', 'entities'],
    p_key_limit integer default 64
)
returns table (
    document_id bigint,
    matched_document_id bigint,
    confidence text,
    action text,
    final_score double precision,
    minhash_score double precision,
    tfidf_score double precision,
    entity_score double precision,
    has_conflict boolean,
    found_by text[],
    shared_bands integer,
    hot_band_keys integer
)
language plpgsql stable
set search_path from current
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    -- Enough to spread what is planned and read per batch, few enough to hold its candidates.
    c_batch_size constant integer := 200;
    c_scan_size constant integer := 200000;
    v_collection_id constant integer := sherlock.collection_id(p_collection);
    v_through constant bigint := coalesce(p_through, 9223372036854775807);
    v_after bigint := coalesce(p_after, 0);
    v_left integer := p_limit;
    v_scan_from bigint;
    v_is_scan boolean;
    v_wanted_count double precision;
    v_asked_count bigint := 0;
    v_count bigint;
    v_last bigint;
    v_later_ids bigint[];
    v_earlier_ids bigint[];
    v_found_by text[];
    v_shared_bands integer[];
    v_hot_keys integer[];
    v_hot bigint;
    v_found bigint;
    v_hot_count bigint := 0;
begin
    perform sherlock._check_pair_arguments(p_levels, p_key_limit);
    if p_min_score not between 0 and 1 then
        raise exception using
            errcode = 'SH060',
            message = format('the least score must be from 0 to 1, not %s', p_min_score),
            hint = 'leave it out for the LOW threshold of each document''s type';
    end if;
    if p_limit is null or p_limit < 1 then
        raise exception using
            errcode = 'SH013',
            message = format('the limit must be 1 or more, not %s', coalesce(p_limit::text, 'null')),
            hint = 'to go on after the last pair, give its document_id as p_after';
    end if;
    v_scan_from := sherlock._scan_from(v_collection_id, p_levels);
    while v_left > 0 loop
        -- How many documents may have the pairs that are left, by those so far.
        v_wanted_count := v_left * greatest(v_asked_count, 1.0) / greatest(p_limit - v_left, 1);
        v_is_scan := coalesce(v_wanted_count >= v_scan_from, false);
        select count(*), max(d.document_id) into v_count, v_last
        from (
            select d.document_id
            from sherlock.documents as d
            where d.collection_id = v_collection_id
              and d.document_id > v_after
              and d.document_id <= v_through
            order by d.document_id
            limit case
                when v_is_scan then greatest(v_scan_from, least(v_wanted_count, c_scan_size))
                else c_batch_size
            end
        ) as d;
        exit when v_count = 0;
        if v_is_scan and v_count < v_scan_from then
            -- Fewer are left than a pass is worth.
            v_scan_from := null;
            continue;
        end if;
        select array_agg(c.document_id), array_agg(c.matched_document_id),
               array_agg(array_to_string(c.found_by, ' ')), array_agg(c.shared_bands),
               array_agg(c.hot_band_keys), count(distinct c.document_id) filter (where c.is_capped)
        into v_later_ids, v_earlier_ids, v_found_by, v_shared_bands, v_hot_keys, v_hot
        from (
            select s.*
            from sherlock._pair_candidates_by_scan(
                v_collection_id, v_after, v_last, p_levels, p_key_limit) as s
            where v_is_scan
            union all
            select l.*
            from sherlock._pair_candidates(
                v_collection_id,
                array(
                    select d.document_id
                    from sherlock.documents as d
                    where d.collection_id = v_collection_id
                      and d.document_id > v_after
                      and d.document_id <= v_last),
                p_levels, p_key_limit) as l
            where not v_is_scan
        ) as c;
        v_hot_count := v_hot_count + v_hot;

        return query
        select w.document_id, w.matched_document_id, w.confidence,
               coalesce(sherlock.recommended_action(w.confidence), 'ACCEPT'),
               w.final_score, w.minhash_score, w.tfidf_score, w.entity_score, w.has_conflict,
               string_to_array(w.found_by, ' '), w.shared_bands, w.hot_band_keys
        from (
            select r.*, min(r.position) over (partition by r.document_id) as first_position
            from (
                select s.*, c.found_by, c.shared_bands, c.hot_band_keys,
                       row_number() over (
                           order by s.document_id, sherlock._class_rank(s.confidence),
                                    s.final_score desc, s.matched_document_id) as position
                from sherlock._pair_scores(
                    v_collection_id, v_later_ids, v_earlier_ids, p_min_score) as s
                join unnest(v_later_ids, v_earlier_ids, v_found_by, v_shared_bands, v_hot_keys)
                    as c (document_id, matched_document_id, found_by, shared_bands, hot_band_keys)
                    using (document_id, matched_document_id)
            ) as r
        ) as w
        -- The pairs of a document are given together.
        where w.first_position <= v_left
        order by w.position;
        get diagnostics v_found = row_count;
        v_left := v_left - v_found;
        v_asked_count := v_asked_count + v_count;
        v_after := v_last;
    end loop;
    if v_hot_count > 0 then
        raise warning using
            message = format(
                '%s documents share a key with more than %s earlier ones: not all pairs of those were '
                'looked at', v_hot_count, p_key_limit),
            hint = 'they are paired with the first and the nearest of them; for more, raise '
                   'p_key_limit; the keys are listed by: select * from sherlock.hot_band_keys';
    end if;
end;
$$;

comment on function sherlock.find_duplicate_pairs(
    text, double precision, bigint, integer, bigint, text[], integer) is
'All pairs of documents of a collection that resemble each other, the later document first, in the '
'order of the later documents, with the scores that sherlock.find_duplicates gives; documents that have '
'an exact copy are compared with all others too. It gives the pairs of documents after p_after and up to '
'p_through (null: the last), whole documents, until there are p_limit pairs: to go on, give the last '
'document_id as p_after; fewer than p_limit pairs: there are no more. Ranges share no pair, so they can '
'be asked at the same time. p_min_score: least final score, 0 to 1 (null: LOW of the document''s type; '
'below LOW confidence is null). p_levels: which retrieve, of minhash, tfidf and entities; minhash alone '
'is the fastest, sherlock.measure_pair_recall says what it misses. p_key_limit: where more documents '
'share a band key or a text, those after the first p_key_limit are paired with the first and the 8 before them '
'only; hot_band_keys counts such keys of a pair, and a warning the documents. Errors: SH002 no such '
'collection, SH013 limit out of range, SH024 no configuration in force, SH058 unknown level, SH059 limit '
'per key, SH060 score out of range.';
