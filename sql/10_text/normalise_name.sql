-- Names of people and institutions in the form in which they are compared. Patterns are matched
-- under the collation C: what a letter is must not depend on the server's locale. A session
-- keeps 32 compiled patterns: before one that few names match goes a plain comparison.

create or replace function sherlock._without_accents(p_value text)
returns text
language plpgsql immutable strict parallel safe
as $$
declare
    v_value text collate "C" := translate(p_value, 'áéíóúñüÁÉÍÓÚÑÜ', 'aeiounuAEIOUNU');
begin
    if octet_length(v_value) > length(v_value) then
        v_value := regexp_replace(normalize(v_value, nfkd), E'[\u0300-\u036f]+', '', 'g');
    end if;
    return v_value;
end;
$$;

create or replace function sherlock._spelled_number(p_word text)
returns integer
language sql immutable parallel safe
-- Not strict, so that it is inlined. Pass a variable, it is read many times.
return case
    when p_word in ('primer', 'primero', 'primera', 'uno') then 1
    when p_word in ('segundo', 'segunda', 'dos') then 2
    when p_word in ('tercer', 'tercero', 'tercera', 'tres') then 3
    when p_word in ('cuarto', 'cuarta', 'cuatro') then 4
    when p_word in ('quinto', 'quinta', 'cinco') then 5
    when p_word in ('sexto', 'sexta', 'seis') then 6
    when p_word in ('septimo', 'septima', 'setimo', 'setima', 'siete') then 7
    when p_word in ('octavo', 'octava', 'ocho') then 8
    when p_word in ('noveno', 'novena', 'nueve') then 9
    when p_word in ('decimo', 'decima', 'diez') then 10
    when p_word in ('undecimo', 'undecima', 'once') then 11
    when p_word in ('duodecimo', 'duodecima', 'doce') then 12
    when p_word = 'trece' then 13
    when p_word = 'catorce' then 14
    when p_word = 'quince' then 15
    when p_word = 'dieciseis' then 16
    when p_word = 'diecisiete' then 17
    when p_word = 'dieciocho' then 18
    when p_word = 'diecinueve' then 19
    when p_word in ('vigesimo', 'vigesima', 'veinte') then 20
    when p_word in ('trigesimo', 'trigesima', 'treinta') then 30
    when p_word in ('cuadragesimo', 'cuadragesima', 'cuarenta') then 40
    when p_word in ('quincuagesimo', 'quincuagesima', 'cincuenta') then 50
    when p_word in ('sexagesimo', 'sexagesima', 'sesenta') then 60
    when p_word in ('septuagesimo', 'septuagesima', 'setenta') then 70
    when p_word in ('octogesimo', 'octogesima', 'ochenta') then 80
    when p_word in ('nonagesimo', 'nonagesima', 'noventa') then 90
end;

create or replace function sherlock._numbers_to_digits(p_name text)
returns text
language plpgsql immutable strict parallel safe
as $$
-- juzgado treinta y uno (31), juzgado no 031, juzgado trigesimo primero, juzgado 31o: juzgado 31.
declare
    c_roman constant text[] := array['i', 'ii', 'iii', 'iv', 'v', 'vi', 'vii', 'viii', 'ix', 'x'];
    v_word text collate "C";
    v_previous text collate "C" := '';
    v_number integer;
    v_unit text collate "C";
    v_tens integer;
    v_connector text := '';
    v_words text[];
    v_result text collate "C" := '';
