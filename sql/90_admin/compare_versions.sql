-- Old matches, explained by the vocabulary that made them.
create or replace function sherlock.compare_versions(p_left bigint, p_right bigint)
returns table (
    model_id integer,
    status text,
    fitted_document_count integer,
    term_count integer,
    has_made_match boolean,
    match_score double precision,
    tfidf_score double precision,
    top_shared_terms jsonb
)
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
declare
    v_left sherlock._query := sherlock._query_of_document(p_left);
    v_right sherlock._query := sherlock._query_of_document(p_right);
    v_canonical_left text := sherlock.canonical_text(sherlock.document_text(p_left));
    v_canonical_right text := sherlock.canonical_text(sherlock.document_text(p_right));
    v_is_scored boolean := v_left.text_state = 'indexed' and v_right.text_state = 'indexed';
begin
    if v_left.collection_id <> v_right.collection_id then
        raise exception using
            errcode = 'SH009',
            message = format('documents %s and %s are in different collections', p_left, p_right),
            hint = 'only documents of one collection are compared';
    end if;
    return query
    select m.model_id, m.status, m.fitted_document_count, m.feature_count,
           o.match_id is not null, o.score, c.score,
           case when c.score is not null
                then sherlock._top_shared_terms(
                    m.model_id, v.l, v.r, 10, v_canonical_left) end
    from sherlock.tfidf_models as m
    left join lateral (
        select x.match_id, x.score
        from (
            select 0 as match_id, k.tfidf_score as score, k.detected_at, k.model_id, k.document_id,
                   k.matched_document_id
            from sherlock.matches as k
            union all
            select k.closed_match_id, k.tfidf_score, k.detected_at, k.model_id, k.document_id,
                   k.matched_document_id
            from sherlock.closed_matches as k
        ) as x
        where x.model_id = m.model_id
          and x.document_id = greatest(p_left, p_right)
          and x.matched_document_id = least(p_left, p_right)
        order by x.match_id = 0 desc, x.detected_at desc
        limit 1
    ) as o on true
    cross join lateral (
        select sherlock.tfidf_vector(m.model_id, v_canonical_left) as l,
               sherlock.tfidf_vector(m.model_id, v_canonical_right) as r
        offset 0
    ) as v
    cross join lateral (
        select case when v_is_scored then sherlock.cosine_score(v.l, v.r) end as score
        offset 0
    ) as c
    where m.collection_id = v_left.collection_id
    order by m.model_id;
end;
$$;

comment on function sherlock.compare_versions(bigint, bigint) is
'Level 2 of two stored documents by each version of their collection''s vocabulary, archived ones '
'included, one row each: its status and size; has_made_match: the match of the two that is stored, or '
'one that was closed since, was made by it, with match_score on level 2; tfidf_score and up to ten '
'top_shared_terms: the texts as they are now by that version (null: one of them has no known term, is '
'short or gone). The scores of a version differ where a text has changed since. Errors: SH001 no such '
'document, SH004 no features yet, SH008 no text, SH009 different collections.';
