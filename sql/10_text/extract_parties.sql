-- Parties of a filing by patterns on its folded copy (see extract_entities.sql). A raw value, be it
-- beside a label or in a sentence, is parted into parties, and of each what is not its name is taken
-- off (see extract_party_names.sql).

create or replace function sherlock._parties_in(
    p_text text,
    p_folded text,
    p_offset integer,
    p_role text,
    p_is_labelled boolean
)
returns jsonb
language plpgsql immutable parallel safe
as $$
-- The parties in a raw value of one line that begins at an offset: array of role, start, end.
-- Behind what tells of a party's circumstances follow others than parties.
declare
    c_most constant integer := 12;
    v_found jsonb := '[]';
    v_pieces text[];
    v_separator text;
    v_piece text;
    v_value text := '';
    v_start integer := 0;
    v_position integer := 0;
    v_name record;
begin
    v_pieces := string_to_array(
        regexp_replace(p_folded collate "C",
            '( *[,;](?: *[YE](?= ))? *| +[YE] +| +-+ +| */ *)', E'\x01\\1\x02', 'g')
            || E'\x01;\x02',
        E'\x01');
    for v_i in 1 .. least(cardinality(v_pieces), 40) loop
        v_separator := case when v_i > 1 then split_part(v_pieces[v_i], E'\x02', 1) else '' end;
        v_piece := split_part(v_pieces[v_i], E'\x02', case when v_i > 1 then 2 else 1 end);
        if v_i > 1 and sherlock._parts_parties(v_value, v_separator, v_piece) then
            v_name := sherlock._party_name(
                substr(p_text, v_start + 1, length(v_value)), v_value, p_is_labelled);
            if v_name.o_start is not null then
                v_found := v_found || jsonb_build_object(
                    'role', p_role,
                    'start', p_offset + v_start + v_name.o_start,
                    'end', p_offset + v_start + v_name.o_end);
            end if;
            exit when jsonb_array_length(v_found) = c_most
                or v_name.o_is_cut and not (p_is_labelled and p_role = 'demandado')
                or v_name.o_start is null and not p_is_labelled;
            v_start := v_position + length(v_separator);
            v_value := v_piece;
        else
            v_value := v_value || v_separator || v_piece;
        end if;
        v_position := v_position + length(v_separator) + length(v_piece);
    end loop;
    return v_found;
end;
$$;

create or replace function sherlock._labelled_value(p_rest text, p_text text, p_is_plural boolean)
returns text
language plpgsql immutable strict parallel safe
as $$
-- The value behind a label, up to where it ends, with the breaks of its lines made spaces, or
-- semicolons where lines are a list; of the same length as what it is read from.
declare
    c_other_label constant text :=
        '^[ *>|-]*(?:\(?[0-9IVX]{1,4}[.)-]+ *)?(?:VINCULAD|REF(?:ERENCIA)?\M|RAD(?:ICA[A-Z]+)?\M'
        '|ASUNTO|PROCESO|PROVIDENCIA|DECISION|TEMAS?\M|DERECHOS?\M|MAGISTRAD|CONSEJER|EXPEDIENTE'
        '|SENTENCIA|FECHA|HECHOS|CLASE|ACCION\M|SENOR|CORREO|E-?MAIL|TEL\M|CEL\M|TELEFONO|CELULAR'
        '|DIRECCION|NOTIFICACIONES|TIPO|FALLO|OBJETO|MEDIO DE|NATURALEZA|CUANTIA|APODERAD|AGENTE'
        '|TERCER|INTERESAD|DELITO|PROCESAD|TRAMITE|CIUDAD|CEDULA|C\.? ?C|NIT|IDENTIFICA|NUMERO|JUEZ'
        '|AFECTAD|CAUSANTE|PRETENSIONES|REPRESENTANTE|DOMICILIO|PRUEBAS|MAYOR|YO\M|REPUBLICA'
        '|E\. ?S)';
    c_item constant text := '^ *(?:[*>-] *|\(?[0-9]{1,2}[.)-]+ *)';
    v_lines constant text[] := string_to_array(left(p_rest, 400), E'\n');
    v_value text collate "C" := v_lines[1];
    v_line text collate "C";
    v_last text collate "C" := v_lines[1];
    v_original text collate "C";
    v_is_shouted boolean;
    v_break text;
