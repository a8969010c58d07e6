-- What in a filing's folded copy (see extract_entities.sql) is the name of a person or an
-- institution, and where one name ends and another begins.

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

create or replace function sherlock._has_small_word(p_name text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- Whether a word in small letters other than a particle of names, or at the end, is in a name.
declare
    v_words constant text[] := string_to_array(p_name, ' ');
    v_initial text;
begin
    for v_i in 1 .. cardinality(v_words) loop
        v_initial := left(v_words[v_i], 1);
        if v_initial <> '' and strpos('abcdefghijklmnopqrstuvwxyzáéíóúñü', v_initial) > 0
           and (v_i = cardinality(v_words)
                or v_words[v_i] not in ('de', 'del', 'la', 'las', 'los', 'y', 'e', 'da', 'dos',
                                        'van', 'von', 'san', 'vda'))
        then
            return true;
        end if;
    end loop;
    return false;
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
        '|\.\s+(?:EL|LA|LOS|LAS|SE|EN(?! +LIQUIDACION)|ES|LO|MI|CON|DICHA|ESTA|HECHOS|SENOR)\M';
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
           sherlock._has_small_word(v_original)
           or not sherlock._is_person(v_name)
               and (not p_is_labelled or length(v_name) < 4
                    or v_name like any (array['% DE', '% DEL', '% Y', '% LA'])))
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
    v_left text := p_left;
    v_words constant integer := cardinality(string_to_array(btrim(p_left), ' '));
    c_dependency constant text :=
        '^ *(?:SALA|SECCION|SUBSECCION|OFICINA|SUCURSAL|SECCIONAL|REGIONAL|TERRITORIAL'
        '|DIRECCION|SUBDIRECCION|COMANDO|GRUPO|AREA|ZONA|SEDE'
        '|DISTRITO (?:JUDICIAL|MILITAR)|DEPARTAMENTO DE POLICIA|DESPACHO|UNIDAD DE)\M';
begin
    if v_mark like ';%' then
        return true;
    end if;
    if v_mark in ('-', ',')
       and btrim(p_left) like any (array['NACION%', 'LA NACION%'])
       and btrim(p_left) collate "C" ~ '^(?:LA )?NACION\M'
    then
        return false;
    end if;
    if sherlock._begins_with_institution(p_right) then
        if v_mark = '-' then
            return (v_words < 4 or cardinality(string_to_array(btrim(p_right), ' ')) > 1)
                and p_right collate "C" !~ c_dependency;
        end if;
        return not (v_mark like ',%' and p_right collate "C" ~ c_dependency);
    end if;
    if p_left like any (array['%SENOR%', '%MENOR%']) then
        v_left := regexp_replace(p_left collate "C",
            '^ *(?:(?:EL|LA|LOS|LAS) +)?(?:SENOR(?:ES|AS|A)?|MENOR(?:ES)?) +', '');
    end if;
    return sherlock._is_person(btrim(v_left, ' .,"'))
       and sherlock._is_person(btrim(substring(p_right collate "C" from
               '^ *(?:(?:EL|LA|LOS|LAS) +)?(?:SENOR(?:ES|AS|A)? +)?'
               '([A-Z'' -]+?)(?: +(?:MAYOR|IDENTIFICAD|CON|C\.?C)[^\n]*)?$'), ' .,"'));
end;
$$;