begin
    foreach v_word in array string_to_array(btrim(p_name), ' ') loop
        v_number := sherlock._spelled_number(v_word);
        if v_word like any (array['veinti%', 'decim%', 'vigesim%', 'trigesim%'])
           and v_word ~ '^(?:veinti|(?:deci|vigesi|trigesi)m[oa])[a-z]'
        then
            v_unit := regexp_replace(v_word, '^(?:veinti|(?:deci|vigesi|trigesi)m[oa])', '');
            v_number := sherlock._spelled_number(v_unit)
                + case left(v_word, 1) when 'd' then 10 when 'v' then 20 else 30 end;
        end if;

        if v_tens is not null then
            if v_word = 'y' and v_connector = '' then
                v_connector := ' y';
                continue;
            end if;
            if v_number < 10 then
                v_number := v_number + v_tens;
            else
                v_result := v_result || ' ' || v_tens || v_connector;
            end if;
            v_tens := null;
            v_connector := '';
        end if;
        if v_number >= 10 and v_number % 10 = 0 then
            v_tens := v_number;
            continue;
        end if;

        if v_number is null
           and v_previous in ('sala', 'seccion', 'subseccion', 'brigada', 'division', 'zona')
        then
            v_number := array_position(c_roman, v_word);
        end if;
        v_previous := v_word;
        v_result := v_result || ' ' || coalesce(v_number::text, v_word);
    end loop;
    if v_tens is not null then
        v_result := v_result || ' ' || v_tens || v_connector;
    end if;
    if translate(v_result, '0123456789', '') = v_result then
        return ltrim(v_result);
    end if;
    v_words := string_to_array(ltrim(regexp_replace(v_result,
        ' (?:(?:no|nro|num|numero|n) )*0*([0-9]+)(?:o|a|er|[rdtmvn][oa])?(?= |$)', ' \1', 'g')),
        ' ');
    v_result := v_words[1];
    for v_i in 2 .. cardinality(v_words) loop
        if v_words[v_i] <> v_words[v_i - 1] or ltrim(v_words[v_i], '0123456789') <> '' then
            v_result := v_result || ' ' || v_words[v_i];
        end if;
    end loop;
    return v_result;
end;
$$;

create or replace function sherlock._without_titles(p_name text)
returns text
language plpgsql immutable strict parallel safe
as $$
declare
    c_titles constant text[] := array[
        'el', 'la', 'los', 'las', 'senor', 'senora', 'senores', 'senoras', 'senorita', 'sr', 'sra',
        'sres', 'dr', 'dra', 'doctor', 'doctora', 'don', 'dona', 'ciudadano', 'ciudadana',
        'abogado', 'abogada', 'abg', 'ingeniero', 'ingeniera', 'ing', 'menor', 'nino', 'nina',
        'joven'];
    v_words constant text[] := string_to_array(p_name, ' ');
    v_insurers constant integer[] := array_positions(v_words, 'eps');
    v_first integer := 1;
begin
    while v_words[v_first] = any(c_titles)
          or v_words[v_first] = 'nacion'
             and left(v_words[v_first + 1], 1) collate "C" between 'a' and 'z'
          or v_words[v_first] = 'eps' and v_first < v_insurers[cardinality(v_insurers)]
    loop
        v_first := v_first + 1;
    end loop;
    if v_first > 1 and v_words[v_first : v_first + 1] = array['de', 'edad'] then
        v_first := v_first + 2;
    end if;
    return array_to_string(v_words[v_first :], ' ');
end;
$$;

create or replace function sherlock.normalise_name(p_name text)
returns text
language plpgsql immutable strict parallel safe
as $$
declare
    c_numbered constant text[] := array[
        'juzgado', 'sala', 'seccion', 'subseccion', 'fiscalia', 'fiscal', 'notaria', 'tribunal',
        'comisaria', 'inspeccion', 'procuraduria', 'personeria', 'curaduria', 'brigada',
        'batallon', 'comando', 'distrito', 'division', 'estacion', 'despacho', 'zona', 'comuna',
        'colegio', 'institucion'];
    v_name text collate "C" := sherlock._without_accents(translate(p_name, 'ºª°', '   '));
