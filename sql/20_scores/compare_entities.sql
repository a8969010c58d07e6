-- Level 3: what the entities of two documents say about each other.
do $$
begin
    if to_regtype('sherlock.entity_agreement') is null then
        create type sherlock.entity_agreement as (
            demandante_agrees boolean,
            demandado_agrees boolean,
            both_parties boolean,
            cedula_agrees boolean,
            correo_agrees boolean,
            radicado_agrees boolean,
            referencia_jaccard double precision,
            is_comparable boolean,
            has_conflict boolean,
            shared jsonb,
            differing jsonb
        );
    end if;
end;
$$;

comment on type sherlock.entity_agreement is
'How the entities of two documents agree, role by role; null where one of them lacks the role.';
comment on column sherlock.entity_agreement.demandante_agrees is 'A plaintiff is the same.';
comment on column sherlock.entity_agreement.demandado_agrees is 'A defendant is the same.';
comment on column sherlock.entity_agreement.both_parties is
'Both of these; or, if one of the documents lacks a party, a docket number is the same. Never null.';
comment on column sherlock.entity_agreement.cedula_agrees is 'An identity number is the same.';
comment on column sherlock.entity_agreement.correo_agrees is 'An address is the same.';
comment on column sherlock.entity_agreement.radicado_agrees is 'A docket number is the same.';
comment on column sherlock.entity_agreement.referencia_jaccard is
'Jaccard similarity of the sets of reference numbers.';
comment on column sherlock.entity_agreement.is_comparable is
'Both documents have both parties, or an identity number, or an address; or a docket number is the '
'same.';
comment on column sherlock.entity_agreement.has_conflict is
'The documents are about different people; see sherlock.compare_entities.';
comment on column sherlock.entity_agreement.shared is
'What agrees: array of {role, value}, with other where a name is written differently.';
comment on column sherlock.entity_agreement.differing is
'Roles where nothing agrees: array of {role, value, other}, of the left and the right document.';

create or replace function sherlock._entity_profile(p_entities sherlock.entities[])
returns jsonb
language plpgsql immutable parallel safe
as $$
-- What is compared: {role: [normalised, ...]}, names as [normalised, name_key]. Identity numbers of
-- others than the plaintiff count only where there are no other; others' addresses never do.
-- Bounded: the first 20 names and 100 values of each other role.
declare
    v_profile jsonb;
begin
    select coalesce(jsonb_object_agg(r.role, r.compared), '{}') into v_profile
    from (
        select g.role,
               coalesce(
                   jsonb_agg(g.compared) filter (where g.is_own),
                   case when g.role = 'cedula' then jsonb_agg(g.compared) end) as compared
        from (
            select e.role,
                   e.role not in ('cedula', 'correo')
                       or coalesce(e.owner_role, 'demandante') = 'demandante' as is_own,
                   case when e.role in ('demandante', 'demandado')
                        then jsonb_build_array(e.normalised, e.name_key)
                        else to_jsonb(e.normalised) end as compared
            from unnest(p_entities) as e
            where e.is_comparable
              and e.ordinal <= case when e.role in ('demandante', 'demandado') then 20 else 100 end
            order by e.ordinal
        ) as g
        group by g.role
    ) as r
    where r.compared is not null;
    return v_profile;
end;
$$;

create or replace function sherlock._entity_profile(p_document_id bigint)
returns jsonb
language sql stable parallel safe
return coalesce(
    (select p.profile from sherlock.entity_profiles as p where p.document_id = p_document_id), '{}'
);

create or replace function sherlock._agreeing_names(
    p_left jsonb,
    p_right jsonb,
    p_fuzzy_threshold double precision
)
returns text[]
language plpgsql immutable strict parallel safe
as $$
-- The first pair of names that agree: left, right, and exact or fuzzy. Equal names first. Trigrams
-- are asked before the ratio, which costs ten times as much: of names with a ratio of 0.85 or more
-- about one in a thousand falls below this similarity.
declare
    c_trigram_similarity constant real := 0.25;
    v_left_last constant integer := jsonb_array_length(p_left) - 1;
    v_right_last constant integer := jsonb_array_length(p_right) - 1;
    v_left text;
    v_left_key text;
    v_right text;
