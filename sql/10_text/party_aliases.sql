-- One form for the institutions that most filings are directed against. A name's ratio can't see
-- that "Colpensiones" and "Administradora Colombiana de Pensiones" are one party (0.38). The form
-- is the full name: short ones like adres or icbf are one letter away from other words.

create or replace function sherlock._institution(p_key text)
returns text
language sql immutable parallel safe
-- p_key: a normalised name without particles (de, la, y, ...), or an acronym. Not strict, so that
-- it is inlined: to be called costs it more than to run. Pass a variable, it is read many times.
return case
    when p_key in ('colpensiones', 'administradora colombiana pensiones')
        then 'administradora colombiana de pensiones'
    when p_key in ('icbf', 'bienestar familiar', 'instituto colombiano bienestar familiar')
        then 'instituto colombiano de bienestar familiar'
    when p_key in ('inpec', 'instituto nacional penitenciario carcelario')
        then 'instituto nacional penitenciario y carcelario'
    when p_key in ('uspec', 'unidad servicios penitenciarios carcelarios')
        then 'unidad de servicios penitenciarios y carcelarios'
    when p_key in ('ugpp', 'unidad gestion pensional parafiscales',
                   'unidad gestion pensional contribuciones parafiscales',
                   'unidad gestion pensional contribuciones parafiscales proteccion social',
                   'unidad administrativa especial gestion pensional contribuciones parafiscales',
                   'unidad administrativa especial gestion pensional contribuciones parafiscales '
                   'proteccion social')
        then 'unidad de gestion pensional y contribuciones parafiscales'
    when p_key in ('dian', 'direccion impuestos aduanas nacionales',
                   'unidad administrativa especial direccion impuestos aduanas nacionales')
        then 'direccion de impuestos y aduanas nacionales'
    when p_key in ('sena', 'servicio nacional aprendizaje')
        then 'servicio nacional de aprendizaje'
    when p_key in ('neps', 'nueva eps', 'nueva eps nueva eps', 'nueva eps neps', 'eps nueva')
        then 'nueva eps'
    when p_key in ('ponal', 'policia nacional', 'policia nacional colombia')
        then 'policia nacional'
    when p_key in ('ejercito', 'ejercito nacional', 'ejercito nacional colombia',
                   'ejercito colombia')
        then 'ejercito nacional'
    when p_key in ('armada', 'armada nacional', 'armada colombia', 'armada nacional colombia',
                   'armada republica colombia')
        then 'armada nacional'
    when p_key in ('fac', 'fuerza aerea', 'fuerza aerea colombiana',
                   'fuerza aeroespacial colombiana')
        then 'fuerza aerea colombiana'
    when p_key in ('registraduria', 'registraduria nacional', 'rnec',
                   'registraduria nacional estado civil')
        then 'registraduria nacional del estado civil'
    when p_key in ('fiscalia', 'fiscalia general', 'fgn', 'fiscalia general nacion')
        then 'fiscalia general de la nacion'
    when p_key in ('procuraduria', 'procuraduria general', 'pgn', 'procuraduria general nacion')
        then 'procuraduria general de la nacion'
    when p_key in ('contraloria', 'contraloria general', 'cgr', 'contraloria general republica')
        then 'contraloria general de la republica'
    when p_key in ('defensoria', 'defensoria pueblo')
        then 'defensoria del pueblo'
    when p_key in ('adres', 'administradora recursos sistema general seguridad social salud',
                   'administradora recursos sistema general seguridad social en salud')
        then 'administradora de los recursos del sistema general de seguridad social en salud'
    when p_key in ('fomag', 'fondo prestaciones sociales magisterio',
                   'fondo nacional prestaciones sociales magisterio', 'fiduprevisora',
                   'fiduciaria previsora', 'previsora fiduciaria',
                   'fiduciaria previsora fiduprevisora')
        then 'fondo nacional de prestaciones sociales del magisterio'
    when p_key in ('uariv', 'unidad victimas', 'unidad atencion reparacion victimas',
                   'unidad atencion reparacion integral victimas',
                   'unidad administrativa especial atencion reparacion integral victimas')
        then 'unidad para la atencion y reparacion integral a las victimas'
    when p_key in ('supersalud', 'superintendencia salud', 'superintendencia nacional salud')
        then 'superintendencia nacional de salud'
    when p_key in ('superservicios', 'sspd', 'superintendencia servicios publicos',
                   'superintendencia servicios publicos domiciliarios')
        then 'superintendencia de servicios publicos domiciliarios'
    when p_key in ('superfinanciera', 'superintendencia financiera',
                   'superintendencia financiera colombia')
        then 'superintendencia financiera de colombia'
    when p_key in ('sic', 'superindustria', 'superintendencia industria comercio')
        then 'superintendencia de industria y comercio'
    when p_key in ('supersociedades', 'superintendencia sociedades')
        then 'superintendencia de sociedades'
    when p_key in ('cnsc', 'comision nacional servicio civil')
        then 'comision nacional del servicio civil'
    when p_key in ('icetex', 'instituto colombiano credito educativo estudios tecnicos exterior')
        then 'instituto colombiano de credito educativo y estudios tecnicos en el exterior'
    when p_key in ('icfes', 'instituto colombiano evaluacion educacion')
        then 'instituto colombiano para la evaluacion de la educacion'
    when p_key in ('invima', 'instituto nacional vigilancia medicamentos alimentos')
        then 'instituto nacional de vigilancia de medicamentos y alimentos'
    when p_key in ('igac', 'instituto geografico agustin codazzi')
        then 'instituto geografico agustin codazzi'
    when p_key in ('iss', 'seguro social', 'seguros sociales', 'instituto seguros sociales')
        then 'instituto de seguros sociales'
    when p_key in ('fna', 'fondo nacional ahorro')
        then 'fondo nacional del ahorro'
    when p_key in ('dps', 'prosperidad social',
                   'departamento administrativo prosperidad social')
        then 'departamento administrativo para la prosperidad social'
    when p_key in ('dnp', 'departamento nacional planeacion')
        then 'departamento nacional de planeacion'
    when p_key in ('minsalud', 'ministerio salud', 'ministerio salud proteccion social')
        then 'ministerio de salud y proteccion social'
    when p_key in ('mineducacion', 'ministerio educacion', 'ministerio educacion nacional')
        then 'ministerio de educacion nacional'
    when p_key in ('mindefensa', 'ministerio defensa', 'ministerio defensa nacional')
        then 'ministerio de defensa nacional'
    when p_key in ('minhacienda', 'ministerio hacienda', 'ministerio hacienda credito publico')
        then 'ministerio de hacienda y credito publico'
    when p_key in ('mintrabajo', 'ministerio trabajo')
        then 'ministerio del trabajo'
    when p_key in ('minvivienda', 'ministerio vivienda', 'ministerio vivienda ciudad territorio')
        then 'ministerio de vivienda ciudad y territorio'
    when p_key in ('epm', 'empresas publicas medellin')
        then 'empresas publicas de medellin'
    when p_key in ('etb', 'empresa telecomunicaciones bogota')
        then 'empresa de telecomunicaciones de bogota'
    when p_key in ('eaab', 'acueducto bogota', 'empresa acueducto alcantarillado bogota')
        then 'empresa de acueducto y alcantarillado de bogota'
    when p_key in ('idu', 'instituto desarrollo urbano')
        then 'instituto de desarrollo urbano'
