-- What tells one matter from another whatever the words around it: the numbers and the dates of a
-- text.
do $$
begin
    if to_regtype('sherlock._references') is null then
        create type sherlock._references as (numbers text[], dates date[]);
    end if;
end;
$$;

create or replace function sherlock._number_references(p_text text)
returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
    c_most constant integer := 200;
    -- With or without marks of thousands, and not part of a word.
    c_number constant text :=
        '(?<![0-9A-Za-z])(?:[0-9]{1,3}(?:[.,][0-9]{3})+|[0-9]{3,40})(?![0-9A-Za-z])';
begin
    return array(
        select n.number
        from (
            select translate(m.groups[1], '.,', '') as number, min(m.position) as position
            from regexp_matches(p_text, '(' || c_number || ')', 'g')
                with ordinality as m (groups, position)
            group by number
        ) as n
        where not (length(n.number) = 4 and n.number between '1900' and '2099')
        order by n.position
        limit c_most
    );
end;
$$;

-- Read backwards from each year: 5 de mayo de 2021, 5 (cinco) días del mes de mayo del año 2021,
-- 5/5/2021.
create or replace function sherlock._date_references(p_canonical text)
returns date[]
language plpgsql immutable strict parallel safe
as $$
declare
    c_most constant integer := 100;
    c_months constant text[] := array[
        'enero', 'febrero', 'marzo', 'abril', 'mayo', 'junio', 'julio', 'agosto', 'septiembre',
        'octubre', 'noviembre', 'diciembre', 'setiembre'];
    -- Words between the day and the month, the day in words among them.
    c_between constant integer := 6;
    v_words constant text[] := string_to_array(p_canonical, ' ');
    v_year_at integer;
    v_at integer;
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
    loop
        v_at := v_year_at - 1;
        while v_words[v_at] in ('de', 'del', 'ano') loop
            v_at := v_at - 1;
        end loop;
        v_month := array_position(c_months, v_words[v_at]);
        if v_month is not null then
            v_month := case v_month when 13 then 9 else v_month end;
            for v_i in 1 .. c_between loop
                v_at := v_at - 1;
                v_day := case v_words[v_at] when 'primero' then '1' else v_words[v_at] end;
                exit when ltrim(v_day, '0123456789') = '';
            end loop;
        elsif v_at = v_year_at - 1 and v_words[v_at] in (
            '1', '2', '3', '4', '5', '6', '7', '8', '9', '01', '02', '03', '04', '05', '06', '07',
            '08', '09', '10', '11', '12')
        then
            v_month := v_words[v_at]::integer;
            v_day := v_words[v_at - 1];
        end if;
        continue when v_month is null or v_day is null or length(v_day) not between 1 and 2
            or ltrim(v_day, '0123456789') <> '' or v_day::integer not between 1 and 31;
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
