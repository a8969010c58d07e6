-- Which configuration applies: the collection's own before the general one, the document type's own
-- before `default`.
create or replace function sherlock.detection_config(p_collection_id integer, p_doc_type text)
returns sherlock.detection_configs
language sql stable parallel safe
begin atomic
    select c
    from sherlock.detection_configs as c
    where c.is_active
      and (c.collection_id = p_collection_id or c.collection_id is null)
      and c.doc_type in (p_doc_type, 'default')
    order by (c.doc_type = p_doc_type) desc, c.collection_id nulls last
    limit 1;
end;

comment on function sherlock.detection_config(integer, text) is
'The configuration in force for documents of a type in a collection. Order: collection and type, '
'type, collection and default, default.';

create or replace function sherlock._config_in_force(p_collection_id integer, p_doc_type text)
returns sherlock.detection_configs
language plpgsql stable
set search_path from current
as $$
declare
    v_config constant sherlock.detection_configs :=
        sherlock.detection_config(p_collection_id, p_doc_type);
begin
    if v_config.config_id is null then
        raise exception using
            errcode = 'SH024',
            message = format('no configuration is in force for documents of type %L', p_doc_type),
            hint = 'one row of sherlock.detection_configs with doc_type default, collection_id null '
                   'and is_active is needed: sherlock-pg config import, or insert it';
    end if;
    return v_config;
end;
$$;

create or replace function sherlock.classify(
    p_score double precision,
    p_high double precision,
    p_medium double precision,
    p_low double precision
)
returns text
language sql immutable parallel safe
return case
    when p_score >= p_high then 'HIGH'
    when p_score >= p_medium then 'MEDIUM'
    when p_score >= p_low then 'LOW'
end;

comment on function sherlock.classify(
    double precision, double precision, double precision, double precision
) is
'Class of an ensemble score: HIGH, MEDIUM, LOW, or null below p_low. EXACT is never given for a '
'score: it means equal bytes or equal canonical text.';

create or replace function sherlock.recommended_action(p_confidence text)
returns text
language sql immutable parallel safe
return case p_confidence
    when 'EXACT' then 'REJECT'
    when 'HIGH' then 'REVIEW'
    when 'MEDIUM' then 'REVIEW'
    when 'LOW' then 'ACCEPT'
    else case when p_confidence is null then 'ACCEPT' end
end;

comment on function sherlock.recommended_action(text) is
'What to do with a document whose best match has this class: EXACT REJECT, HIGH and MEDIUM REVIEW, '
'LOW or none (null) ACCEPT. Null if there is no such class.';

create or replace function sherlock._capped_class(p_confidence text, p_cap text)
returns text
language sql immutable parallel safe
return case
    when p_cap is null or p_confidence is null then p_confidence
    when p_cap = 'MEDIUM' and p_confidence = 'HIGH' then 'MEDIUM'
    when p_cap = 'LOW' and p_confidence in ('HIGH', 'MEDIUM') then 'LOW'
    else p_confidence
end;

create or replace function sherlock._class_rank(p_confidence text)
returns integer
language sql immutable parallel safe
return case p_confidence when 'EXACT' then 1 when 'HIGH' then 2 when 'MEDIUM' then 3 else 4 end;
