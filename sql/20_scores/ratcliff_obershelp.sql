-- Ratcliff/Obershelp similarity of two short texts, exactly as Python's
-- difflib.SequenceMatcher(None, left, right, autojunk=False).ratio() has it.
create or replace function sherlock._matching_characters(
    p_left text,
    p_right text,
    p_needed integer
)
returns integer
language plpgsql immutable strict parallel safe
as $$
-- Takes the longest common block (the one that starts first in p_left, then first in p_right),
-- and again so in what stands before it and behind it on both sides; the parts still to do are kept
-- on a stack. Gives up as soon as p_needed is out of reach: with null if it is so in the other
-- order of the two texts as well, else with what could still be reached. Most pairs of names end in the
-- first round: m matching characters stand in at most (rest of both texts) + 1 blocks, so the
-- longest block has at least m / (rest + 1) characters.
declare
    v_lefts text[] := array[p_left];
    v_rights text[] := array[p_right];
    v_top integer := 1;
    v_left text collate "C";
    v_right text collate "C";
    v_left_length integer := length(p_left);
    v_right_length integer := length(p_right);
    v_possible integer := least(v_left_length, v_right_length);
    v_rest integer := v_left_length + v_right_length - 2 * p_needed;
    v_size integer := 0;
    v_at integer;
    v_start integer;
    v_right_start integer;
    v_matching integer := 0;
begin
    if v_possible < p_needed then
        return null;
    end if;
    if p_needed > 0 then
        v_size := (p_needed + v_rest) / (v_rest + 1) - 1;
    end if;
    while v_top > 0 loop
        v_left := v_lefts[v_top];
        v_right := v_rights[v_top];
        v_top := v_top - 1;
        v_left_length := length(v_left);
        if v_left = v_right then
            v_matching := v_matching + v_left_length;
            continue;
        end if;

        v_start := 0;
        v_at := 1;
        while v_at + v_size <= v_left_length loop
            if strpos(v_right, substr(v_left, v_at, v_size + 1)) > 0 then
                v_size := v_size + 1;
                v_start := v_at;
            else
                v_at := v_at + 1;
            end if;
        end loop;

        if v_start = 0 and v_size > 0 then
            return null;
        end if;
        v_right_length := length(v_right);
        v_possible := v_possible - least(v_left_length, v_right_length);
        if v_start > 0 then
            v_matching := v_matching + v_size;
            v_possible := v_possible + v_size;
            v_right_start := strpos(v_right, substr(v_left, v_start, v_size));
            if v_start > 1 and v_right_start > 1 then
                v_top := v_top + 1;
                v_lefts[v_top] := left(v_left, v_start - 1);
                v_rights[v_top] := left(v_right, v_right_start - 1);
                v_possible := v_possible + least(v_start, v_right_start) - 1;
            end if;
            v_at := v_start + v_size;
            v_right_start := v_right_start + v_size;
            if v_at <= v_left_length and v_right_start <= v_right_length then
                v_top := v_top + 1;
                v_lefts[v_top] := substr(v_left, v_at);
                v_rights[v_top] := substr(v_right, v_right_start);
                v_possible := v_possible
                    + least(v_left_length - v_at, v_right_length - v_right_start) + 1;
            end if;
        end if;
        if v_possible < p_needed then
            return v_possible;
        end if;
        v_size := 0;
    end loop;
    return v_matching;
end;
$$;

create or replace function sherlock.matching_characters(p_left text, p_right text)
returns integer
language sql immutable parallel safe
return sherlock._matching_characters(left(p_left, 200), left(p_right, 200), 0);

comment on function sherlock.matching_characters(text, text) is
'Characters in the matching blocks of two texts (Ratcliff/Obershelp). Only the first 200 characters '
'of each text count: in the worst case the time grows with the cube of the length.';

create or replace function sherlock.ratcliff_obershelp(p_left text, p_right text)
returns double precision
language sql immutable parallel safe
return case
    when p_left = '' and p_right = '' then 1.0
    else 2.0 * sherlock.matching_characters(p_left, p_right)
        / (least(length(p_left), 200) + least(length(p_right), 200))
end::double precision;

comment on function sherlock.ratcliff_obershelp(text, text) is
'Ratcliff/Obershelp ratio of two texts, 0 to 1: difflib''s SequenceMatcher(None, left, right, '
'autojunk=False).ratio(). Not symmetric. Of texts longer than 200 characters the first 200 are '
'compared. Two empty texts: 1.';
