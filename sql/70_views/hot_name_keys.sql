-- Keys of names that so many names share that the search does not read all of them: two words that half
-- a country is called by.
create or replace view sherlock.hot_name_keys as
select k.key, k.name_count, k.name_count - 200 as unread_count, c.name as collection,
       f.normalised as first_name, l.normalised as last_name
from (
    select n.key, count(*) as name_count, min(n.name_id) as first_name_id,
           max(n.name_id) as last_name_id
    from sherlock.name_keys as n
    group by n.key
    having count(*) > 200
) as k
join sherlock.party_names as f on f.name_id = k.first_name_id
join sherlock.party_names as l on l.name_id = k.last_name_id
join sherlock.collections as c on c.collection_id = f.collection_id;

comment on view sherlock.hot_name_keys is
'Keys of names (sherlock.name_keys) that more than 200 names share: level 3 reads the first 200 of '
'them only, so a name that resembles another and shares nothing rarer with it may not be found. Reads '
'the whole index of name_keys (15 keys a name): several seconds for a million names.';
comment on column sherlock.hot_name_keys.key is 'The key, as in sherlock.name_keys.';
comment on column sherlock.hot_name_keys.name_count is 'Distinct names that have it.';
comment on column sherlock.hot_name_keys.unread_count is 'Those of them that no search reads.';
comment on column sherlock.hot_name_keys.collection is 'Collection of the names.';
comment on column sherlock.hot_name_keys.first_name is 'The first name that has it, as an example.';
comment on column sherlock.hot_name_keys.last_name is
'The last one: what it has in common with the first is what the key is made of.';