begin
    for v_i in 2 .. least(cardinality(v_lines), 12) loop
        v_line := v_lines[v_i];
        if btrim(v_value, ' ;') = '' then
            exit when v_i > 4 or v_line ~ c_other_label;
            v_value := v_value || ' ' || v_line;
            v_last := v_line;
            continue;
        end if;
        exit when btrim(v_line) = '';
        v_original := btrim(substr(p_text, length(v_value) + 2, length(v_line)));
        v_is_shouted :=
            left(p_text, length(v_value)) = upper(left(p_text, length(v_value)) collate "C");
        if p_is_plural and (v_line ~ c_item or rtrim(v_last) like '%;') then
            v_break := ';';
        elsif rtrim(v_last) like any (array['%,', '%-'])
              or split_part(rtrim(v_last), ' ', -1)
                  in ('Y', 'E', 'DE', 'DEL', 'LA', 'LOS', 'LAS', 'EL')
              or rtrim(v_last) not like '%.' and (
                  length(v_last) >= 45 and v_is_shouted
                      and v_original = upper(v_original collate "C")
                  or length(v_last) >= 30 and left(v_original, 1) between 'a' and 'z')
        then
            v_break := ' ';
        elsif p_is_plural and length(btrim(v_line)) between 4 and 90
              and sherlock._begins_with_institution(v_line)
        then
            v_break := ';';
        else
            exit;
        end if;
        exit when v_line ~ c_other_label;
        v_value := v_value || v_break || v_line;
        v_last := v_line;
    end loop;
    return v_value;
end;
$$;

create or replace function sherlock._labelled_parties(p_text text, p_folded text)
returns jsonb
language plpgsql immutable strict parallel safe
as $$
-- Parties beside or below a label: 'ACCIONANTE: ...'.
declare
    c_label constant text :=
        '((?:^|\n) *(?:[*>|-] *)?'
        '(?:\(?(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}|[IVX]{1,4}|[A-H])[.)-]{1,3} *)?'
        '(?:NOMBRES?(?: +Y +APELLIDOS)?(?: +COMPLETOS?)? +(?:DEL?|DE +LA|DE +LOS) +)?'
        '(?:EL +|LA +|LOS +|LAS +)?(?:(?:PARTE|ENTIDAD(?:ES)?|AUTORIDAD(?:ES)?) +)?|[|;.,] ?|  )'
        '((?:ACCIONANTE|DEMANDANTE|TUTELANTE|PETICIONARI[OA]|SOLICITANTE|EJECUTANTE|CONVOCANTE'
        '|QUERELLANTE|ACCIONAD[OA]|DEMANDAD[OA]|TUTELAD[OA]|EJECUTAD[OA]|CONVOCAD[OA]'
        '|QUERELLAD[OA])S?|ACTOR(?:AS|ES|A)?|DTE|DD[OA]|ACCTE|ACCD[OA])'
        '((?: ?\([A-Z]{1,2}\)| ?/ ?AS?\M)?(?: *[:|;.=-]+ *| *\n| +))';
    c_reach constant integer := 2500;
    v_pieces constant text[] := string_to_array(
        regexp_replace(p_folded collate "C", c_label, E'\x01\\1\x02\\2\x03\\3\x03', 'g'), E'\x01');
    v_found jsonb := '[]';
    v_position integer := length(v_pieces[1]);
    v_before text collate "C";
    v_label text collate "C";
    v_separator text collate "C";
    v_rest text collate "C";
    v_value text collate "C";
    v_start integer;
    v_is_stack boolean := false;
    v_is_alone boolean;
    v_is_at_start boolean;
    v_new jsonb;
    v_name text;
    v_known text;
    v_names text[] := '{}';
    v_line text;
    v_role text;