begin
    for v_i in 0 .. v_left_last loop
        v_left_key := p_left -> v_i ->> 1;
        for v_j in 0 .. v_right_last loop
            if v_left_key = p_right -> v_j ->> 1 then
                v_left := p_left -> v_i ->> 0;
                if not sherlock.is_initials(v_left) then
                    return array[v_left, p_right -> v_j ->> 0, 'exact'];
                end if;
            end if;
        end loop;
    end loop;
    for v_i in 0 .. v_left_last loop
        v_left := p_left -> v_i ->> 0;
        v_left_key := p_left -> v_i ->> 1;
        for v_j in 0 .. v_right_last loop
            continue when sherlock._trigram_similarity(v_left_key, p_right -> v_j ->> 1)
                < c_trigram_similarity;
            v_right := p_right -> v_j ->> 0;
            if sherlock.names_agree(
                v_left, v_left_key, v_right, p_right -> v_j ->> 1, p_fuzzy_threshold)
            then
                return array[v_left, v_right, 'fuzzy'];
            end if;
        end loop;
    end loop;
    return null;
end;
$$;

create or replace function sherlock._parties_agree(
    p_left jsonb,
    p_right jsonb,
    p_fuzzy_threshold double precision
)
returns boolean
language sql immutable strict parallel safe
-- both_parties of sherlock.compare_entities where both have both, for the many pairs that get no
-- further.
return sherlock._agreeing_names(
        p_left -> 'demandante', p_right -> 'demandante', p_fuzzy_threshold) is not null
    and sherlock._agreeing_names(
        p_left -> 'demandado', p_right -> 'demandado', p_fuzzy_threshold) is not null;

create or replace function sherlock._shared_values(p_left jsonb, p_right jsonb)
returns text[]
language plpgsql immutable strict parallel safe
as $$
declare
    v_value text;
    v_shared text[] := '{}';
begin
    for v_i in 0 .. jsonb_array_length(p_left) - 1 loop
        v_value := p_left ->> v_i;
        if p_right ? v_value then
            v_shared := v_shared || v_value;
        end if;
    end loop;
    return v_shared;
end;
$$;

create or replace function sherlock._listed(p_values jsonb)
returns text
language plpgsql immutable strict parallel safe
as $$
-- The first five values, or names, for the evidence.
declare
    v_values text[] := '{}';
begin
    for v_i in 0 .. least(jsonb_array_length(p_values), 5) - 1 loop
        v_values := v_values || coalesce(p_values -> v_i ->> 0, p_values ->> v_i);
    end loop;
    return array_to_string(v_values, '; ');
end;
$$;

create or replace function sherlock._one_edit_apart(p_left text, p_right text)
returns boolean
language plpgsql immutable strict parallel safe
as $$
-- One character replaced, missing or too many: what a slip of OCR or of the pen makes.
declare
    v_at integer := 1;
begin
    if abs(length(p_left) - length(p_right)) > 1 or p_left = p_right then
        return false;
    end if;
    while substr(p_left, v_at, 1) = substr(p_right, v_at, 1) loop
        v_at := v_at + 1;
    end loop;
    return substr(p_left, v_at + 1) = substr(p_right, v_at + 1)
        or substr(p_left, v_at + 1) = substr(p_right, v_at)
        or substr(p_left, v_at) = substr(p_right, v_at + 1);
end;
$$;

create or replace function sherlock._any_one_edit_apart(p_left jsonb, p_right jsonb)
returns boolean
language plpgsql immutable strict parallel safe
as $$
begin
    for v_i in 0 .. jsonb_array_length(p_left) - 1 loop
        for v_j in 0 .. jsonb_array_length(p_right) - 1 loop
            if sherlock._one_edit_apart(p_left ->> v_i, p_right ->> v_j) then
                return true;
            end if;
        end loop;
    end loop;
    return false;
end;
$$;

create or replace function sherlock.compare_entities(
    p_left jsonb,
    p_right jsonb,
    p_fuzzy_threshold double precision
)
returns sherlock.entity_agreement
language plpgsql immutable parallel safe
as $$
declare
    v_role text;
    v_left jsonb;
    v_right jsonb;
    v_names text[];
    v_values text[];
    v_agrees boolean;
    v_is_same_name boolean := false;
    v_has_parties boolean;
    v_result sherlock.entity_agreement;
