-- Identifiers in the form in which they are compared, and one function for every role.

create or replace function sherlock._digits_read(p_value text)
returns text
language sql immutable strict parallel safe
-- Letters that OCR reads for digits, where they stand between digits: 1O2O345678 -> 1020345678.
return case
    when translate(p_value, 'OoIl|', '') <> p_value and p_value ~ '[0-9][-.,]?[OoIl|]'
    then regexp_replace(
        regexp_replace(
            normalize(p_value, nfkc),
            '(?<=[0-9][-.,]?[OoIl|]*)[Oo](?=[OoIl|]*[-.,]?[0-9])', '0', 'g'),
        '(?<=[0-9][-.,]?[Il|]*)[Il|](?=[Il|]*[-.,]?[0-9])', '1', 'g')
    else normalize(p_value, nfkc)
end;

create or replace function sherlock._digits_of(p_value text)
returns text
language sql immutable strict parallel safe
return case
    when translate(p_value, '0123456789', '') = '' then p_value
    else regexp_replace(p_value, '[^0-9]+', '', 'g')
end;

create or replace function sherlock.normalise_identifier(
    p_value text,
    p_id_type text default null
)
returns text
language plpgsql immutable parallel safe
as $$
declare
    v_value text := sherlock._digits_read(p_value);
    v_digits text;
begin
    v_digits := sherlock._digits_of(v_value);
    if p_id_type = 'NIT' then
        if v_value <> v_digits
           and v_value ~ E'[0-9]{3} ?[-\u2010-\u2015\u2212] ?[0-9][^0-9]*$'
        then
            v_digits := left(v_digits, -1);
        elsif length(v_digits) = 10 and left(v_digits, 1) in ('8', '9')
              or length(v_digits) = 11 and left(v_digits, 1) = '1'
        then
            v_digits := left(v_digits, -1);
        end if;
    end if;
    v_digits := ltrim(v_digits, '0');
    if v_digits = repeat(left(v_digits, 1), length(v_digits)) then
        return null;
    end if;
    return v_digits;
end;
$$;

comment on function sherlock.normalise_identifier(text, text) is
'Digits of an identity or tax number without leading zeros. Of a NIT the check digit is dropped: '
'the one behind a dash, else the last of ten digits that begin with 8 or 9 (companies) or of eleven '
'that begin with 1 (people). Null if no digits are left or all are the same (a placeholder).';

create or replace function sherlock.normalise_email(p_value text)
returns text
language plpgsql immutable strict parallel safe
as $$
declare
    v_value text collate "C" := sherlock._without_accents(left(p_value, 400));
begin
    if strpos(v_value, ' ') > 0 then
        v_value := regexp_replace(v_value, ' *([@.]) *', '\1', 'g');
    end if;
    return substring(
        lower(v_value) from '[a-z0-9._%+-]*[a-z0-9_%+-]@(?:[a-z0-9-]+\.)+[a-z]+');
end;
$$;

comment on function sherlock.normalise_email(text) is
'The e-mail address in a value: lower case, without accents and spaces that OCR put in, without what '
'stands around it. Null if there is none.';

create or replace function sherlock.normalise_docket(p_value text)
returns text
language sql immutable strict parallel safe
return case
    when translate(p_value, '0123456789', '') = ''
    then case when length(p_value) between 21 and 23 then left(p_value, 21) end
    else left(
        sherlock._digits_of(substring(sherlock._digits_read(p_value) from
            E'(?<![0-9])[0-9](?:[ ./\u2010-\u2015\u2212-]{0,3}[0-9]){20,22}(?![0-9])')),
        21)
end;

comment on function sherlock.normalise_docket(text) is
'First 21 digits of a docket number (radicado): court, year and number of the case; the last two of '
'its 23 digits count appeals. Null unless the value holds 21 to 23 digits: shorter numbers are only '
'unique within a court.';

create or replace function sherlock.is_institutional_email(p_normalised text)
returns boolean
language sql immutable strict parallel safe
return p_normalised like any (array[
        'notific%', 'notif.%', 'notif\_%', 'notif-%', 'judicial%', 'cendoj%', 'contactenos%',
        'atencionalciudadano%', 'defensajudicial%', 'procesosjudiciales%',
        '%@gov.co', '%.gov.co', '%@%cendoj%', '%ramajudicial%'])
    or translate(p_normalised, '_@-', '...') like any (array[
        'tutela.%', 'tutelas.%', 'juridica.%', 'juridicas.%', 'juridico.%', 'juridicos.%']);

comment on function sherlock.is_institutional_email(text) is
'Whether a normalised address is that of a court or of an institution''s legal desk: thousands of '
'filings carry it, so it says nothing about who filed.';

create or replace function sherlock.normalise_entity(
    p_role text,
    p_value text,
    p_id_type text default null
)
returns text
language plpgsql immutable parallel safe
as $$
begin
    case p_role
        when 'demandante', 'demandado' then
            return sherlock.normalise_name(p_value);
        when 'cedula' then
            return sherlock.normalise_identifier(p_value, p_id_type);
        when 'correo' then
            return sherlock.normalise_email(p_value);
        when 'radicado' then
            return sherlock.normalise_docket(p_value);
        when 'referencia' then
            return nullif(replace(sherlock.canonical_text(p_value), ' ', ''), '');
        else
            raise exception using
                errcode = 'SH020',
                message = format('unknown role of an entity: %s', coalesce(p_role, 'null')),
                hint = 'roles are demandante, demandado, cedula, correo, radicado and referencia';
    end case;
end;
$$;

comment on function sherlock.normalise_entity(text, text, text) is
'Comparable form of an entity''s value by its role; null if nothing comparable is left. Unknown role: '
'SH020.';