end;

create or replace function sherlock.party_alias(p_normalised text)
returns text
language plpgsql immutable strict parallel safe
as $$
declare
    -- Health insurers and pension funds go with and without what they are, before or after.
    c_insurers constant text[] := array[
        'aliansalud', 'asmet salud', 'cafesalud', 'cajacopi', 'capital salud', 'capresoca',
        'comfenalco valle', 'comparta', 'compensar', 'convida', 'coomeva', 'coosalud', 'ecoopsos',
        'emssanar', 'famisanar', 'medimas', 'mutual ser', 'salud total', 'saludcoop', 'sanitas',
        'savia salud', 'servicio occidental de salud', 'sura'
    ];
    c_particles constant text[] := array[
        'de', 'la', 'del', 'las', 'los', 'el', 'y', 'para', 'en', 'a'];
    c_pension_funds constant text[] := array['colfondos', 'porvenir', 'proteccion', 'skandia'];
    c_acronyms constant text[] := array[
        'adres', 'cnsc', 'colpensiones', 'dian', 'fomag', 'icbf', 'icetex', 'icfes', 'igac',
        'inpec', 'invima', 'sena', 'supersalud', 'superservicios', 'uariv', 'ugpp', 'uspec'];
    -- A full name with letters misread, the acronym beside it.
    c_misread_ratio constant double precision := 0.8;
    v_name text collate "C" := p_normalised;
    v_key text collate "C";
    v_word text;
    v_acronym text collate "C";
    v_rest text collate "C";
    v_institution text;
