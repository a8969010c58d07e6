-- What the retrieval of pairs misses, measured: sampled documents are compared with every earlier one.
create or replace function sherlock.measure_pair_recall(
    p_collection text default 'default',
    p_sample integer default 100,
    p_levels text[] default array['minhash', 'tfidf', 'entities'],
    p_key_limit integer default 64,
    p_seed bigint default 0
)
returns table (
    retrieved_by text,
    min_confidence text,
    pair_count bigint,
    found_count bigint,
    recall double precision
)
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
declare
    c_chunk_size constant integer := 5000;
    v_collection_id constant integer := sherlock.collection_id(p_collection);
    v_sampled_ids bigint[];
    v_earlier_ids bigint[];
    v_document_id bigint;
    v_after bigint;
    v_later_found bigint[] := '{}';
    v_earlier_found bigint[] := '{}';
    v_classes text[] := '{}';
    v_later bigint[];
    v_earlier bigint[];
    v_class text[];
begin
    perform sherlock._check_pair_arguments(p_levels, p_key_limit);
    if p_sample is null or p_sample < 1 then
        raise exception using
            errcode = 'SH013',
            message = format('the sample must be 1 or more, not %s',
                             coalesce(p_sample::text, 'null')),
            hint = 'each sampled document is compared with all earlier ones; 100 is a beginning';
    end if;
    v_sampled_ids := array(
        select d.document_id
        from sherlock.documents as d
        where d.collection_id = v_collection_id and d.text_state = 'indexed'
        order by hashint8extended(d.document_id, p_seed), d.document_id
        limit p_sample
    );
    foreach v_document_id in array v_sampled_ids loop
        v_after := 0;
        loop
            v_earlier_ids := array(
                select d.document_id
                from sherlock.documents as d
                where d.collection_id = v_collection_id
                  and d.document_id > v_after
                  and d.document_id < v_document_id
                order by d.document_id
                limit c_chunk_size
            );
            exit when v_earlier_ids = '{}';
            select array_agg(s.document_id), array_agg(s.matched_document_id),
                   array_agg(s.confidence)
            into v_later, v_earlier, v_class
            from sherlock._pair_scores(
                v_collection_id, array_fill(v_document_id, array[cardinality(v_earlier_ids)]),
                v_earlier_ids, null) as s;
            v_later_found := v_later_found || v_later;
            v_earlier_found := v_earlier_found || v_earlier;
            v_classes := v_classes || v_class;
            v_after := v_earlier_ids[cardinality(v_earlier_ids)];
        end loop;
    end loop;

    return query
    with pairs as materialized (
        select p.confidence, c.found_by
        from unnest(v_later_found, v_earlier_found, v_classes)
            as p (document_id, matched_document_id, confidence)
        left join sherlock._pair_candidates(
            v_collection_id, v_sampled_ids, p_levels, p_key_limit) as c
            using (document_id, matched_document_id)
    ),
    ways as (
        select w.name, w.position
        from unnest(p_levels || array['all']) with ordinality as w (name, position)
    )
    select w.name, m.confidence, count(p.confidence),
           count(p.confidence) filter (
               where p.found_by is not null and (w.name = 'all' or w.name = any(p.found_by))),
           count(p.confidence) filter (
               where p.found_by is not null and (w.name = 'all' or w.name = any(p.found_by))
           )::double precision / nullif(count(p.confidence), 0)
    from ways as w
    cross join unnest(array['EXACT', 'HIGH', 'MEDIUM', 'LOW']) as m (confidence)
    left join pairs as p
        on sherlock._class_rank(p.confidence) <= sherlock._class_rank(m.confidence)
    group by w.name, w.position, m.confidence
    order by w.position, sherlock._class_rank(m.confidence);
end;
$$;

comment on function sherlock.measure_pair_recall(text, integer, text[], integer, bigint) is
'Measures what sherlock.find_duplicate_pairs finds with these levels and this limit per key: p_sample '
'documents, chosen by p_seed, are compared with every earlier one of the collection. For each level, and '
'for all together with equal texts, and for each class or better: pairs that there are, pairs that '
'were retrieved, their share (null without pairs). Takes seconds for each 100,000 comparisons, by the length of the texts. '
'Errors: SH002 no such collection, SH013 sample, SH058 unknown level, SH059 limit per key.';
