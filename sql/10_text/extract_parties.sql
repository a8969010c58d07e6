-- Parties of a filing by patterns on its folded copy (see extract_entities.sql). A raw value, be it
-- beside a label or in a sentence, is parted into parties, and of each what is not its name is taken
-- off.

create or replace function sherlock._is_institution(p_folded text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether a folded name has a word that names of institutions and companies have.
declare
    c_words constant text[] := array[
        'ADMINISTRADORA', 'ADRES', 'AFP', 'AGENCIA', 'AGUAS', 'ALCALDIA', 'ANI', 'ARL', 'ARMADA',
        'ASAMBLEA', 'ASEGURADORA', 'ASMET', 'ASOCIACION', 'BANCO', 'BANCOLOMBIA', 'BATALLON',
        'BRIGADA', 'CABILDO', 'CAJA', 'CAJACOPI', 'CARCEL', 'CENTRO', 'CLINICA', 'CLUB', 'CODENSA',
        'COLEGIO', 'COLFONDOS', 'COLPENSIONES', 'COLSUBSIDIO', 'COMANDO', 'COMFAMILIAR',
        'COMFENALCO', 'COMISARIA', 'COMISION', 'COMITE', 'COMPANIA', 'COMPENSAR', 'COMPLEJO',
        'CONCEJO', 'CONGRESO', 'CONJUNTO', 'CONSEJO', 'CONSORCIO', 'CONSTRUCTORA', 'CONSULADO',
        'CONTRALORIA', 'COOMEVA', 'COOPERATIVA', 'COOSALUD', 'CORPORACION', 'CORTE', 'CURADURIA',
        'DAVIVIENDA', 'DEFENSORIA', 'DEPARTAMENTO', 'DIAN', 'DIRECCION', 'DISTRITO', 'EDIFICIO',
        'EJERCITO', 'ELECTRIFICADORA', 'EMBAJADA', 'EMPRESA', 'EMPRESAS', 'EMSSANAR', 'ENEL', 'EPM',
        'EPS', 'EPS-S', 'ESE', 'ESP', 'ESCUELA', 'ESTABLECIMIENTO', 'ESTACION', 'FAMISANAR',
        'FEDERACION', 'FERRETERIA', 'FIDUCIARIA', 'FIDUPREVISORA', 'FINANCIERA', 'FISCALIA',
        'FOMAG', 'FONDO', 'FONVIVIENDA', 'FUERZA', 'FUERZAS', 'FUNDACION', 'GOBERNACION',
        'HOSPITAL', 'ICBF', 'ICETEX', 'IGAC', 'INMOBILIARIA', 'INPEC', 'INSPECCION', 'INSTITUCION',
        'INSTITUTO', 'INVERSIONES', 'INVIAS', 'IPS', 'JUNTA', 'JUZGADO', 'JUZGADOS', 'LABORATORIOS',
        'LICEO', 'LTDA', 'MEDIMAS', 'MINISTERIO', 'MOVISTAR', 'MUNICIPIO', 'MUTUAL', 'NACION',
        'NOTARIA', 'OFICINA', 'ORGANIZACION', 'PENITENCIARIA', 'PERSONERIA', 'POLICIA', 'PORVENIR',
        'POSITIVA', 'PRESIDENCIA', 'PROCURADURIA', 'REGISTRADURIA', 'RESGUARDO', 'SALUD', 'SANITAS',
        'SAS', 'SECCIONAL', 'SECRETARIA', 'SEGUROS', 'SENA', 'SINDICATO', 'SOCIEDAD', 'SUBRED',
        'SUPERINTENDENCIA', 'SURA', 'TRANSPORTES', 'TRIBUNAL', 'UARIV', 'UGPP', 'UNIDAD', 'UNION',
        'UNIVERSIDAD', 'USPEC', 'VEEDURIA'];
begin
    return string_to_array(translate(p_folded, ',;:"()/-.', '         '), ' ') && c_words
        or strpos(p_folded, '.') > 0 and p_folded collate "C" ~
            '\m(?:S\.? ?A|E\.? ?P\.? ?S|I\.? ?P\.? ?S|E\.? ?S\.? ?[EP])\M';
end;
$$;

create or replace function sherlock._is_person(p_folded text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether a folded name has the shape of a person's, of two words and more.
begin
    return length(p_folded) <= 70
        and p_folded collate "C" ~ ('^[A-Z][A-Z''-]+(?: +(?:(?:DE|DEL|LA|LAS|LOS|Y|VDA|SAN)\.? +)*'
                                    '[A-Z](?:\.|[A-Z''-]+))+$')
        and not sherlock._is_institution(p_folded);
end;
$$;

create or replace function sherlock._party_name(
    p_text text,
    p_folded text,
    p_is_labelled boolean,
    out o_start integer,
    out o_end integer,
    out o_is_cut boolean
)
language plpgsql immutable parallel safe
as $$
-- Where in a raw value the name is; null if it holds none. Cut is what circumstances followed on.
declare
    c_before constant text :=
        '^(?:[][ :;,.*|"''()=/>-]+|\(?[0-9]{1,2} ?[.)-]+ *'
        '|(?:NOMBRES?(?: +Y +APELLIDOS)?|RAZON +SOCIAL|ENTIDAD) *: *'
        '|(?:EL +|LA +|LOS +|LAS +|DEL +|AL +|DE +LA +)?(?:SENOR(?:ES|AS|A)?|SRA?S?|DON|DONA|DRA?'
        '|DOCTORA?|CIUDADAN[OA]S?|MENOR(?: +DE +EDAD)?|NIN[OA]|JOVEN)\.?:? +(?!DE |DEL )'
        '|(?:Y|E|YO|EL +SUSCRITO|LA +SUSCRITA)[ ,:]+|(?:EN +)?CONTRA(?: +DEL?)? +'
        '|(?:DE +LA|DE +LOS|A +LA|A +LOS|EL|LA|LOS|LAS|DEL|AL) +'
        '(?!NACION|PREVISORA|EQUIDAD|DORADA|GUAJIRA|CRUZ))+';
    c_circumstances constant text :=
        '\m(?:EN +(?:MI|SUS?|NUESTR[OA]|NOMBRE|REPRESENTACION|CALIDAD|CONDICION|CAUSA|EJERCICIO'
        '|CONTRA|FAVOR|CABEZA|VIRTUD|RAZON|DEFENSA|PROCURA|ATENCION)'
        '|CON +(?:C\.? ?[CE]|T\.? ?I|CEDULAS?|NIT|DOMICILIO|EL|DOCUMENTO|IDENTIFICACION|NUMEROS?'
        '|RADICADO|TARJETA|REGISTRO|SEDE|PASAPORTE|PPT|CORREO|FUNDAMENTO|BASE|OCASION)'
        '|A +(?:TRAVES|FAVOR|FIN|CUY[OA]|QUIEN|CARGO|CAUSA)|AL +(?:CONSIDERAR|NO|QUE|IGUAL|HABER)'
        '|PARA +(?:QUE|LA +PROTECCION|EL +AMPARO|SU|MI|OBTENER|LOGRAR|SOLICITAR|PROTEGER|RECLAMAR)'
        '|DE +(?:CONFORMIDAD|ACUERDO|EST[AE]|ES[AE]|LA +MISMA|NOTAS|CONDICIONES|SU|MI)'
        '|Y/O|Y +(?:OTR[OA]S?|DEMAS|COMO|SE|MI|SUS? +(?:HIJ|ESPOS|MENOR)[A-Z]*)|E +HIJ[OA]S'
        '|MAYOR(?:ES)? +(?:DE +EDAD|Y)|MENOR(?:ES)? +DE +EDAD|QUIEN(?:ES)?|QUE|CUY[OA]S?|DONDE'
        '|ACTUANDO|OBRANDO|TRAMITE|ANTE|MEDIANTE|PORQUE|POR|SEGUN|DEBIDO|DENTRO|DESDE|TODA +VEZ'
        '|COMO|RESPECTO|DURANTE|HASTA|CONTRA|VS|NIT|NUIP|PPT|PASAPORTE|CEDULAS?|CC|TEL(?:EFONO)?'
        '|CEL(?:ULAR)?|SE +(?:LE|HAN?)|(?:PRESENT|FORMUL|SOLICIT|INTERPON|PROMUEV|INSTAUR)[A-Z]*'
        '|(?:IDENTIFIC|CEDULAD|PORTADOR|REPRESENTAD|REPRESENTANT|DOMICILIAD|RESIDENCIAD|VINCULAD'
        '|NOTIFIC|RECLUID|DETENID|FALLECID|MANIFIEST|COMPARE[CZ]|EXPEDID|APODERAD|ABOGAD)[A-Z]*'
        '|RESIDENTES?|VECIN[OA]S?|PRIVAD[OA]S? +DE|CIUDADAN[OA]S?|PERSONAS? +(?:JUR|NAT)[A-Z]*'
        '|AGENTE +OFICIOS[OA]|DEFENSORA? +(?:DE|PUBLIC[OA])|CORREO|E-?MAIL|ACUD[EIO]'
        '|N\.I\.T|C\. ?C|T\. ?[IP]|D\. ?I|Q\. ?E\. ?P)\M'
        '| - *(?:SECCIONAL|REGIONAL|SUCURSAL|TERRITORIAL|SEDE|DIRECCION +(?:LOCAL|TERRITORIAL))\M'
        '|_{2,}|\.{3,}|[0-9][0-9.'' ]{5,30}[0-9]|\((?:REPARTO|MENOR|HIJ|MADRE|PADRE|Q)|@'
        '|, *(?:CALLE|CARRERA|CRA|CL|KR|AVENIDA|HOY|ANTES|HIJ[OA]|MADRE|PADRE|GERENTE|ALCALDE)\M'
        '|\. +(?:EL|LA|LOS|LAS|SE|EN|ES|LO|MI|CON|DICHA|ESTA|HECHOS|SENOR)\M';
    c_no_name constant text :=
        '^(?:(?:LA +|EL +)?(?:FALLO|SENTENCIA|PROVIDENCIA|DECISION|RESOLUCION|ACTOS?|OFICIO|AUTO)'
        '|DERECHOS?|VIOLACION|VULNERACION|EST[AE]|ES[AE]|DICH[OA]S?|MISM[OA]S?|MIS?|SUS?|ELL[OA]S?'
        '|TOD[OA]S?|PARTES?|PARTICULAR(?:ES)?|TUTELA|LEY|DECRETO|ACCION|ARTICULO|UNA?|CUALQUIER'
        '|DELITO|JUDICIAL|RECURSO|DEBERA|PODRA|NO|SI|SE|DE|EN|CON|O|Y|INFORMA|PROCESO|HA|FUE|ES|SON'
        '|OMISION|HECHOS?|PRUEBAS?|FIRMA|NOMBRES?|CALLE|CARRERA|BARRIO|VEREDA|HIJ[OA]S?|PADRES?'
        '|ORDEN|FECHA|TITULO|VALOR|HABEAS|NULIDAD|SOLICITUD|OTR[OA]S?|AMB[OA]S|DATOS|SENOR[A-Z]*'
        '|ACCIONA[A-Z]+|DEMANDA[A-Z]*|REF[A-Z]*|RADICA[A-Z]+|EXPEDIENTE|ASUNTO|RECIB[A-Z]+)\M'
        '|^(?:ENTIDAD(?:ES)?(?: +[A-Z]+)?|AUTORIDAD(?:ES)?(?: +[A-Z]+)?|VIDA|SALUD|JUEZ|JUZGADO'
        '|TRIBUNAL|SALA|DESPACHO|EPS|IPS|S\.?A\.?S?|SOCIEDAD|EMPRESA|BANCO|MUNICIPIO|ALCALDIA'
        '|POPULAR|PRINCIPAL|ADMINISTRACION|ACTIVA|PASIVA)$'
        '|^[^A-Z]*(?:[A-Z][^A-Z]+)*[A-Z]?$'
        '|_{2,}|X{3,}|[][<>{}#@]|\.{3,}|\mN\.?N\.?\M|NOMBRE +COMPLETO|FULANO|[0-9]{5}|:';
    v_cut integer;
    v_name text collate "C";
    v_original text collate "C";
    v_is_institution boolean;
begin
    o_start := coalesce(length(substring(p_folded collate "C" from c_before)), 0);
    v_name := substr(p_folded, o_start + 1);
    v_cut := regexp_instr(v_name, c_circumstances);
    o_is_cut := v_cut > 0;
    if o_is_cut then
        -- Behind what is left blank in a form there is no name. A dot may end an abbreviation.
        if substr(v_name, v_cut, 2) in ('__', '..') then
            o_start := null;
            return;
        end if;
        v_name := left(v_name, v_cut - case when substr(v_name, v_cut, 1) = '.' then 0 else 1 end);
    end if;
    if strpos(v_name, '(') > 0 and strpos(v_name, ')') = 0 then
        v_name := split_part(v_name, '(', 1);
    end if;
    v_name := rtrim(v_name, ' ,;:*|/"''(-');
    if v_name like '%.' and substr(v_name, length(v_name) - 2, 1) between 'A' and 'Z' then
        v_name := rtrim(v_name, '.');
    end if;
    o_end := o_start + length(v_name);

    v_is_institution := sherlock._is_institution(v_name);
    v_original := substr(p_text, o_start + 1, length(v_name));
    if length(v_name) not between 3 and 160 or v_name ~ c_no_name
       -- A word in small letters makes a sentence of it, not a name.
       or not v_is_institution and (
           v_original ~ '(?:^| )(?!(?:de|del|la|las|los|y|e|da|dos|van|von|san|vda) )[a-záéíóúñü]'
           or not sherlock._is_person(v_name)
               and (not p_is_labelled or length(v_name) < 4 or v_name ~ ' (?:DE|DEL|Y|LA)$'))
       or v_is_institution and left(v_original, 1) between 'a' and 'z' and not p_is_labelled
    then
        o_start := null;
        o_end := null;
    end if;
end;
$$;

create or replace function sherlock._begins_with_institution(p_folded text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
begin
    return coalesce(sherlock._is_institution(substring(p_folded collate "C" from
        '^ *(?:(?:EL|LA|LOS|LAS|A|AL|DEL|DE|EN|CONTRA|NUEVA|GRAN) +|")*([A-Z.]+(?:-S)?)')), false);
end;
$$;

create or replace function sherlock._parts_parties(
    p_left text,
    p_separator text,
    p_right text
)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether a comma, dash, slash, 'y' or semicolon stands between two parties, not within a name.
declare
    v_mark constant text := btrim(p_separator);
    v_words constant integer := cardinality(string_to_array(btrim(p_left), ' '));
    v_is_dependency constant boolean := p_right collate "C" ~ (
        '^ *(?:SALA|SECCION|SUBSECCION|OFICINA|SUCURSAL|SECCIONAL|REGIONAL|TERRITORIAL'
        '|DIRECCION|SUBDIRECCION|COMANDO|GRUPO|AREA|ZONA|SEDE'
        '|DISTRITO (?:JUDICIAL|MILITAR)|DEPARTAMENTO DE POLICIA|DESPACHO|UNIDAD DE)\M');
begin
    if v_mark like ';%' then
        return true;
    end if;
    if v_mark in ('-', ',') and btrim(p_left) collate "C" ~ '^(?:LA )?NACION\M' then
        return false;
    end if;
    if sherlock._begins_with_institution(p_right) then
        if v_mark = '-' then
            return not v_is_dependency
                and (v_words < 4 or cardinality(string_to_array(btrim(p_right), ' ')) > 1);
        end if;
        return not (v_mark like ',%' and v_is_dependency);
    end if;
    return sherlock._is_person(btrim(regexp_replace(p_left collate "C",
               '^ *(?:(?:EL|LA|LOS|LAS) +)?(?:SENOR(?:ES|AS|A)?|MENOR(?:ES)?) +', ''), ' .,"'))
       and sherlock._is_person(btrim(substring(p_right collate "C" from
               '^ *(?:(?:EL|LA|LOS|LAS) +)?(?:SENOR(?:ES|AS|A)? +)?'
               '([A-Z'' -]+?)(?: +(?:MAYOR|IDENTIFICAD|CON|C\.?C)[^\n]*)?$'), ' .,"'));
end;
$$;

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
begin
    for v_i in 2 .. least(cardinality(v_lines), 12) loop
        v_line := v_lines[v_i];
        if btrim(v_value, ' ;') = '' then
            exit when v_i > 4 or v_line ~ c_other_label;
            v_value := v_value || ' ' || v_line;
            v_last := v_line;
            continue;
        end if;
        exit when btrim(v_line) = '' or v_line ~ c_other_label;
        v_original := btrim(substr(p_text, length(v_value) + 2, length(v_line)));
        v_is_shouted :=
            left(p_text, length(v_value)) = upper(left(p_text, length(v_value)) collate "C");
        if p_is_plural and (v_line ~ c_item or rtrim(v_last) like '%;') then
            v_value := v_value || ';' || v_line;
        elsif rtrim(v_last) like any (array['%,', '%-'])
              or split_part(rtrim(v_last), ' ', -1)
                  in ('Y', 'E', 'DE', 'DEL', 'LA', 'LOS', 'LAS', 'EL')
              or rtrim(v_last) not like '%.' and (
                  length(v_last) >= 45 and v_is_shouted
                      and v_original = upper(v_original collate "C")
                  or length(v_last) >= 30 and left(v_original, 1) between 'a' and 'z')
        then
            v_value := v_value || ' ' || v_line;
        elsif p_is_plural and length(btrim(v_line)) between 4 and 90
              and sherlock._begins_with_institution(v_line)
        then
            v_value := v_value || ';' || v_line;
        else
            exit;
        end if;
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
        v_value := split_part(substr(p_folded, v_end, 260), ';', 1);
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
                substr(v_between, length(v_lead) + 1), '[ ,-]+(?:EN +)?-?CONTRA$', ''));
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
-- The plaintiff in the first person: 'Yo, X, mayor de edad, identificado con ..., interpongo ...'.
-- Nobody where a lawyer or an officer speaks: whom they speak for is not told as plainly.
declare
    c_speaker constant text :=
        '(?:^|\n|[.:;] )[ "]*(?:YO *,? +|(?:EL|LA) +SUSCRIT[OA] *,? +)?'
        '([A-Z][A-Z''-]+(?: +[A-Z][A-Z''-]*\.?){1,7}) *,? +(?:MAYOR +DE +EDAD|IDENTIFICAD[OA]\M'
        '|(?:CON|PORTADORA? +DE +LA) +(?:C\.? ?C\M|CEDULA|DOMICILIO)|VECIN[OA]\M|CIUDADAN[OA]\M'
        '|DOMICILIAD[OA]\M|(?:ACTUANDO +)?EN +(?:MI +)?(?:PROPIO +)?NOMBRE\M|C\. ?C\.)';
    v_start integer;
    v_length integer;
    v_from integer := 1;
    v_rest text collate "C";
begin
    for v_i in 1 .. 5 loop
        v_start := regexp_instr(p_folded collate "C", c_speaker, v_from, 1, 0, '', 1);
        exit when v_start = 0;
        v_from := regexp_instr(p_folded collate "C", c_speaker, v_from, 1, 1);
        v_length := regexp_instr(
            p_folded collate "C", c_speaker, greatest(v_start - 20, 1), 1, 1, '', 1) - v_start;
        continue when v_length <= 0;
        v_rest := substr(p_folded, v_from, 700);
        continue when v_rest !~ (
            '\m(?:INTERPONGO|INSTAURO|PROMUEVO|FORMULO|PRESENTO|ACUDO|SOLICITO|INVOCO|MANIFIESTO'
            '|DEMANDO|COMPAREZCO|VENGO|ME +(?:PERMITO|DIRIJO))\M');
        continue when v_rest ~ '\m(?:APODERAD|ABOGAD|DEFENSORA? |REPRESENTA|MANDATARI|T\. ?P\.)'
            and v_rest !~ '(?:NOMBRE +PROPIO|PROPIO +NOMBRE|CAUSA +PROPIA)';
        return sherlock._parties_in(
            substr(p_text, v_start, v_length), substr(p_folded, v_start, v_length), v_start - 1,
            'demandante', false);
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
begin
    -- An invoice names people too, but no parties.
    if strpos(p_folded, 'TUTELA') = 0 and strpos(p_folded, 'DEMANDA') = 0
       and strpos(p_folded, 'ACCION') = 0 and strpos(p_folded, 'HABEAS') = 0
       and strpos(p_folded, 'EJECUTA') = 0 and strpos(p_folded, 'QUERELLA') = 0
       and strpos(p_folded, 'PETICION') = 0 and strpos(p_folded, 'CONVOCANTE') = 0
       and strpos(p_folded, 'DTE') = 0
    then
        return '[]';
    end if;
    v_found := sherlock._labelled_parties(p_text, p_folded);
    if v_found @> '[{"role": "demandante"}, {"role": "demandado"}]' then
        return v_found;
    end if;
    -- Sentences run on from one long line to the next.
    v_flow := regexp_replace(p_folded collate "C", '([^\n]{45}[^\n.:])\n(?=[^\n])', '\1 ', 'g');
    v_more := sherlock._narrated_parties(p_text, v_flow);
    if not v_found @> '[{"role": "demandante"}]'
       and not v_more @> '[{"role": "demandante"}]'
    then
        v_more := v_more || sherlock._speaking_party(p_text, v_flow);
    end if;
    return v_found || coalesce((
        select jsonb_agg(m.party)
        from jsonb_array_elements(v_more) as m (party)
        where not v_found @> jsonb_build_array(jsonb_build_object('role', m.party -> 'role'))
    ), '[]');
end;
$$;
