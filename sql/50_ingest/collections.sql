-- Collections.

-- Papers are scanned, rows of a table are not.
create or replace function sherlock._usual_scheme(p_profile text)
returns text
language sql immutable parallel safe
return case p_profile when 'legal' then 'skeleton-2' else 'word-2' end;

create or replace function sherlock.create_collection(
    p_name text,
    p_profile text default 'legal',
    p_scheme text default null
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection_id integer;
    v_scheme_id integer;
begin
    if coalesce(btrim(p_name), '') = '' then
        raise exception using
            errcode = 'SH006',
            message = 'a collection needs a name',
            hint = 'select sherlock.create_collection(''name'')';
    end if;
    if length(p_name) > 200 then
        raise exception using
            errcode = 'SH006',
            message = format('the name of the collection has %s characters', length(p_name)),
            hint = 'at most 200';
    end if;
    if p_profile is null or p_profile not in ('legal', 'text') then
        raise exception using
            errcode = 'SH006',
            message = format('unknown profile: %s', coalesce(p_profile, 'null')),
            hint = 'legal for texts with parties, text for any others';
    end if;
    select s.scheme_id into v_scheme_id
    from sherlock.shingle_schemes as s
    where s.name = coalesce(p_scheme, sherlock._usual_scheme(p_profile));
    if not found then
        raise exception using
            errcode = 'SH006',
            message = format('there is no scheme %s', quote_literal(p_scheme)),
            hint = 'schemes are listed by: select name from sherlock.shingle_schemes';
    end if;
    insert into sherlock.collections (name, profile, scheme_id)
    values (p_name, p_profile, v_scheme_id)
    on conflict (name) do nothing
    returning collection_id into v_collection_id;
    if v_collection_id is null then
        return sherlock.collection_id(p_name);
    end if;
    if p_profile = 'text' then
        insert into sherlock.detection_configs (
            collection_id, doc_type, minhash_weight, tfidf_weight, entity_weight)
        values (v_collection_id, 'default', 0.40, 0.60, 0);
    end if;
    return v_collection_id;
end;
$$;

comment on function sherlock.create_collection(text, text, text) is
'Makes a collection, or returns the id of the one with this name. Profile legal: parties count, '
'and what OCR confuses is the same (scheme skeleton-2 unless p_scheme says otherwise). Profile text: '
'no entities, the text levels weigh 0.40 and 0.60 (scheme word-2). Error: SH006 no name or a long one, no '
'such profile or no such scheme.';
