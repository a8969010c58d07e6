-- Whether two normalised names are of the same party. The ratio alone is unsafe: Juzgado 22 and
-- Juzgado 23 reach 0.97, Ruiz and Díaz behind the same two first names 0.89.

create or replace function sherlock._numbers_of_name(p_normalised text)
returns text[]
language sql immutable strict parallel safe
return array(
    select distinct m.number[1] collate "C"
    from regexp_matches(
        p_normalised collate "C",
        '\m([0-9]+[a-z]?|(?<=\msubseccion )[a-z])\M', 'g') as m (number)
    order by 1
);

create or replace function sherlock._numbers_agree(p_left text, p_right text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether two names have the same set of numbers. Most have none or one, and that is found fast.
declare
    c_number constant text := '\m[0-9]+[a-z]?\M';
    v_left text collate "C" := p_left;
    v_right text collate "C" := p_right;
    v_left_first text;
    v_right_first text;
begin
    if strpos(v_left, 'subseccion ') = 0 and strpos(v_right, 'subseccion ') = 0 then
        if translate(v_left, '0123456789', '') = v_left
           and translate(v_right, '0123456789', '') = v_right
        then
            return true;
        end if;
        v_left_first := substring(v_left from c_number);
        v_right_first := substring(v_right from c_number);
        if v_left_first is null or v_right_first is null then
            return v_left_first is null and v_right_first is null;
        end if;
        if regexp_count(v_left, c_number) = 1 and regexp_count(v_right, c_number) = 1 then
            return v_left_first = v_right_first;
        end if;
    end if;
    return sherlock._numbers_of_name(p_left) = sherlock._numbers_of_name(p_right);
end;
$$;

create or replace function sherlock._ratio_reaches(
    p_left text,
    p_right text,
    p_threshold double precision
)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether the ratio of two texts, in this order or the other, is at least the threshold.
declare
    v_left text collate "C" := left(p_left, 200);
    v_right text collate "C" := left(p_right, 200);
    v_length double precision := length(v_left) + length(v_right);
    v_needed integer := ceil(p_threshold * v_length / 2 - 1e-9);
    v_matching integer;
begin
    -- Characters that the other text lacks altogether can't match.
    if length(v_left) - length(translate(v_left, v_right, '')) < v_needed
       or length(v_right) - length(translate(v_right, v_left, '')) < v_needed
    then
        return false;
    end if;
    v_matching := sherlock._matching_characters(v_left, v_right, v_needed);
    if v_matching < v_needed then
        v_matching := sherlock._matching_characters(v_right, v_left, v_needed);
    end if;
    return coalesce(v_matching >= v_needed, false);
end;
$$;

create or replace function sherlock._own_words_resemble(p_left text, p_right text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Compares the words that only one of two names has. Without spaces, which OCR loses and invents,
-- and with the letters that it reads as digits.
declare
    -- Below this they are other words, not misread ones.
    c_threshold constant double precision := 0.65;
    c_particles constant text[] := array['de', 'la', 'del', 'las', 'los', 'y'];
    v_lefts text[] := string_to_array(p_left, ' ');
    v_rights text[] := string_to_array(p_right, ' ');
    v_word text collate "C";
    v_left text := '';
    v_right text := '';
begin
    foreach v_word in array v_lefts loop
        if v_word <> all(v_rights) and v_word <> all(c_particles) then
            v_left := v_left || v_word;
        end if;
    end loop;
    if v_left = '' then
        return true;
    end if;
    foreach v_word in array v_rights loop
        if v_word <> all(v_lefts) and v_word <> all(c_particles) then
            v_right := v_right || v_word;
        end if;
    end loop;
    return v_right = ''
        or sherlock._ratio_reaches(
            translate(v_left, '0125', 'olzs'), translate(v_right, '0125', 'olzs'), c_threshold);
end;
$$;

create or replace function sherlock.names_agree(
    p_left_normalised text,
    p_left_key text,
    p_right_normalised text,
    p_right_key text,
    p_threshold double precision
)
returns boolean
language plpgsql immutable strict parallel safe
as $$
begin
    if p_left_normalised = p_right_normalised or p_left_key = p_right_key then
        return not sherlock.is_initials(p_left_normalised);
    end if;
    -- The ratio last: it costs ten times as much as all that can rule a pair out before.
    return sherlock._numbers_agree(p_left_normalised, p_right_normalised)
        and (sherlock._own_words_resemble(p_left_normalised, p_right_normalised)
             or sherlock._own_words_resemble(p_left_key, p_right_key))
        and not sherlock.is_initials(p_left_normalised)
        and not sherlock.is_initials(p_right_normalised)
        and (sherlock._ratio_reaches(p_left_normalised, p_right_normalised, p_threshold)
             or sherlock._ratio_reaches(p_left_key, p_right_key, p_threshold));
end;
$$;

comment on function sherlock.names_agree(text, text, text, text, double precision) is
'Whether two normalised names (with their sherlock.name_key) are of the same party: equal, equal but '
'for the order of words, or Ratcliff/Obershelp ratio of the names or of their keys at least '
'p_threshold in either order. Even then not if numbers differ (Juzgado 22 and 23), if the words that '
'only one of them has don''t resemble those that only the other has (Ruiz and Díaz, Neiva and '
'Cúcuta), or if one is initials. Juan Pérez and Juana Pérez (0.97) agree: a letter may be '
'misread, so only their ids can tell them apart (see sherlock.compare_entities).';

-- How often each letter occurs in a name, up to four times, as many bits of four: names that agree
-- have nearly the same letters, and bits are compared faster than names.
create or replace function sherlock._name_letters(p_key text)
returns bit
language sql immutable strict parallel safe
return (
    select string_agg(
        rpad(repeat('1', least(length(p_key) - length(replace(p_key, l.letter, '')), 4)), 4, '0'),
        '' order by l.position)
    from string_to_table('abcdefghijklmnopqrstuvwxyz', null) with ordinality
        as l (letter, position)
)::bit(104);

-- How many characters the keys of the first two plaintiffs' names lack: particles, and their spaces.
create or replace function sherlock._dropped_characters(p_profile jsonb, p_name_keys text[])
returns integer
language sql immutable parallel safe
return length(p_profile #>> '{demandante,0,0}') - length(p_name_keys[1])
    + coalesce(length(p_profile #>> '{demandante,1,0}') - length(p_name_keys[2]), 0);

-- Trigram similarity of two names' keys; null if by their letters they cannot agree. Of n and m
-- characters at most (n + m - d) / 2 match where d letters have no partner, so a ratio of t needs
-- d <= (1 - t) (n + m): of the keys, or of the names with the p_dropped characters that their keys
-- lack, which may make up for as many letters. Letters that are not known rule nothing out.
create or replace function sherlock._key_similarity(
    p_left_key text,
    p_right_key text,
    p_left_letters bit,
    p_right_letters bit,
    p_dropped integer,
    p_threshold double precision
)
returns real
language sql immutable parallel safe
return case
    when coalesce(
        bit_count(p_left_letters # p_right_letters)
            <= (1 - p_threshold) * (length(p_left_key) + length(p_right_key))
               + (2 - p_threshold) * p_dropped + 1e-6,
        true)
    then similarity(p_left_key, p_right_key)
end;

create or replace function sherlock._trigram_similarity(p_left text, p_right text)
returns real
language sql immutable strict parallel safe
return similarity(p_left, p_right);