begin
    for v_i in 2 .. least(cardinality(v_pieces), 60) loop
        v_before := split_part(v_pieces[v_i], E'\x02', 1);
        v_label := split_part(v_pieces[v_i], E'\x02', 2);
        v_separator := split_part(v_label, E'\x03', 2);
        v_rest := split_part(v_label, E'\x03', 3);
        v_label := split_part(v_label, E'\x03', 1);
        v_start := v_position + length(v_before) + length(v_label) + length(v_separator);
        v_position := v_start + length(v_rest);
        if v_separator like E'%\n' then
            v_rest := E'\n' || v_rest;
            v_start := v_start - 1;
        end if;

        v_is_at_start := strpos(v_before, E'\n') > 0 or v_i = 2 and v_pieces[1] = '';

        -- Far below the heading a label stands before an address or an argument.
        exit when v_found <> '[]' and v_start - (v_found -> 0 -> 'end')::integer > c_reach;

        -- Of labels in a stack above their values, none tells which is whose.
        v_is_alone := btrim(v_rest, E' \n') = '';
        v_role := case when v_label like any (array['ACTOR%', 'PETICION%', '%TE', '%TES'])
                       then 'demandante' else 'demandado' end;
        v_line := substr(p_text, v_start - length(v_separator) - length(v_label) + 1,
            length(v_label) + length(v_separator) + length(split_part(v_rest, E'\n', 1)));
        if not v_is_alone and not v_is_stack
           and (v_separator like '%:%'
                or v_is_at_start and (
                    v_separator like E'%\n'
                    -- 'Accionante - María Pérez', 'Accionante. María Pérez'
                    or v_separator like any (array['% -_%', '%|%', '%. %'])
                       and left(v_line, 1) between 'A' and 'Z'
                       and substr(v_line, length(v_label || v_separator) + 1, 1)
                           between 'A' and 'Z'
                    -- 'ACCIONANTE MARIA PEREZ': no mark, but all in capitals.
                    or v_line = upper(v_line collate "C")))
        then
            v_value := sherlock._labelled_value(
                v_rest, substr(p_text, v_start + 1, 400),
                v_label like '%S' or v_separator like '%(%');
            v_new := sherlock._parties_in(
                substr(p_text, v_start + 1, length(v_value)), v_value, v_start, v_role, true);
            <<new_parties>>
            for v_j in 0 .. jsonb_array_length(v_new) - 1 loop
                v_name := v_role || ' ' || substr(p_folded, (v_new -> v_j -> 'start')::integer + 1,
                    (v_new -> v_j -> 'end')::integer - (v_new -> v_j -> 'start')::integer);
                foreach v_known in array v_names loop
                    continue new_parties when starts_with(v_known, v_name)
                        or starts_with(v_name, v_known);
                end loop;
                v_names := v_names || v_name;
                v_found := v_found || (v_new -> v_j);
            end loop;
        end if;
        v_is_stack := v_is_alone and v_rest not like E'%\n%\n%\n%';
    end loop;
    return v_found;
end;
$$;

create or replace function sherlock._narrated_parties(p_text text, p_folded text)
returns jsonb
language plpgsql immutable strict parallel safe
as $$
-- Parties in sentences: 'acción de tutela promovida por X contra Y'; 'interpongo acción de tutela
-- contra Y'; 'El señor X instauró acción de tutela en contra de Y'.
declare
    c_against constant text :=
        '(?:TUTELA|HABEAS +CORPUS|DEMANDA|EJECUTIV[OA]|CUMPLIMIENTO|POPULAR|DESACATO)\M'
        '[^.;]{0,200}?[ ,-]CONTRA(?= )';
    v_found jsonb;
    v_defendants jsonb;
    v_from integer := 1;
    v_start integer;
    v_end integer;
    v_between text collate "C";
    v_lead text collate "C";
    v_value text collate "C";