begin
    if v_name like '%_._%' then
        v_name := regexp_replace(v_name,
            '(?<![A-Za-z0-9])([A-Za-z])\.(?=[A-Za-z](?![A-Za-z0-9]))', '\1', 'g');
    end if;
    v_name := ' ' || sherlock.canonical_text(v_name) || ' ';

    if v_name like '% _ _ %' then
        v_name := replace(v_name, ' q e p d ', ' qepd ');
        v_name := replace(v_name, ' e s p ', ' esp ');
        v_name := replace(v_name, ' s a s ', ' sas ');
        v_name := replace(v_name, ' e p s ', ' eps ');
        v_name := replace(v_name, ' i p s ', ' ips ');
        v_name := replace(v_name, ' e s e ', ' ese ');
        v_name := replace(v_name, ' s a ', ' sa ');
        v_name := replace(v_name, ' e u ', ' eu ');
        v_name := replace(v_name, ' d c ', ' dc ');
        v_name := replace(v_name, ' n n ', ' nn ');
    end if;
    if strpos(v_name, ' qepd ') > 0 or strpos(v_name, ' bogota dc ') > 0 then
        v_name := regexp_replace(v_name, ' qepd(?= )|(?<= bogota) dc(?= )', '', 'g');
    end if;

    if split_part(v_name, ' ', -2) in (
        'sas', 'sa', 'ltda', 'limitada', 'esp', 'sca', 'scs', 'eu', 'bic', 'eice', 'cia', 'c', 's',
        'a', 'anonima', 'simplificada', 'liquidacion', 'reorganizacion', 'reestructuracion',
        'judicial', 'forzosa')
    then
        v_name := regexp_replace(v_name,
            '(?: (?:y cia|cia|sas|sa|ltda|limitada|esp|sca|scs|eu|bic|eice|s en c(?: s| a| por a)?'
            '|sociedad anonima|sociedad por acciones simplificada'
            '|en (?:liquidacion|reorganizacion|reestructuracion)(?: judicial| forzosa)?))+ $',
            ' ');
    end if;
    if strpos(v_name, ' promotora de salud ') > 0 then
        v_name := regexp_replace(v_name, ' (?:entidad|empresa) promotora de salud ', ' eps ', 'g');
    end if;
    if strpos(v_name, ' institucion prestadora de ') > 0 then
        v_name := regexp_replace(v_name,
            ' institucion prestadora de (?:servicios de )?salud ', ' ips ', 'g');
    end if;
    v_name := replace(v_name, ' empresa social del estado ', ' ese ');
    if strpos(v_name, ' eps s ') > 0 or strpos(v_name, ' eps c ') > 0 then
        v_name := regexp_replace(v_name, ' eps(?: [sc])+(?= )', ' eps', 'g');
    end if;
    v_name := sherlock._without_titles(btrim(v_name));

    if split_part(v_name, ' ', 1) in ('juez', 'jueza') then
        v_name := 'juzgado' || substr(v_name, length(split_part(v_name, ' ', 1)) + 1);
    end if;
    if string_to_array(v_name, ' ') && c_numbered then
        v_name := sherlock._numbers_to_digits(v_name);
    end if;
    return nullif(sherlock.party_alias(v_name), '');
end;
$$;

comment on function sherlock.normalise_name(text) is
'Comparable form of the name of a person or an institution: lower case without accents and dots '
'(E.P.S.: eps), without titles before it and legal forms behind it (S.A.S., Ltda., en liquidación), '
'numbers of courts and offices in digits (primero, 1º: 1), institutions in one form '
'(sherlock.party_alias). Null if nothing is left.';

create or replace function sherlock.name_key(p_normalised text)
returns text
language sql immutable strict parallel safe
return (
    select string_agg(w.word, ' ' order by w.word collate "C")
    from unnest(string_to_array(p_normalised, ' ')) as w (word)
    where w.word not in ('de', 'la', 'del', 'las', 'los', 'y')
);

comment on function sherlock.name_key(text) is
'The words of a normalised name in alphabetical order without de, la, del, las, los, y: equal for '
'"maria perez de gomez" and "gomez perez maria". Null if nothing is left.';

create or replace function sherlock.is_initials(p_normalised text)
returns boolean
language sql immutable parallel safe
-- Few names begin with a word that can be initials. Not strict, so that it is inlined.
return case
    when length(split_part(p_normalised, ' ', 1)) > 2
         and ltrim(split_part(p_normalised, ' ', 1), 'nx') <> ''
    then false
    else p_normalised ~ '^(?:[a-z]{1,2}|x+|nn+)(?: (?:[a-z]{1,2}|x+|nn+))*$'
end;

comment on function sherlock.is_initials(text) is
'Whether a normalised name is nothing but initials or a placeholder (m, a b, nn, xxx): it names '
'nobody, so two of them never agree.';
