-- Mails, dockets, ids and references of a filing by patterns on its folded copy (see
-- extract_entities.sql), and whose they are. Cheap patterns find candidates, costly ones are only
-- tried on the words before a candidate.

create or replace function sherlock._id_type(p_before text)
returns text
language plpgsql immutable strict parallel safe
as $$
-- The kind of id that folded words before a number announce; null if they announce none.
declare
    c_cue constant text :=
        '(?:^|[^A-Z0-9.])((?:N\.? ?I\.? ?T|N\.?U\.?I\.?P|R\.?C|C\.? ?[CE]|T\.? ?I|D\. ?I'
        '|P\.?(?:P\.?T|E\.?P)'
        '|C(?:EDU[LI1]A|ED\.?)S?(?:\s+DE\s+(?:C(?:IUDADANIA|IU|\.)|EXTRANJERIA))?'
        '|C\.? ?DE ?C|TARJETAS?\s+DE\s+IDENTIDAD|REGISTROS?\s+CIVIL(?:ES)?(?:\s+DE\s+NACIMIENTO)?'
        '|PASAPORTE|PERMISO\s+(?:POR|DE|ESPECIAL\s+DE)\s+(?:PROTECCION\s+TEMPORAL|PERMANENCIA)'
        '|DOCUMENTOS?\s+DE\s+IDENTI(?:DAD|FICACION)|IDENTIFICAD[OA]S?\s+CON(?:\s+EL)?'
        '|IDENTIFICACION|CEDULAD[OA])[.,]?(?:\s?\(?(?:C\.?C|P\.?P\.?T|P\.?E\.?P)\.?\)?)?'
        '(?:\s+DEL?\s+(?:LA\s+)?(?:ACCIONANTE|DEMANDANTE|ACTORA?|ACCIONAD[OA]|DEMANDAD[OA]))?)'
        '[\s:;.#(-]*(?:N(?:[O0]S?|ROS?|UM(?:ERO)?S?)?[\s.:#]+)*[A-Z]{0,2}$';
    v_cue text collate "C";
begin
    v_cue := substring(p_before collate "C" from c_cue);
    return case
        when v_cue like '%EXTRANJERIA%' then 'CE'
        when translate(v_cue, '. ', '') like 'CE%' and v_cue not like 'CED%' then 'CE'
        when translate(v_cue, '. ', '') like 'NIT%' then 'NIT'
        when v_cue like 'N%' or v_cue like 'R%' then 'RC'
        when v_cue like 'T%' then 'TI'
        when v_cue like 'PAS%' then 'PA'
        when v_cue like 'P%' then 'PPT'
        when v_cue is not null then 'CC'
    end;
end;
$$;

