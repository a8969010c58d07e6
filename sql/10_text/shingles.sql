-- Shingles: a canonical text as the 64-bit hashes of its overlapping runs of words or characters.
--
-- The hashes are PostgreSQL's own (hash partitioning keeps them stable over versions), so numpy
-- can compute the same ones; sherlock.hash_self_test() tells whether a server still agrees.

create or replace function sherlock._hash_runs(p_units bigint[], p_width integer)
returns bigint[]
language plpgsql immutable strict parallel safe
as $$
-- The hash of each run of p_width units u1 ... un: x1 = u1, x(k) = hash of u(k) seeded by x(k-1).
-- Fewer units than that are one run; no units, no runs.
-- A pass over the array costs more than a hash, so each takes as many steps as are left, up to 4.
declare
    v_hashes bigint[] := p_units;
    v_width constant integer := least(p_width, cardinality(p_units));
    v_done integer := 1;
begin
    while v_done < v_width loop
        if v_width - v_done >= 4 then
            v_hashes := array(
                select hashint8extended(p_units[i + v_done + 3],
                    hashint8extended(p_units[i + v_done + 2],
                        hashint8extended(p_units[i + v_done + 1],
                            hashint8extended(p_units[i + v_done], v_hashes[i]))))
                from (select generate_subscripts(p_units[v_done + 4 :], 1) as i) as starts
            );
            v_done := v_done + 4;
        elsif v_width - v_done >= 2 then
            v_hashes := array(
                select hashint8extended(p_units[i + v_done + 1],
                    hashint8extended(p_units[i + v_done], v_hashes[i]))
                from (select generate_subscripts(p_units[v_done + 2 :], 1) as i) as starts
            );
            v_done := v_done + 2;
        else
            v_hashes := array(
                select hashint8extended(p_units[i + v_done], v_hashes[i])
                from (select generate_subscripts(p_units[v_done + 1 :], 1) as i) as starts
            );
            v_done := v_done + 1;
        end if;
    end loop;
    return v_hashes;
end
$$;

create or replace function sherlock.shingles(
    p_canonical text,
    p_kind text,
    p_width integer
)
returns bigint[]
language plpgsql immutable parallel safe
as $$
begin
    if p_canonical is null then
        return null;
    elsif p_kind = 'word' and p_width between 1 and 9 then
        return sherlock._hash_runs(
            array(select hashtextextended(string_to_table(p_canonical, ' ') collate "C", 0)),
            p_width
        );
    elsif p_kind = 'skeleton' and p_width between 1 and 9 then
        return sherlock.shingles(sherlock.skeleton(p_canonical), 'word', p_width);
    elsif p_kind = 'char' and p_width between 3 and 16 then
        -- A character counts as its code point, hashed; substr() would walk the text for each.
        return sherlock._hash_runs(
            array(select hashint4extended(ascii(string_to_table(p_canonical, null)), 0)),
            p_width
        );
    end if;
    raise exception using
        errcode = 'SH010',
        message = format('no such shingles: kind %L, width %L', p_kind, p_width),
        hint = 'use kind word or skeleton with a width of 1 to 9, or char with a width of 3 to 16';
end
$$;

comment on function sherlock.shingles(text, text, integer) is
'The shingles of a canonical text (sherlock.canonical_text) in order, as 64-bit hashes: runs of '
'p_width words (p_kind word, 1 to 9), of words of the text''s skeleton (sherlock.skeleton, p_kind '
'skeleton, 1 to 9) or characters (p_kind char, 3 to 16). A text shorter than p_width is one shingle, '
'an empty text none. Error: SH010 no such shingles.';

-- Boilerplate: what stands on a scheme's list is left out before signing.
create or replace function sherlock._distinctive_shingles(
    p_shingles bigint[],
    p_stop_list_id integer
)
returns bigint[]
language plpgsql stable parallel safe
as $$
-- Two steps, each a third of the time of asking the list for one shingle after the other: those of
-- the text that are on the list, in one pass of its index; and the others, in their order.
declare
    v_stopped bigint[];
begin
    if p_stop_list_id is null then
        return p_shingles;
    end if;
    v_stopped := array(
        select s.shingle
        from sherlock.stop_shingles as s
        where s.stop_list_id = p_stop_list_id and s.shingle = any(p_shingles)
    );
    if cardinality(v_stopped) = 0 then
        return p_shingles;
    end if;
    return array(
        select t.shingle
        from unnest(p_shingles) as t (shingle)
        -- Not "<> all(v_stopped)": that would compare each with each.
        where not t.shingle = any(select unnest(v_stopped))
    );
end
$$;

create or replace function sherlock.hash_self_test()
returns boolean
language sql stable parallel safe
return (
    select bool_and(
        hashtextextended(answers.token collate "C", 0) = answers.hash
        and hashint8extended(answers.hash, answers.seed) = answers.seeded_hash
    )
    from (
        values
            ('demanda'::text, -3014340382120897769::bigint, 0::bigint, 27358135575861877::bigint),
            (E'se\u00F1or', 3874017472596462889, 1, 3478920673961782280),
            ('a', 3591986179850072241, -1, -1042576852549916115),
            (
                '0123456789abcdefghijklmnopqrstuvwxyz',
                2599983508539421163, 4611686018427387904, 1034521226903759252
            ),
            (
                E'\u5317',
                -1819588258642763510, -9223372036854775808, -3317612579903991676
            )
    ) as answers(token, hash, seed, seeded_hash)
);

comment on function sherlock.hash_self_test() is
'Whether this server''s hash functions give the answers that signatures rely on. If not, do not '
'install: stored signatures would not compare with those of other servers or of the Python side.';