begin
    v_result.shared := '[]';
    v_result.differing := '[]';
    foreach v_role in array
        array['demandante', 'demandado', 'cedula', 'correo', 'radicado', 'referencia']
    loop
        v_left := p_left -> v_role;
        v_right := p_right -> v_role;
        continue when v_left is null or v_right is null;

        if v_role in ('demandante', 'demandado') then
            v_names := sherlock._agreeing_names(v_left, v_right, p_fuzzy_threshold);
            v_agrees := v_names is not null;
            if v_agrees then
                v_result.shared := v_result.shared || jsonb_strip_nulls(jsonb_build_object(
                    'role', v_role, 'value', v_names[1],
                    'other', nullif(v_names[2], v_names[1])));
            end if;
        else
            v_values := sherlock._shared_values(v_left, v_right);
            v_agrees := cardinality(v_values) > 0;
            if v_agrees then
                v_result.shared := v_result.shared || jsonb_build_object(
                    'role', v_role, 'value', array_to_string(v_values[:5], '; '));
            end if;
        end if;
        if not v_agrees then
            v_result.differing := v_result.differing || jsonb_build_object(
                'role', v_role, 'value', sherlock._listed(v_left),
                'other', sherlock._listed(v_right));
        end if;

        case v_role
            when 'demandante' then
                v_result.demandante_agrees := v_agrees;
                v_is_same_name := coalesce(v_names[3] = 'exact', false);
            when 'demandado' then v_result.demandado_agrees := v_agrees;
            when 'cedula' then v_result.cedula_agrees := v_agrees;
            when 'correo' then v_result.correo_agrees := v_agrees;
            when 'radicado' then v_result.radicado_agrees := v_agrees;
            else
                v_result.referencia_jaccard := cardinality(v_values)::double precision
                    / (jsonb_array_length(v_left) + jsonb_array_length(v_right)
                       - cardinality(v_values));
        end case;
    end loop;

    -- A docket stands in for parties that one of the documents lacks.
    v_has_parties := v_result.demandante_agrees is not null and v_result.demandado_agrees is not null;
    v_result.both_parties := coalesce(
        case when v_has_parties then v_result.demandante_agrees and v_result.demandado_agrees
             else v_result.radicado_agrees end,
        false);
    v_result.is_comparable := v_has_parties
        or v_result.cedula_agrees is not null
        or v_result.correo_agrees is not null
        or v_result.both_parties;
    v_result.has_conflict := case
        when v_result.cedula_agrees is null then v_result.demandante_agrees is false
        else not v_result.cedula_agrees
             and not v_is_same_name
             and not sherlock._any_one_edit_apart(p_left -> 'cedula', p_right -> 'cedula')
    end;
    return v_result;
end;
$$;

comment on function sherlock.compare_entities(jsonb, jsonb, double precision) is
'How the entities of two documents agree; p_left and p_right as sherlock._entity_profile gives them. '
'A role agrees if any value of the left is the same as any of the right: names by '
'sherlock.names_agree with the threshold, all others if equal. has_conflict: (a) both have identity '
'numbers, none is equal or one edited digit away from another, and no plaintiff''s name is the same '
'(in any order of words; merely similar names, like Juan and Juana, don''t count), or (b) one has '
'no identity number, both have plaintiffs, and none agrees. A docket that is the same counts as both '
'parties where one document lacks a party. A differing docket is no conflict: the same case may be '
'filed again. It is listed in differing, with all that differs.';

create or replace function sherlock.entity_score(
    p_both_parties boolean,
    p_cedula_agrees boolean,
    p_correo_agrees boolean,
    p_both_parties_boost double precision,
    p_cedula_boost double precision,
    p_correo_boost double precision
)
returns double precision
language sql immutable parallel safe
return coalesce(
    (
        case when p_both_parties then p_both_parties_boost else 0 end
        + case when p_cedula_agrees then p_cedula_boost else 0 end
        + case when p_correo_agrees then p_correo_boost else 0 end
    ) / nullif(p_both_parties_boost + p_cedula_boost + p_correo_boost, 0),
    0
);

comment on function sherlock.entity_score(
    boolean, boolean, boolean, double precision, double precision, double precision) is
'Score of level 3, 0 to 1: the boosts of what agrees as a share of all boosts. What could not be '
'compared (null) counts as not agreeing.';
