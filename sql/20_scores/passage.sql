-- Where in a text another one stands, and how much of it.

-- The passage of the outer text that has most of the inner one's shingles for its length: the greatest
-- sum of +1 for those that it has and -1 for others; boilerplate counts for nothing. Positions of the
-- first and the last shingle, from 1, and how many of the inner one's there are in it.
create or replace function sherlock._passage(
    p_inner_kept bigint[],
    p_outer bigint[],
    p_outer_kept bigint[],
    out first_position integer,
    out last_position integer,
    out shared_count integer
)
language sql stable parallel safe
begin atomic
    with inner_shingles as materialized (
        select distinct i.shingle from unnest(p_inner_kept) as i (shingle)
    ),
    kept as materialized (
        select distinct k.shingle
        from unnest(p_outer_kept) as k (shingle)
        where cardinality(p_outer_kept) < cardinality(p_outer)
    ),
    steps as materialized (
        select o.position, o.shingle,
               case
                   when i.shingle is not null then 1
                   when k.shingle is null and cardinality(p_outer_kept) < cardinality(p_outer)
                   then 0
                   else -1
               end as step
        from unnest(p_outer) with ordinality as o (shingle, position)
        left join inner_shingles as i on i.shingle = o.shingle
        left join kept as k on k.shingle = o.shingle
    ),
    sums as materialized (
        select s.position, s.shingle, s.step,
               sum(s.step) over (order by s.position) - s.step as sum_before
        from steps as s
    ),
    gains as materialized (
        select s.position, s.shingle, s.step, s.sum_before,
               min(s.sum_before) over (order by s.position) as least_before
        from sums as s
    ),
    ends as materialized (
        select g.position, g.least_before
        from gains as g
        where g.step = 1
        order by g.sum_before + 1 - g.least_before desc, g.position
        limit 1
    ),
    starts as materialized (
        select max(g.position) as position
        from gains as g
        join ends as e on g.position <= e.position and g.sum_before = e.least_before
    )
    select b.position::integer, e.position::integer,
           (select count(distinct g.shingle)::integer
            from gains as g
            where g.position between b.position and e.position and g.step = 1)
    from starts as b
    cross join ends as e;
end;

-- Characters of a text that its words have, from 0 and the one after the last. Words are those of the
-- canonical text, from 1; it maps each character by itself, so parts between spaces may be counted alone.
create or replace function sherlock._word_offsets(
    p_content text,
    p_first_word integer,
    p_last_word integer,
    out start_offset integer,
    out end_offset integer
)
language sql immutable parallel safe
begin atomic
    with lines as materialized (
        select l.line, l.position,
               coalesce(cardinality(sherlock.tokens(sherlock.canonical_text(l.line))), 0)
                   as word_count
        from string_to_table(p_content, E'\n') with ordinality as l (line, position)
    ),
    counted as materialized (
        select l.line, l.word_count,
               sum(l.word_count) over (order by l.position) - l.word_count as words_before,
               sum(length(l.line) + 1) over (order by l.position) - length(l.line) - 1
                   as characters_before
        from lines as l
    ),
    parts as materialized (
        select p.part, p.position, c.words_before, c.characters_before,
               coalesce(cardinality(sherlock.tokens(sherlock.canonical_text(p.part))), 0)
                   as word_count
        from counted as c
        cross join lateral string_to_table(c.line, ' ') with ordinality as p (part, position)
        where (p_first_word > c.words_before and p_first_word <= c.words_before + c.word_count)
           or (p_last_word > c.words_before and p_last_word <= c.words_before + c.word_count)
    ),
    placed as materialized (
        select p.part, p.word_count,
               p.words_before + sum(p.word_count) over w - p.word_count as words_before,
               p.characters_before + sum(length(p.part) + 1) over w - length(p.part) - 1
                   as characters_before
        from parts as p
        window w as (partition by p.characters_before order by p.position)
    )
    select (min(p.characters_before) filter (
               where p_first_word > p.words_before
                 and p_first_word <= p.words_before + p.word_count))::integer,
           (max(p.characters_before + length(p.part)) filter (
               where p_last_word > p.words_before
                 and p_last_word <= p.words_before + p.word_count))::integer
    from placed as p;
end;
