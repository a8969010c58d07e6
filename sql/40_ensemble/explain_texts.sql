-- What two texts share and what state each is in: the text part of sherlock.explain_match.

-- What the texts share: counts of distinct shingles, then the longest passages all of whose shingles
-- stand in the other text too, and the longest that only one of them has. Boilerplate is counted and
-- then left aside, as the signatures leave it.
create or replace function sherlock._explain_texts(
    p_document_id bigint,
    p_other_id bigint,
    p_scheme sherlock.shingle_schemes
)
returns table (item text, value text, detail jsonb)
language plpgsql stable
set search_path from current
as $$
declare
    c_passages constant integer := 3;
    c_passage_length constant integer := 90;
    v_content constant text := sherlock.document_text(p_document_id);
    v_other_content constant text := sherlock.document_text(p_other_id);
    v_texts constant text[] := array[
        sherlock.canonical_text(v_content), sherlock.canonical_text(v_other_content)];
    v_is_by_word constant boolean := p_scheme.shingle_kind in ('word', 'skeleton');
    v_left_words constant text[] := case when v_is_by_word then sherlock.tokens(v_texts[1]) end;
    v_right_words constant text[] := case when v_is_by_word then sherlock.tokens(v_texts[2]) end;
    v_left constant bigint[] := sherlock.shingles(
        v_texts[1], p_scheme.shingle_kind, p_scheme.shingle_width);
    v_right constant bigint[] := sherlock.shingles(
        v_texts[2], p_scheme.shingle_kind, p_scheme.shingle_width);
    v_left_kept constant bigint[] := sherlock._distinctive_shingles(v_left, p_scheme.stop_list_id);
    v_right_kept constant bigint[] :=
        sherlock._distinctive_shingles(v_right, p_scheme.stop_list_id);
begin
    if v_left is null or v_right is null then
        return query
        select 'shingles', format('the text of document %s is not stored here',
                                  case when v_left is null then p_document_id else p_other_id end),
               '{}'::jsonb;
        return;
    end if;
    if p_scheme.stop_list_id is not null then
        return query
        select 'boilerplate',
               format('%s of %s shingles of %s and %s of %s of %s are on list %s',
                      cardinality(v_left) - cardinality(v_left_kept), cardinality(v_left),
                      p_document_id, cardinality(v_right) - cardinality(v_right_kept),
                      cardinality(v_right), p_other_id, p_scheme.stop_list_id),
               jsonb_build_object(
                   'stop_list_id', p_scheme.stop_list_id,
                   'exact_jaccard_with_it', round(sherlock.jaccard(v_left, v_right)::numeric, 4));
    end if;
    return query
    select 'shingles',
           format('%s shared, %s only in %s, %s only in %s', c.shared,
                  c.left_count - c.shared, p_document_id, c.right_count - c.shared, p_other_id),
           jsonb_build_object(
               'kind', p_scheme.shingle_kind, 'width', p_scheme.shingle_width,
               'exact_jaccard', round(sherlock.jaccard(v_left_kept, v_right_kept)::numeric, 4))
    from (
        select (select count(distinct l.shingle) from unnest(v_left_kept) as l (shingle))
                   as left_count,
               (select count(distinct r.shingle) from unnest(v_right_kept) as r (shingle))
                   as right_count,
               (select count(distinct l.shingle) from unnest(v_left_kept) as l (shingle)
                where l.shingle in (select unnest(v_right_kept))) as shared
    ) as c;

    return query
    with marked as (
        select case when l.shingle in (select unnest(v_right_kept)) then 1 else 2 end as side,
               l.position
        from unnest(v_left) with ordinality as l (shingle, position)
        where l.shingle in (select unnest(v_left_kept))
        union all
        select 3, r.position
        from unnest(v_right) with ordinality as r (shingle, position)
        where r.shingle in (select unnest(v_right_kept))
          and (r.shingle in (select unnest(v_left_kept))) is not true
    ),
    runs as (
        select m.side, min(m.position)::integer as position, count(*)::integer as shingle_count
        from (
            select k.side, k.position,
                   k.position - row_number() over (partition by k.side order by k.position) as run
            from marked as k
        ) as m
        group by m.side, m.run
    ),
    -- More than are shown: a passage that a text repeats is shown once.
    longest as (
        select r.side, r.position, r.shingle_count,
               r.shingle_count + p_scheme.shingle_width - 1 as unit_count
        from (
            select u.side, u.position, u.shingle_count,
                   row_number() over (
                       partition by u.side order by u.shingle_count desc, u.position) as rank
            from runs as u
        ) as r
        where r.rank <= 10 * c_passages
    ),
    passages as (
        select l.side, l.shingle_count, t.passage, min(l.position) as position,
               row_number() over (
                   partition by l.side order by l.shingle_count desc, min(l.position)) as rank
        from longest as l
        cross join lateral (
            select case
                when not v_is_by_word
                then substr(v_texts[case l.side when 3 then 2 else 1 end], l.position, l.unit_count)
                when l.side = 3
                then array_to_string(v_right_words[l.position : l.position + l.unit_count - 1], ' ')
                else array_to_string(v_left_words[l.position : l.position + l.unit_count - 1], ' ')
            end as passage
        ) as t
        group by l.side, l.shingle_count, t.passage
    )
    select case p.side
               when 1 then 'shared passage'
               when 2 then format('only in %s', p_document_id)
               else format('only in %s', p_other_id)
           end,
           case when length(p.passage) > c_passage_length
                then left(p.passage, c_passage_length) || ' ...'
                else p.passage end,
           jsonb_build_object('shingles', p.shingle_count, 'begins_at', p.position)
    from passages as p
    where p.rank <= c_passages
    order by p.side, p.rank;
end;
$$;

-- The state of a text and what made it so. Repeated words count once: that is why a long text can be
-- short.
create or replace function sherlock._explain_text_state(
    p_document_id bigint,
    p_text_state text,
    p_scheme sherlock.shingle_schemes
)
returns text
language plpgsql stable
set search_path from current
as $$
declare
    v_content constant text :=
        case when p_text_state = 'short' then sherlock.document_text(p_document_id) end;
begin
    return case
        when p_text_state = 'empty' then 'empty (no letter or digit in it)'
        when p_text_state = 'excluded' then 'excluded (too badly read, or not all of it)'
        when v_content is not null then format(
            'short (different shingles: %s, and %s are needed)',
            sherlock._distinct_shingles(
                sherlock.shingles(
                    sherlock.canonical_text(v_content), p_scheme.shingle_kind,
                    p_scheme.shingle_width),
                p_scheme.min_shingles),
            p_scheme.min_shingles)
        else p_text_state
    end;
end;
$$;