begin
    for v_i in 1 .. 5 loop
        v_start := regexp_instr(p_folded collate "C", c_against, v_from, 1, 0);
        exit when v_start = 0;
        v_end := regexp_instr(p_folded collate "C", c_against, v_from, 1, 1);
        v_from := v_end;
        if substr(p_folded, v_end, 4) = ' DE ' then
            v_end := v_end + 3;
        end if;
        -- A line that does not run on is a sentence's last.
        v_value := split_part(split_part(substr(p_folded, v_end, 260), ';', 1), E'\n', 1);
        v_defendants := sherlock._parties_in(
            substr(p_text, v_end, length(v_value)), v_value, v_end - 1, 'demandado', false);
        continue when v_defendants = '[]';
        v_found := coalesce(v_found, v_defendants);

        v_between := substr(p_folded, v_start, v_end - v_start);
        v_lead := substring(v_between from
            '^[A-Z ]+?(?: N[O.]* *[0-9-]{2,25})?'
            '(?: *-+ *| +(?:QUE +)?(?:[A-Z]{5,10}D[OA]S? +|INTERPUESTA +)?(?:POR|DE)[: ]+)');
        if v_lead is not null then
            v_value := rtrim(regexp_replace(
                substr(v_between, length(v_lead) + 1), '[ ,-]+(?:EN +)?-?CONTRA(?: +DE)?$', ''));
            v_start := v_start - 1 + length(v_lead);
        else
            v_lead := right(left(p_folded, v_start - 1), 260);
            v_value := substring(v_lead from
                '(?:EL|LA) +(?:SENORA?|CIUDADAN[OA]) +([A-Z][A-Z'' -]{4,80}?),?'
                '(?: +(?:IDENTIFICAD|ACTUANDO|EN +NOMBRE|MAYOR)[^.;]{0,150})?'
                ' +(?:INSTAUR|INTERPUS|INTERPON|PRESENT|PROMOV|PROMUEV|FORMUL|INCO)[A-Z]+'
                '[^.;]{0,40}$');
            continue when v_value is null;
            v_start := v_start - 1 - length(v_lead) + strpos(v_lead, v_value) - 1;
        end if;
        return v_found || sherlock._parties_in(
            substr(p_text, v_start + 1, length(v_value)), v_value, v_start, 'demandante', false);
    end loop;
    return coalesce(v_found, '[]');
end;
$$;

create or replace function sherlock._speaking_party(p_text text, p_folded text)
returns jsonb
language plpgsql immutable strict parallel safe
as $$
-- The plaintiff in the first person: 'Yo, X, mayor de edad, identificado con ..., interpongo ...',
-- and against which institution, if the same sentence tells: 'Yo, X, con C.C. 1, contra Y'.
-- Nobody where a lawyer or an officer speaks: whom they speak for is not told as plainly.
declare
    c_speaker constant text :=
        '(?:^|\n|[.:;] )[ "]*(?:YO *,? +|(?:EL|LA) +SUSCRIT[OA] *,? +)?'
        '([A-Z][A-Z''-]+(?: +[A-Z][A-Z''-]*\.?){1,7}) *,? +(?:MAYOR(?:ES)?\M|IDENTIFICAD[OA]\M'
        '|(?:CON|PORTADORA? +DE +LA) +(?:C\.? ?C\M|CEDULA|DOMICILIO)|CC\M|CEDULA +DE|VECIN[OA]\M|CIUDADAN[OA]\M'
        '|DOMICILIAD[OA]\M|(?:ACTUANDO +)?EN +(?:MI +)?(?:PROPIO +)?NOMBRE\M|C\. ?C\.'
        '|(?=(?:EN )?CONTRA ))()';
    v_start integer;
    v_length integer;
    v_from integer := 1;
    v_rest text collate "C";
    v_value text collate "C";
    v_offset integer;
    v_is_self_named boolean;
    v_defendants jsonb;
begin
    for v_i in 1 .. 5 loop
        v_start := regexp_instr(p_folded collate "C", c_speaker, v_from, 1, 0, '', 1);
        exit when v_start = 0;
        v_from := regexp_instr(p_folded collate "C", c_speaker, v_from, 1, 0, '', 2);
        v_length := regexp_instr(
            p_folded collate "C", c_speaker, greatest(v_start - 20, 1), 1, 1, '', 1) - v_start;
        continue when v_length <= 0;
        v_rest := substr(p_folded, v_from, 700);
        v_defendants := '[]';
        v_offset := strpos(
            ' ' || split_part(translate(left(v_rest, 260), E';\n', '..'), '.', 1), ' CONTRA ');
        if v_offset > 0
           and sherlock._begins_with_institution(substr(v_rest, v_offset + length('CONTRA ')))
        then
            v_offset := v_from - 1 + v_offset + length('CONTRA');
            v_value := split_part(split_part(
                substr(p_folded, v_offset, 260), ';', 1), E'\n', 1);
            v_defendants := sherlock._parties_in(
                substr(p_text, v_offset, length(v_value)), v_value, v_offset - 1,
                'demandado', false);
        end if;
        v_is_self_named := rtrim(right(left(p_folded, v_start - 1), 13), ' ,')
            like any (array['%YO', '%SUSCRITO', '%SUSCRITA']);
        continue when not (v_is_self_named and v_defendants <> '[]') and (
            v_rest like any (array['CONTRA %', 'EN CONTRA %']) or v_rest !~ (
                '\m(?:INTERPONGO|INSTAURO|PROMUEVO|FORMULO|PRESENTO|ACUDO|SOLICITO|INVOCO|MANIFIESTO'
                '|DEMANDO|COMPAREZCO|CONCURRO|INCOO|ELEVO|IMPUGNO|PIDO|IMPETRO|VENGO'
                '|ME +(?:PERMITO|DIRIJO))\M'));
        continue when v_rest ~ '\m(?:APODERAD|ABOGAD|DEFENSORA? |REPRESENTA|MANDATARI|T\. ?P\.)'
            and v_rest !~ '(?:NOMBRE +PROPIO|PROPIO +NOMBRE|CAUSA +PROPIA)';
        return sherlock._parties_in(
            substr(p_text, v_start, v_length), substr(p_folded, v_start, v_length), v_start - 1,
            'demandante', false) || v_defendants;
    end loop;
    return '[]';