begin
    if starts_with(v_name, 'ministerio de defensa ') then
        v_name := regexp_replace(v_name,
            '^ministerio de defensa( nacional)? (?=(policia|ejercito|armada|fuerza) )', '');
    end if;

    -- Without particles but at the ends. Of doubled spaces each word has one on either side.
    v_key := replace(v_name, ' ', '  ');
    foreach v_word in array c_particles loop
        v_key := replace(v_key, ' ' || v_word || ' ', '');
    end loop;
    v_key := replace(v_key, '  ', ' ');
    v_institution := sherlock._institution(v_key);
    if v_institution is not null then
        return v_institution;
    end if;

    -- Full name and acronym together, also where OCR damaged the full name; or a branch's name
    -- behind the acronym.
    foreach v_word in array c_acronyms loop
        if strpos(v_name, v_word) > 0 then
            v_acronym := substring(v_name from
                '\m(?:' || array_to_string(c_acronyms, '|') || ')\M');
            exit;
        end if;
    end loop;
    if v_acronym is not null then
        v_institution := sherlock._institution(v_acronym);
        if split_part(v_name, ' ', 1) = split_part(v_institution, ' ', 1)
           or (starts_with(v_name, v_acronym || ' ') and v_acronym not in ('dian', 'sena'))
           or (v_acronym = 'fomag' and starts_with(v_name, 'fidu'))
           or sherlock._ratio_reaches(
                regexp_replace(v_name, format(' ?\m%s\M', v_acronym), '', 'g'),
                v_institution, c_misread_ratio)
        then
            return v_institution;
        end if;
    end if;

    if starts_with(v_name, 'nueva eps ') then
        return 'nueva eps';
    end if;
    v_rest := v_name;
    if v_rest like 'eps %' and substr(v_rest, 5, 1) between 'a' and 'z' then
        v_rest := substr(v_rest, 5);
    end if;
    if v_rest like '% eps' and substr(v_rest, length(v_rest) - 4, 1) between 'a' and 'z' then
        v_rest := left(v_rest, -4);
    end if;
    if v_rest = any(c_insurers) then
        return v_rest || ' eps';
    end if;
    if split_part(v_name, ' ', 1) in ('afp', 'fondo', 'sociedad', 'administradora')
       and split_part(v_name, ' ', -1) = any(c_pension_funds)
    then
        v_rest := regexp_replace(v_name,
            '^(?:afp|fondo de pensiones(?: y cesantias)?|(?:sociedad )?administradora de(?: los)?'
            ' fondos de pensiones(?: y(?: de)? cesantias?)?) ',
            '');
        if v_rest = any(c_pension_funds) then
            return v_rest;
        end if;
    end if;
    return v_name;
end;
$$;

comment on function sherlock.party_alias(text) is
'One form of an institution''s normalised name, whether it was written in full, as an acronym or as '
'both (Colpensiones, ICBF, INPEC, UGPP, DIAN, SENA, Nueva EPS, Policía Nacional, ...); any other '
'name as it is. Fiduprevisora by itself counts as the teachers'' fund that it speaks for.';
