-- A document's entities, gathered in the row that the search reads.
create or replace function sherlock._refresh_entity_profiles(p_document_ids bigint[])
returns void
language sql volatile
begin atomic
    insert into sherlock.entity_profiles as p (document_id, profile, name_keys, name_letters)
    select d.document_id, e.profile, k.name_keys,
           array(
               select sherlock._name_letters(n.key)
               from unnest(k.name_keys) with ordinality as n (key, position)
               order by n.position)
    from sherlock.documents as d
    cross join lateral (
        select sherlock._entity_profile(array_agg(e)) as profile
        from sherlock.entities as e
        where e.document_id = d.document_id
    ) as e
    cross join lateral (
        select array(
            select n.value ->> 1
            from jsonb_array_elements(coalesce(e.profile -> 'demandante', '[]')) as n (value)
        ) as name_keys
        offset 0
    ) as k
    where d.document_id = any(p_document_ids)
    order by d.document_id
    on conflict (document_id) do update
        set profile = excluded.profile,
            name_keys = excluded.name_keys,
            name_letters = excluded.name_letters;
end;

create or replace function sherlock.tg_entities__profile()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_document_ids bigint[];
begin
    if tg_op in ('INSERT', 'UPDATE') then
        v_document_ids := array(select distinct n.document_id from new_entities as n);
        if v_document_ids <> '{}' then
            perform sherlock._refresh_entity_profiles(v_document_ids);
        end if;
    end if;
    if tg_op in ('DELETE', 'UPDATE') then
        v_document_ids := array(select distinct o.document_id from old_entities as o);
        -- A document that is new had none.
        if v_document_ids <> '{}' then
            perform sherlock._refresh_entity_profiles(v_document_ids);
        end if;
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_entities__profile() is
'After a statement on entities: the profiles of the documents that it touched follow.';

create or replace trigger _500_profile_insert
after insert on sherlock.entities
referencing new table as new_entities
for each statement execute function sherlock.tg_entities__profile();

create or replace trigger _500_profile_update
after update on sherlock.entities
referencing new table as new_entities old table as old_entities
for each statement execute function sherlock.tg_entities__profile();

create or replace trigger _500_profile_delete
after delete on sherlock.entities
referencing old table as old_entities
for each statement execute function sherlock.tg_entities__profile();