end;
$$;

create or replace function sherlock._parties(p_text text, p_folded text)
returns jsonb
language plpgsql immutable strict parallel safe
as $$
-- Labels are trusted before sentences, those before the first person, for each role on its own.
declare
    v_found jsonb;
    v_more jsonb;
    v_flow text;
    v_is_named_claim boolean;
begin
    -- An invoice names people too, but no parties.
    v_is_named_claim := not (strpos(p_folded, 'TUTELA') = 0 and strpos(p_folded, 'DEMANDA') = 0
       and strpos(p_folded, 'ACCION') = 0 and strpos(p_folded, 'HABEAS') = 0
       and strpos(p_folded, 'EJECUTA') = 0 and strpos(p_folded, 'QUERELLA') = 0
       and strpos(p_folded, 'PETICION') = 0 and strpos(p_folded, 'CONVOCANTE') = 0
       and strpos(p_folded, 'DTE') = 0);
    if not v_is_named_claim and strpos(p_folded, 'CONTRA ') = 0 then
        return '[]';
    end if;
    v_found := case when v_is_named_claim then sherlock._labelled_parties(p_text, p_folded)
                    else '[]' end;
    if v_found @> '[{"role": "demandante"}, {"role": "demandado"}]' then
        return v_found;
    end if;
    -- Sentences run on from one long line to the next.
    v_flow := regexp_replace(p_folded collate "C",
        '([^\n]{45}[^\n.:])\n(?=[^\n])(?! *(?:SENOR|MAGISTRAD|SENTENCIA|ACCION|DEMAND|REF|RAD'
        '|YO\M|HECHOS|VINCULAD|TEMA|DERECHO|ASUNTO|PROCESO))', '\1 ', 'g');
    -- The dots of abbreviations and numbers end no sentence.
    v_flow := replace(replace(replace(replace(replace(v_flow,
        'C.C.', 'CC  '), 'C. C.', 'CC   '), ' NO. ', ' NO  '), 'T.P.', 'TP  '), ' DR. ', ' DR  ');
    v_flow := regexp_replace(v_flow collate "C", '([0-9])[.](?=[0-9])', '\1''', 'g');
    if not v_is_named_claim then
        v_more := sherlock._speaking_party(p_text, v_flow);
        return case when v_more @> '[{"role": "demandante"}, {"role": "demandado"}]'
                    then v_more else '[]' end;
    end if;
    v_more := sherlock._narrated_parties(p_text, v_flow);
    if not v_found @> '[{"role": "demandante"}]'
       and not v_more @> '[{"role": "demandante"}]'
    then
        v_more := v_more || coalesce((
            select jsonb_agg(s.party)
            from jsonb_array_elements(sherlock._speaking_party(p_text, v_flow)) as s (party)
            where not v_more @> jsonb_build_array(jsonb_build_object('role', s.party -> 'role'))
        ), '[]');
    end if;
    return v_found || coalesce((
        select jsonb_agg(m.party)
        from jsonb_array_elements(v_more) as m (party)
        where not v_found @> jsonb_build_array(jsonb_build_object('role', m.party -> 'role'))
    ), '[]');
end;
$$;