create or replace function sherlock._may_announce(p_before text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether the last word before a number, but for 'No.', is one that ids or references follow on.
declare
    v_words text := rtrim(translate(p_before, E'\n.:;,#()-', '         '));
    v_last text := split_part(v_words, ' ', -1);
begin
    if v_last in ('NO', 'N', 'NRO', 'NUM', 'NUMERO', 'NOS', 'NROS', 'NUMEROS') then
        v_words := rtrim(left(v_words, -length(v_last)));
        v_last := split_part(v_words, ' ', -1);
    end if;
    return v_last in (
        'C', 'CC', 'E', 'CE', 'I', 'TI', 'T', 'NIT', 'P', 'PPT', 'PEP', 'RC', 'NUIP', 'DI', 'CED',
        'CEDULA', 'CEDULAS', 'CEDU1A', 'CIUDADANIA', 'CIU', 'EXTRANJERIA', 'IDENTIDAD', 'PASAPORTE',
        'IDENTIFICACION', 'CON', 'EL', 'CIVIL', 'CIVILES', 'NACIMIENTO', 'TEMPORAL', 'PERMANENCIA',
        'CEDULADO', 'CEDULADA', 'ACCIONANTE', 'DEMANDANTE', 'ACTOR', 'ACTORA', 'ACCIONADO',
        'ACCIONADA', 'DEMANDADO', 'DEMANDADA', 'Y',
        'RESOLUCION', 'RESOLUCIONES', 'CONTRATO', 'CONVENIO', 'POLIZA', 'FACTURA', 'EXPEDIENTE',
        'OFICIO', 'ACTA', 'COMPARENDO', 'RADICADO', 'RADICACION', 'MATRICULA', 'INMOBILIARIA',
        'PAGARE', 'LETRA', 'ESCRITURA', 'PUBLICA', 'CREDITO', 'OBLIGACION', 'PETICION', 'PQR',
        'PQRS', 'PQRD', 'PQRSD', 'SINIESTRO', 'LICENCIA', 'ORDEN', 'AUTORIZACION', 'CASO', 'SPOA', 'CUENTA',
        'VENTA', 'ELECTRONICA');
end;
$$;

create or replace function sherlock._marked(p_text text, p_pattern text)
returns text[]
language plpgsql immutable strict parallel safe
as $$
-- What stands before the matches of a pattern of two groups, then for each match the first group,
-- the second and what follows, parted by E'\x02'.
begin
    return string_to_array(
        regexp_replace(p_text collate "C", p_pattern, E'\x01\\1\x02\\2\x02', 'g'), E'\x01');
end;
$$;

create or replace function sherlock._owner(
    p_before text,
    p_roles text[],
    p_names text[],
    p_reach integer
)
returns text
language plpgsql immutable strict parallel safe
as $$
-- The role of the party that is named nearest before an id or a mail, if nobody else comes between.
declare
    c_somebody_else constant text :=
        '\m(?:REPRESENTA[A-Z]*|MENOR(?!(?:ES)? +DE +EDAD)|MIS? +(?:HIJ|MADRE|PADRE|ESPOS|COMPAN'
        '|HERMAN|CONYUGE|ABUEL|SUEGR|NIET|TI[OA])|COMPANER[OA]|APODERAD[OA]|ABOGAD[OA]|AGENCIAD[OA]'
        '|FALLECID[OA]|CAUSANTE|OFICIOS[OA]|GERENTE|HIJ[OA]|VICTIMA|TESTIGO|DEFENSORA?|PACIENTE'
        '|BENEFICIARI[OA]|NOTARI[OA]|SENORA?|FAVOR)|Q\. ?E\. ?P|[0-9][0-9.'' ]{4,}[0-9]|\n *\n';
    v_reversed constant text := reverse(right(p_before, p_reach));
    v_distance integer;
    v_nearest integer := 0;
    v_owner text;
begin
    for v_i in 1 .. cardinality(p_names) loop
        v_distance := strpos(v_reversed, reverse(p_names[v_i]));
        if v_distance > 0 and (v_nearest = 0 or v_distance < v_nearest) then
            v_nearest := v_distance;
            v_owner := p_roles[v_i];
        end if;
    end loop;
    return case when v_owner is not null
                and right(p_before, v_nearest - 1) collate "C" !~ c_somebody_else then v_owner end;
end;
$$;

create or replace function sherlock._mail_owner(
    p_before text,
    p_address text,
    p_roles text[],
    p_names text[]
)
returns text
language plpgsql immutable strict parallel safe
as $$
-- By the last word for a party on its line, else by its own words, else by who is named before it.
declare
    c_cue constant text :=
        '^.*\m(?:(ACCIONANTE|DEMANDANTE|PETICIONARI|RECIB(?:O|IRE)|MIS? +CORREO)'
        '|(ACCIONAD|DEMANDAD|VINCULAD|ENTIDAD)|APODERAD|ABOGAD|DEFENSOR|JUZGADO|DESPACHO|TRIBUNAL)';
    v_cues text[];
    v_local text;
    v_site text;
    v_word text;
begin
    if p_address like any (array['%ramajudicial.%', '%cendoj.%', '%corteconstitucional.%',
                                 '%consejodeestado.%', '%cortesuprema.%'])
    then
        return null;
    end if;
    v_cues := regexp_match(split_part(p_before, E'\n', -1) collate "C", c_cue);
    if v_cues is not null then
        return case when v_cues[1] is not null then 'demandante'
                    when v_cues[2] is not null then 'demandado' end;
    end if;
    v_local := upper(split_part(p_address, '@', 1) collate "C");
    v_site := upper(split_part(split_part(p_address, '@', 2), '.', 1) collate "C");
    for v_i in 1 .. cardinality(p_names) loop
        foreach v_word in array string_to_array(p_names[v_i], ' ') loop
            if length(v_word) > 3
               and (strpos(v_local, v_word) > 0
                    or p_roles[v_i] = 'demandado' and strpos(v_site, v_word) > 0)
            then
                return p_roles[v_i];
            end if;
        end loop;
    end loop;
    return sherlock._owner(p_before, p_roles, p_names, 160);
end;
$$;

create or replace function sherlock._identifiers(p_folded text, p_parties jsonb)
returns jsonb
language plpgsql immutable strict parallel safe
as $$
-- Mails, dockets, ids and references in an object by what tells them apart; each value once, where
-- it is first found with an owner. A digit may be a letter that OCR reads for one.
declare
    c_most constant integer := 300;
    c_mail constant text :=
        '()([A-Z0-9][A-Z0-9._%+-]* ?@ ?[A-Z0-9-]*[A-Z0-9]'
        '(?:\.[A-Z0-9-]*[A-Z0-9]| ?\. ?(?:COM|CO|ORG|NET|EDU|GOV)\M)+)';
    c_docket constant text :=
        '((?:^|[^0-9]))([0-9OIL|]{5}[ .-]{0,3}[0-9OIL|]{2}[ .-]{0,3}[0-9OIL|]{2}[ .-]{0,3}'
        '[0-9OIL|]{3}[ .-]{0,3}[12][0-9OIL|]{3}[ .-]{0,3}[0-9OIL|]{5}'
        '(?:[ .-]{0,3}[0-9OIL|]{2})?)(?![0-9])';
    c_number constant text :=
        '([A-Z|]*-?)([0-9][A-Z0-9|.,''/_-]+[A-Z0-9|]'
        '|[0-9][0-9OIL|]{0,2}(?: ?[.''] ?| )[0-9OIL|]{3}(?:(?: ?[.''] ?| )[0-9OIL|]{3}){0,2})';
    c_id constant text :=
        '^(?:[0-9OIL|]{1,3}(?:(?: ?[.''] ?|,| )[0-9OIL|]{3}){1,3}|[0-9OIL|]{4,11})(?:-[0-9])?$';
    c_reference constant text :=
        '(?:^|[^A-Z])(?:RESOLUCION(?:ES)?|CONTRATO|CONVENIO|POLIZA|FACTURA|EXPEDIENTE|OFICIO|ACTA'
        '|COMPARENDO|RADICADO|RADICACION|MATRICULA(?:\s+INMOBILIARIA)?|PAGARE|LETRA|ESCRITURA'
        '|CREDITO|OBLIGACION|PETICION|PQRS?D?|SINIESTRO|LICENCIA|ORDEN|AUTORIZACION|CASO|SPOA'
        '|CUENTA)(?:\s+(?:PUBLICA|DE\s+VENTA|ELECTRONICA))?(?:\s+CON)?(?:\s+EL)?'
        '[\s:;.#(-]*(?:N(?:[O0]S?|ROS?|UM(?:ERO)?S?)?[\s.:#]+)*$';
    c_belonging constant text :=
        'DEL? +(?:LA +)?(?:ACCION|DEMAND|(?=ACTOR))(ANT|ACT|AD)[A-Z]*[^0-9]{0,14}$';
    v_roles text[] := '{}';
    v_names text[] := '{}';
    v_person_roles text[] := '{}';
    v_person_names text[] := '{}';
    -- By role, kind and value.
    v_found jsonb := '{}';
    v_key text;
    v_owner text;
    v_before text collate "C";
    v_prefix text;
    v_written text collate "C";
    v_value text collate "C";
    v_id_type text;
    v_last_id_type text;
    v_last_end integer := 0;
    v_end integer;
    v_start integer;
    v_next integer;
    v_pieces text[];
    v_rest text;
begin
    for v_i in 0 .. jsonb_array_length(p_parties) - 1 loop
        v_start := (p_parties -> v_i -> 'start')::integer;
        v_end := (p_parties -> v_i -> 'end')::integer;
        v_written := substr(p_folded, v_start + 1, v_end - v_start);
        v_roles := v_roles || (p_parties -> v_i ->> 'role');
        v_names := v_names || v_written::text;
        if not sherlock._is_institution(v_written) then
            v_person_roles := v_person_roles || (p_parties -> v_i ->> 'role');
            v_person_names := v_person_names || v_written::text;
        end if;
    end loop;

    if strpos(p_folded, '@') > 0 then
        v_pieces := sherlock._marked(p_folded, c_mail);
        v_next := length(v_pieces[1]);
        for v_i in 2 .. least(cardinality(v_pieces), c_most + 1) loop
            v_prefix := split_part(v_pieces[v_i], E'\x02', 1);
            v_written := split_part(v_pieces[v_i], E'\x02', 2);
            v_start := v_next + length(v_prefix);
            v_end := v_start + length(v_written);
            v_next := v_end + length(split_part(v_pieces[v_i], E'\x02', 3));
            v_value := lower(replace(v_written, ' ', '') collate "C");
            continue when length(v_value) > 200 or v_found -> v_value ? 'owner';
            v_owner := sherlock._mail_owner(
                substr(p_folded, greatest(v_start - 299, 1),
                       least(v_start, 300)),
                v_value, v_roles, v_names);
            continue when v_owner is null and v_found ? v_value;
            v_found := v_found || jsonb_build_object(v_value, jsonb_strip_nulls(jsonb_build_object(
                'role', 'correo', 'value', v_value, 'owner', v_owner,
                -- A desk that thousands write to says nothing about who filed.
                'is_comparable', case when v_value like any (array[
                    'notific%', 'tutela%', 'juridic%', 'atencion%', 'contacto%', 'servicio%',
                    'pqr%', 'buzon%', 'correspondencia%', 'secretaria%', 'info@%', 'gestion%',
                    'ventanilla%', 'despacho%', 'requerimientos%', '%.gov.co', '%ramajudicial.%'])
                    then false end,
                'start', v_start,
                'end', v_end)));
        end loop;
    end if;

    v_pieces := sherlock._marked(p_folded, c_docket);
    v_next := length(v_pieces[1]);
    for v_i in 2 .. least(cardinality(v_pieces), c_most + 1) loop
        v_prefix := split_part(v_pieces[v_i], E'\x02', 1);
        v_written := split_part(v_pieces[v_i], E'\x02', 2);
        v_start := v_next + length(v_prefix);
        v_end := v_start + length(v_written);
        v_next := v_end + length(split_part(v_pieces[v_i], E'\x02', 3));
        v_value := translate(v_written, 'OIL| .-', '0111');
        continue when length(v_value) not in (21, 23) or v_found ? v_value
            or substr(v_value, 13, 2) not in ('19', '20');
        v_found := v_found || jsonb_build_object(v_value, jsonb_build_object(
            'role', 'radicado', 'value', v_value,
            'start', v_start, 'end', v_end));
    end loop;

    v_pieces := sherlock._marked(p_folded, c_number);
    v_next := length(v_pieces[1]);
    v_rest := v_pieces[1];
    for v_i in 2 .. least(cardinality(v_pieces), c_most + 1) loop
        v_prefix := split_part(v_pieces[v_i], E'\x02', 1);
        v_written := split_part(v_pieces[v_i], E'\x02', 2);
        v_start := v_next + length(v_prefix);
        v_end := v_start + length(v_written);
        -- What stands between the number before and this one.
        v_before := right(v_rest, 70);
        v_rest := split_part(v_pieces[v_i], E'\x02', 3);
        v_next := v_end + length(v_rest);
        v_value := translate(v_written, translate(v_written, '0123456789', ''), '');
        continue when length(v_value) not between 3 and 20;
        -- CC1020345678 and NIT900123456 stand without a space.
        if rtrim(v_prefix, '-') in ('CC', 'CE', 'TI', 'NIT', 'PPT') then
            v_before := v_before || v_prefix;
        elsif rtrim(v_prefix, '-') in ('PQR', 'PQRS', 'PQRD', 'PQRSD') then
            -- PQR-73-0640270: a word, not a part of the number.
            v_before := v_before || v_prefix;
            v_prefix := '';
        end if;
        continue when not sherlock._may_announce(v_before);
        v_id_type := null;
        if length(v_value) >= 4 and v_written ~ c_id then
            v_id_type := sherlock._id_type(v_before);
            -- 'cédulas 1.020.345.678 y 52.345.678'
            if v_id_type is null and v_last_end > 0 and v_start - v_last_end < 9
               and substr(p_folded, v_last_end + 1, v_start - v_last_end) collate "C"
                   ~ '^ [YE] (?:N[A-Z.]* ?)?$'
            then
                v_id_type := v_last_id_type;
            end if;
        end if;
        if v_id_type is not null then
            if v_prefix in ('O', 'I', 'L', '|') then
                v_written := v_prefix || v_written;
            end if;
            if v_id_type = 'NIT' and v_written like '%-_' then
                v_written := left(v_written, -2);
                v_end := v_end - 2;
            end if;
            v_value := translate(v_written, 'OIL|.,'' -', '0111');
            continue when v_value = repeat(left(v_value, 1), length(v_value))
                or length(v_value) not between
                    case v_id_type when 'NIT' then 8 when 'TI' then 8 when 'RC' then 7 else 5 end
                    and case when v_id_type in ('CC', 'CE', 'PPT') then 10 else 11 end;
            v_last_end := v_end;
            v_last_id_type := v_id_type;
            v_key := v_id_type || v_value;
            continue when v_found -> v_key ? 'owner';
            v_owner := null;
            if v_before like any (array['%DE%ACCION%', '%DE%DEMAND%', '%DE%ACTOR%']) then
                v_owner := case substring(v_before from c_belonging)
                    when 'AD' then 'demandado' when 'ANT' then 'demandante'
                    when 'ACT' then 'demandante' end;
            end if;
            if v_owner is null then
                v_before := substr(p_folded, greatest(v_start - 419, 1),
                                   least(v_start, 420));
                v_owner := case when v_id_type = 'NIT'
                    then sherlock._owner(v_before, v_roles, v_names, 420)
                    else sherlock._owner(v_before, v_person_roles, v_person_names, 420) end;
            end if;
            continue when v_owner is null and v_found ? v_key;
            v_found := v_found || jsonb_build_object(v_key, jsonb_strip_nulls(jsonb_build_object(
                'role', 'cedula', 'value', v_value, 'id_type', v_id_type, 'owner', v_owner,
                'start', v_end - length(v_written), 'end', v_end)));
        elsif length(v_prefix) <= 6 and not (
            v_prefix = '' and length(v_value) = 4 and left(v_value, 2) in ('19', '20'))
        then
            v_value := v_prefix || v_written;
            continue when v_found ? v_value or v_before !~ c_reference;
            v_found := v_found || jsonb_build_object(v_value, jsonb_build_object(
                'role', 'referencia', 'value', v_value,
                'start', v_start - length(v_prefix), 'end', v_end));
        end if;
    end loop;
    return v_found;
end;
$$;
