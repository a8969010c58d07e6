-- The keys of names follow the names. They have no foreign key: a name says which are its own.
create or replace function sherlock.tg_party_names__keys()
returns trigger
language plpgsql
security definer
set search_path from current
as $$
declare
    v_name sherlock.party_names;
begin
    if tg_op in ('DELETE', 'UPDATE') then
        -- One by one: the planner would rather read all keys than look up some.
        for v_name in select * from old_names as o where o.role = 'demandante' loop
            delete from sherlock.name_keys as k
            where k.key = any(sherlock.name_keys(v_name.collection_id, v_name.normalised))
              and k.name_id = v_name.name_id;
        end loop;
    end if;
    if tg_op in ('INSERT', 'UPDATE') then
        -- A word that occurs twice in a name gives a key twice. In their order: each page of the index
        -- is then visited once.
        insert into sherlock.name_keys (key, name_id)
        select distinct g.key, n.name_id
        from new_names as n
        cross join lateral unnest(sherlock.name_keys(n.collection_id, n.normalised)) as g (key)
        where n.role = 'demandante'
        order by g.key, n.name_id;
    end if;
    return null;
end;
$$;

comment on function sherlock.tg_party_names__keys() is
'After a statement on party_names: the keys of the plaintiffs'' names follow.';

create or replace trigger _500_keys_insert
after insert on sherlock.party_names
referencing new table as new_names
for each statement execute function sherlock.tg_party_names__keys();

create or replace trigger _500_keys_update
after update on sherlock.party_names
referencing new table as new_names old table as old_names
for each statement execute function sherlock.tg_party_names__keys();

create or replace trigger _500_keys_delete
after delete on sherlock.party_names
referencing old table as old_names
for each statement execute function sherlock.tg_party_names__keys();

-- Names from before there were keys. A revision that changes the keys only empties the table.
insert into sherlock.name_keys (key, name_id)
select distinct g.key, n.name_id
from sherlock.party_names as n
cross join lateral unnest(sherlock.name_keys(n.collection_id, n.normalised)) as g (key)
where n.role = 'demandante'
  and not exists (select from sherlock.name_keys)
order by g.key, n.name_id;
