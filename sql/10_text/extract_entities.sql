-- Entities of a filing by patterns alone, for rows that plain SQL inserts; the Python rules find
-- more. Patterns are matched under the collation C on a copy in capitals without accents: what a
-- letter is must not depend on the server's locale. A session keeps 32 compiled patterns, and to
-- compile one costs more than to match it: where a plain comparison does, there is no pattern.
--
-- Spans are offsets from 0, their ends exclusive. They come from a copy in which matches are marked
-- E'\x01' and E'\x02', taken apart at the marks: that gives the offsets of all matches in one pass.

create or replace function sherlock._folded_text(p_text text)
returns text
language plpgsql immutable strict parallel safe
as $$
-- In capitals without accents, one kind of dash, quote and space; of the same length.
declare
    v_text text collate "C" := upper(p_text collate "C");
begin
    v_text := replace(replace(replace(replace(v_text,
        E'\t', ' '), E'\r', ' '), E'\v', E'\n'), E'\f', E'\n');
    v_text := replace(replace(replace(v_text, E'\x01', ' '), E'\x02', ' '), E'\x03', ' ');
    if octet_length(v_text) > length(v_text) then
        v_text := replace(replace(replace(replace(replace(replace(replace(v_text,
            'á', 'A'), 'é', 'E'), 'í', 'I'), 'ó', 'O'), 'ú', 'U'), 'ñ', 'N'), 'ü', 'U');
        v_text := replace(replace(replace(replace(replace(replace(replace(v_text,
            'Á', 'A'), 'É', 'E'), 'Í', 'I'), 'Ó', 'O'), 'Ú', 'U'), 'Ñ', 'N'), 'Ü', 'U');
        -- A sign of an ordinal is read as the dot of an abbreviation: Nº 7 is No. 7.
        v_text := replace(replace(replace(replace(v_text,
            'º', '.'), '°', '.'), '–', '-'), E'\u00A0', ' ');
    end if;
    if octet_length(v_text) > length(v_text) then
        v_text := translate(v_text,
            E'àèìòùâêîôûäëïöçÀÈÌÒÙÂÊÎÔÛÄËÏÖÇ—−‐‑“”«»‘’´•·▪●\u2007\u202F\u0085\u2028\u2029',
            E'AEIOUAEIOUAEIOCAEIOUAEIOUAEIOC----""""''''''****  \n\n\n');
    end if;
    return v_text;
end;
$$;

create or replace function sherlock._on_one_line(p_value text)
returns text
language sql immutable parallel safe
return case
    when p_value like E'%\n%' or p_value like '%  %'
        then regexp_replace(p_value collate "C", '\s+', ' ', 'g')
    else p_value
end;

create or replace function sherlock.extract_entities(p_text text)
returns jsonb
language plpgsql immutable parallel safe
as $$
declare
    c_head constant integer := 12000;
    c_tail constant integer := 4000;
    c_gap constant text := E'\n\n';
    v_excerpt text := p_text;
    v_cut integer;
    v_shift integer := 0;
    v_text text;
    v_folded text;
    -- Where in the text without combining accents each of them was.
    v_accents integer[] := '{}';
    v_parties jsonb;
    v_identifiers jsonb;
begin
    if length(p_text) > c_head + c_tail + length(c_gap) then
        v_excerpt := left(p_text, c_head) || c_gap || right(p_text, c_tail);
        v_cut := c_head + length(c_gap);
        v_shift := length(p_text) - c_tail - v_cut;
    end if;
    v_text := v_excerpt;
    v_folded := sherlock._folded_text(v_text);
    if octet_length(v_folded) > length(v_folded) and v_folded collate "C" ~ '[\u0300-\u036f]' then
        select string_agg(s.piece, '' order by s.position),
               (array_agg(s.accent order by s.position))[:count(*) - 1]
        into v_text, v_accents
        from (
            select i.piece, i.position,
                   (sum(length(i.piece)) over (order by i.position))::integer as accent
            from regexp_split_to_table(v_excerpt collate "C", '[\u0300-\u036f]')
                with ordinality as i (piece, position)
        ) as s;
        v_folded := sherlock._folded_text(v_text);
    end if;
    v_parties := sherlock._parties(left(v_text, c_head), left(v_folded, c_head));
    v_identifiers := sherlock._identifiers(v_folded, v_parties);

    return coalesce((
        select jsonb_agg(
            f.entity || jsonb_build_object(
                'value', coalesce(f.entity -> 'value', to_jsonb(sherlock._on_one_line(
                    substr(v_excerpt, a.start + 1, a."end" - a.start)))),
                'source', 'sql',
                'start', a.start + case when a.start >= v_cut then v_shift else 0 end,
                'end', a."end" + case when a."end" > v_cut then v_shift else 0 end)
            order by a.start)
        from (
            select p.entity from jsonb_array_elements(v_parties) as p (entity)
            union all
            select i.entity
            from jsonb_each(v_identifiers) as i (key, entity)
        ) as f
        cross join lateral (
            select (s.start + count(*) filter (where c.accent <= s.start))::integer as start,
                   (s."end" + count(*) filter (where c.accent <= s."end"))::integer as "end"
            from (select (f.entity -> 'start')::integer, (f.entity -> 'end')::integer)
                as s (start, "end")
            left join unnest(v_accents) as c (accent) on true
            group by s.start, s."end"
        ) as a
    ), '[]');
end;
$$;

comment on function sherlock.extract_entities(text) is
'Parties and identifiers of a Spanish-language Colombian filing by patterns alone, as the array '
'that sherlock.store_entities takes, in the order of the text: {role, value, source, start, end}, '
'where known id_type and owner, and is_comparable false for mail boxes of institutions. source is '
'sql; start and end are offsets in characters from 0. Looked at are the first 12,000 and the last '
'4,000 characters, for parties the former only, and at most 300 mails, 300 dockets and 300 '
'numbers. Prefers silence to a wrong party. [] for null, and where nothing is found. The same on '
'every server version and locale.';
