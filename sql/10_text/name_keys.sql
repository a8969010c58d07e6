-- Keys by which names that resemble each other are found without reading all names: whatever a reader
-- or a clerk does to one or two words of a name, some of its keys stay.
create or replace function sherlock._folded_name(p_normalised text)
returns text
language plpgsql immutable strict parallel safe
as $$
-- Letters that OCR confuses are one, and those that Spanish spells either way: b and v, s and z, y and
-- ll, double letters. Word by word: it has as many words as the name.
begin
    return replace(replace(replace(replace(replace(
        translate(sherlock.skeleton(p_normalised), 'zvyk', 'shic'),
        'ii', 'i'), 'ss', 's'), 'nn', 'n'), 'rr', 'r'), 'tt', 't');
end;
$$;

create or replace function sherlock.name_keys(p_collection_id integer, p_normalised text)
returns integer[]
language plpgsql immutable strict parallel safe
as $$
-- A set of words is the sum of their hashes: it needs no order. Of names that fall apart into more
-- words, the first six count.
declare
    c_most_words constant integer := 6;
    c_particles constant text[] := array['de', 'la', 'del', 'las', 'los', 'y'];
    -- Letters at either end of a name without spaces.
    c_end constant integer := 9;
    v_seed constant bigint := p_collection_id::bigint << 3;
    v_written constant text[] := string_to_array(p_normalised, ' ');
    v_folded constant text[] := string_to_array(sherlock._folded_name(p_normalised), ' ');
    v_word text collate "C";
    v_words bigint[] := '{}';
    v_initials bigint[] := '{}';
    v_word_sum bigint := 0;
    v_initial_sum bigint := 0;
    v_joined text collate "C" := '';
    v_count integer := 0;
    v_keys integer[];
begin
    for v_i in 1 .. cardinality(v_written) loop
        continue when v_written[v_i] = any(c_particles);
        v_joined := v_joined || v_written[v_i];
        continue when v_count = c_most_words;
        v_count := v_count + 1;
        v_word := v_folded[v_i];
        v_words[v_count] := hashtextextended(v_word, 0) >> 8;
        v_initials[v_count] := hashtextextended(left(v_word, 1), 1) >> 8;
        v_word_sum := v_word_sum + v_words[v_count];
        v_initial_sum := v_initial_sum + v_initials[v_count];
    end loop;
    if v_count = 0 then
        return '{}';
    end if;

    -- All words, in any order; and the name without its spaces.
    v_joined := sherlock._folded_name(v_joined);
    v_keys := array[
        (hashint8extended(v_word_sum, v_seed) >> 32)::integer,
        (hashtextextended(v_joined, v_seed + 1) >> 32)::integer];
    if length(v_joined) > c_end then
        v_keys := v_keys
            || (hashtextextended(left(v_joined, c_end), v_seed + 2) >> 32)::integer
            || (hashtextextended(right(v_joined, c_end), v_seed + 3) >> 32)::integer;
    end if;
    for v_i in 1 .. v_count loop
        -- One word, and of the others the initials.
        v_keys := v_keys || (hashint8extended(
            v_words[v_i] + v_initial_sum - v_initials[v_i], v_seed + 4) >> 32)::integer;
        -- All words but one; any two of them. Of three words these are the same.
        if v_count <> 3 and v_count > 1 then
            v_keys := v_keys
                || (hashint8extended(v_word_sum - v_words[v_i], v_seed) >> 32)::integer;
        end if;
        if v_count > 2 then
            for v_j in v_i + 1 .. v_count loop
                v_keys := v_keys
                    || (hashint8extended(v_words[v_i] + v_words[v_j], v_seed) >> 32)::integer;
            end loop;
        end if;
    end loop;
    return v_keys;
end;
$$;

comment on function sherlock.name_keys(integer, text) is
'The keys by which sherlock.entity_candidates finds names of a collection that resemble a normalised '
'name: its words in any order, all but one, any two, one and the initials of the others; the name '
'without spaces, its first and last nine letters. Letters that OCR confuses and that Spanish spells '
'either way are one; de, la, del, las, los, y don''t count. 18 keys for a name of four words, 10 for one '
'of three.';
