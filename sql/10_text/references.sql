-- What tells one matter from another whatever the words around it: the numbers and the dates of a
-- text.
do $$
begin
    if to_regtype('sherlock._references') is null then
        create type sherlock._references as (numbers text[], dates date[]);
    end if;
end;
$$;

-- A part of a word as digits: what it is, or what a reader of images took for letters where at least
-- two are digits, and half; null if it is no number.
create or replace function sherlock._digits_misread(p_part text)
returns text
language plpgsql immutable strict parallel safe
as $$
declare
    c_digits constant text := '0123456789';
    v_digit_count integer;
    v_read text;
begin
    if ltrim(p_part, c_digits) = '' then
        return p_part;
    end if;
    v_digit_count := length(p_part) - length(translate(p_part, c_digits, ''));
    if v_digit_count >= 2 and 2 * v_digit_count >= length(p_part) then
        v_read := translate(p_part, 'OoIiLlZzSsBbGgQq', '0011112255889999');
        if ltrim(v_read, c_digits) = '' then
            return v_read;
        end if;
    end if;
    return null;
end;
$$;

-- Word by word, without patterns: no number goes beyond a word, and most words have no digits. What
-- is longer than any number is no word.
create or replace function sherlock._number_references(p_text text)
returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
    c_most constant integer := 200;
    c_longest_word constant integer := 200;
    c_longest_number constant integer := 40;
    c_digits constant text := '0123456789';
    c_between constant text := '!"#$%&()*+-/:;<=>?@[\]^_`{|}~¡¢£§©ª«¬®°±·º»¿‐‑–—“”„•…€№';
    c_marks_of_thousands constant text := ',''’´';
    v_word text;
    v_token text;
    v_part text;
    v_number text;
    v_is_marked boolean;
    v_numbers text[] := '{}';
begin
    for v_word in
        select w.word
        from (
            select s.word, min(s.position) as position
            from string_to_table(
                    replace(replace(replace(replace(replace(
                        p_text, E'\n', ' '), E'\r', ' '), E'\t', ' '), E'\f', ' '), E'\u00A0', ' '),
                    ' ') with ordinality as s (word, position)
            where octet_length(s.word) - octet_length(translate(s.word, c_digits, '')) >= 2
              and octet_length(s.word) >= 3
              and length(s.word) <= c_longest_word
            group by s.word
        ) as w
        order by w.position
    loop
        foreach v_token in array string_to_array(
            translate(v_word, c_between, repeat(' ', length(c_between))), ' ')
        loop
            continue when octet_length(v_token) < 3;
            v_number := null;
            -- The empty one at the end closes the last number.
            foreach v_part in array string_to_array(
                translate(v_token, c_marks_of_thousands, '....') || '.', '.')
            loop
                v_part := sherlock._digits_misread(v_part);
                if v_is_marked and length(v_part) = 3
                   and length(v_number) <= c_longest_number - 3
                then
                    v_number := v_number || v_part;
                    continue;
                end if;
                if length(v_number) between 3 and c_longest_number
                   and not (length(v_number) = 4 and v_number between '1900' and '2099')
                   and v_number <> all (v_numbers)
                then
                    v_numbers := v_numbers || v_number;
                    if cardinality(v_numbers) = c_most then
                        return v_numbers;
                    end if;
                end if;
                v_number := v_part;
                v_is_marked := length(v_number) between 1 and 3;
            end loop;
        end loop;
    end loop;
    return v_numbers;
end;
$$;

-- Read backwards from each year: 5 de mayo de 2021, 5 (cinco) días del mes de mayo de dos mil
-- veintiuno (2021), mayo 5 de 2021, 5/5/2021.
create or replace function sherlock._date_references(p_canonical text)
returns date[]
language plpgsql immutable strict parallel safe
as $$
declare
    c_most constant integer := 100;
    c_most_years constant integer := 1000;
    c_months constant text[] := array[
        'enero', 'febrero', 'marzo', 'abril', 'mayo', 'junio', 'julio', 'agosto', 'septiembre',
        'octubre', 'noviembre', 'diciembre', 'setiembre'];
    c_numeric_months constant text[] := array[
        '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12'];
    c_first constant text[] := array['primero', '1o', '1ro', '1ero', '1er'];
    -- Between the month and the year, or the day after the month: the same in words.
    c_number_words constant text[] := array[
        'de', 'del', 'ano', 'mil', 'y', 'uno', 'un', 'dos', 'tres', 'cuatro', 'cinco', 'seis',
        'siete', 'ocho', 'nueve', 'diez', 'once', 'doce', 'trece', 'catorce', 'quince', 'dieciseis',
        'diecisiete', 'dieciocho', 'diecinueve', 'veinte', 'veintiuno', 'veintiun', 'veintidos',
        'veintitres', 'veinticuatro', 'veinticinco', 'veintiseis', 'veintisiete', 'veintiocho',
        'veintinueve', 'treinta', 'cuarenta', 'cincuenta', 'sesenta', 'setenta', 'ochenta',
        'noventa', 'novecientos'];
    c_most_number_words constant integer := 10;
    -- Words between the day and the month, the day in words among them.
    c_between constant integer := 8;
    v_words constant text[] := string_to_array(p_canonical, ' ');
    v_year_at integer;
    v_at integer;
    v_month_at integer;
    v_day text;
    v_month integer;
    v_date date;
    v_dates date[] := '{}';
begin
    for v_year_at in
        select w.position
        from unnest(v_words) with ordinality as w (word, position)
        where length(w.word) = 4 and w.word between '1900' and '2099'
          and ltrim(w.word, '0123456789') = ''
        order by w.position
        limit c_most_years
    loop
        v_at := v_year_at - 1;
        while v_words[v_at] = any(c_number_words) and v_at >= v_year_at - c_most_number_words loop
            v_at := v_at - 1;
        end loop;
        v_month := array_position(c_months, v_words[v_at]);
        if v_month is not null then
            for v_i in 1 .. c_between loop
                v_at := v_at - 1;
                v_day := case when v_words[v_at] = any(c_first) then '1' else v_words[v_at] end;
                exit when ltrim(v_day, '0123456789') = '';
            end loop;
        else
            v_day := v_words[v_at];
            v_month_at := v_at - 1;
            while v_words[v_month_at] = any(c_number_words) and v_month_at >= v_at - c_between loop
                v_month_at := v_month_at - 1;
            end loop;
            v_month := array_position(c_months, v_words[v_month_at]);
            if v_month is null and v_at = v_year_at - 1 then
                v_month := array_position(c_numeric_months, ltrim(v_words[v_at], '0'));
                v_day := v_words[v_at - 1];
            end if;
        end if;
        continue when v_month is null or v_day is null or length(v_day) not between 1 and 2
            or ltrim(v_day, '0123456789') <> '' or v_day::integer not between 1 and 31;
        v_month := case v_month when 13 then 9 else v_month end;
        v_date := make_date(v_words[v_year_at]::integer, v_month, 1) + (v_day::integer - 1);
        -- Not every month has a 31st.
        if extract(month from v_date) = v_month and v_date <> all (v_dates) then
            v_dates := v_dates || v_date;
        end if;
        exit when cardinality(v_dates) = c_most;
    end loop;
    return v_dates;
end;
$$;

create or replace function sherlock._references(p_text text, p_canonical text)
returns sherlock._references
language sql immutable parallel safe
return row(
    coalesce(sherlock._number_references(p_text), '{}'),
    coalesce(sherlock._date_references(p_canonical), '{}'))::sherlock._references;
