-- Entities come in as JSON, from a reader or from any client, and are stored comparable.

create or replace function sherlock.is_comparable_entity(
    p_role text,
    p_value text,
    p_normalised text
)
returns boolean
language sql immutable parallel safe
return case
    when p_role = 'correo' then not sherlock.is_institutional_email(p_normalised)
    when p_role in ('demandante', 'demandado') then not (
        sherlock.is_initials(p_normalised)
        -- A.B.C., also behind a title; and, of plaintiffs, ABCD.
        or length(p_normalised) between 3 and 6
            and ltrim(p_normalised, 'abcdefghijklmnopqrstuvwxyz') = ''
            and (p_value ~ '(?:[A-Za-z]\.){2}'
                 or p_role = 'demandante' and length(p_normalised) < 6
                     and translate(p_value, 'abcdefghijklmnopqrstuvwxyz', '') = p_value)
    )
    else true
end;

comment on function sherlock.is_comparable_entity(text, text, text) is
'Whether an entity tells documents apart: false for names that are initials or placeholders '
'(anonymised minors, N.N.) and for addresses of courts and institutions.';

create or replace function sherlock._read_entities(p_entities jsonb)
returns setof sherlock.entities
language plpgsql immutable parallel safe
as $$
-- Rows of sherlock.entities from their JSON form, document and collection still null.
declare
    v_problem text;
begin
    if p_entities is null or jsonb_typeof(p_entities) <> 'array' then
        v_problem := 'an array is needed, not ' || coalesce(jsonb_typeof(p_entities), 'null');
    else
        select format('element %s: %s', i.position, b.problem) into v_problem
        from jsonb_array_elements(p_entities) with ordinality as i (item, position)
        cross join lateral (
            select case
                when jsonb_typeof(i.item) <> 'object' then 'an object is needed'
                when jsonb_typeof(i.item -> 'role') is distinct from 'string'
                    then 'role is missing or not a string'
                when jsonb_typeof(i.item -> 'value') is distinct from 'string'
                    then 'value is missing or not a string'
                else (
                    select format('%s is not a %s', f.name, f.description)
                    from (values
                        ('id_type', 'string', 'string', null),
                        ('owner', 'string', 'string', null),
                        ('source', 'string', 'string', null),
                        ('score', 'number', 'number from 0 to 1', 1),
                        ('start', 'number', 'whole number', 999999999),
                        ('end', 'number', 'whole number', 999999999),
                        ('is_comparable', 'boolean', 'boolean', null)
                    ) as f (name, json_type, description, most)
                    where case jsonb_typeof(i.item -> f.name)
                        when 'null' then false
                        when 'number' then f.json_type <> 'number'
                            or (i.item -> f.name)::numeric not between 0 and f.most
                            or f.description = 'whole number'
                                and scale((i.item -> f.name)::numeric) > 0
                        else jsonb_typeof(i.item -> f.name) <> f.json_type
                    end
                    limit 1)
            end as problem
        ) as b
        where b.problem is not null
        order by i.position
        limit 1;
    end if;
    if v_problem is not null then
        raise exception using
            errcode = 'SH021',
            message = 'entities can''t be read: ' || v_problem,
            hint = 'an array of {"role": "demandante", "value": "..."}; optional: id_type, owner, '
                   'source, score, start, end, is_comparable';
    end if;

    return query
    with items as (
        select i.position, i.item ->> 'role' as role,
               btrim(i.item ->> 'value', E' \t\n\r') as value,
               upper(i.item ->> 'id_type') as id_type, i.item
        from jsonb_array_elements(p_entities) with ordinality as i (item, position)
    ),
    -- No name is longer; an index row can't be.
    normalised as materialized (
        select i.*,
               left(sherlock.normalise_entity(i.role, i.value, i.id_type), 200) as normalised
        from items as i
    ),
    distinct_items as (
        select distinct on (n.role, n.normalised) n.*
        from normalised as n
        where n.normalised is not null
        order by n.role, n.normalised, n.position
    )
    select null::bigint,
           d.role,
           row_number() over (partition by d.role order by d.position)::integer,
           null::integer,
           d.value,
           d.normalised,
           case when d.role in ('demandante', 'demandado')
                then sherlock.name_key(d.normalised) end,
           d.item ->> 'owner',
           d.id_type,
           coalesce((d.item ->> 'is_comparable')::boolean, true)
               and sherlock.is_comparable_entity(d.role, d.value, d.normalised),
           coalesce(d.item ->> 'source', 'supplied'),
           coalesce((d.item ->> 'score')::double precision, 1),
           (d.item ->> 'start')::integer,
           (d.item ->> 'end')::integer
    from distinct_items as d
    order by d.role, d.position;
end;
$$;

create or replace function sherlock._entity_profile(p_entities jsonb)
returns jsonb
language sql immutable parallel safe
return (
    select sherlock._entity_profile(array_agg(e))
    from sherlock._read_entities(p_entities) as e
);

create or replace function sherlock.store_entities(p_document_id bigint, p_entities jsonb)
returns integer
language plpgsql
as $$
declare
    v_collection_id integer;
    v_count integer;
begin
    select d.collection_id into v_collection_id
    from sherlock.documents as d
    where d.document_id = p_document_id
    for no key update;
    if not found then
        raise exception using
            errcode = 'SH001',
            message = format('there is no document %s', coalesce(p_document_id::text, 'null')),
            hint = 'documents are listed by: select document_id, name from sherlock.documents';
    end if;

    delete from sherlock.entities as e where e.document_id = p_document_id;
    insert into sherlock.entities (
        document_id, collection_id, role, ordinal, value, normalised, name_key, owner_role,
        id_type, is_comparable, source, score, start_offset, end_offset)
    select p_document_id, v_collection_id, r.role, r.ordinal, r.value, r.normalised, r.name_key,
           r.owner_role, r.id_type, r.is_comparable, r.source, r.score, r.start_offset,
           r.end_offset
    from sherlock._read_entities(p_entities) as r;
    get diagnostics v_count = row_count;

    -- In one order everywhere, so that two sessions can't wait for each other. Names that are there
    -- are left out first: a conflict would use up a name_id.
    insert into sherlock.party_names (collection_id, role, normalised)
    select v_collection_id, e.role, e.normalised
    from sherlock.entities as e
    where e.document_id = p_document_id
      and e.role in ('demandante', 'demandado')
      and e.is_comparable
      and not exists (
          select
          from sherlock.party_names as p
          where p.collection_id = v_collection_id
            and p.role = e.role
            and p.normalised = e.normalised)
    order by e.role collate "C", e.normalised collate "C"
    on conflict do nothing;
    return v_count;
end;
$$;

comment on function sherlock.store_entities(bigint, jsonb) is
'Replaces the entities of a document and returns how many are stored. p_entities: array of objects '
'with role and value, and optionally id_type (CC, NIT, ...), owner (role of the party whose id or '
'address it is), source, score (0 to 1), start, end (offsets in the content) and is_comparable. '
'Values without a comparable form are dropped, repeats of one within a role as well. Initials and '
'addresses of courts and institutions are stored as not comparable. Unknown document: SH001; '
'unknown role: SH020; other shape: SH021.';
