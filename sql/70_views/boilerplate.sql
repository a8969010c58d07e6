-- The lists of boilerplate: what is proposed, what is in force where.
create or replace view sherlock.boilerplate_status as
select l.stop_list_id,
       case when c.collection_id is not null then 'in force'
            when s.scheme_id is not null then 'retired'
            else 'proposed'
       end as status,
       c.name as collection, s.name as scheme, l.shingle_kind, l.shingle_width, l.learnt_from,
       l.learnt_at, l.document_share, l.text_count, l.shingle_count, l.measured_count,
       l.mean_removed_share, l.too_few_count, l.candidates_with, l.candidates_without
from sherlock.stop_lists as l
left join sherlock.shingle_schemes as s on s.stop_list_id = l.stop_list_id
left join sherlock.collections as c on c.scheme_id = s.scheme_id;

comment on view sherlock.boilerplate_status is
'The lists of boilerplate that sherlock.learn_boilerplate has learnt, with the schemes that leave '
'them out and the collections that use those, one row each. How much of the documents is removed: '
'sherlock.extraction_status, and sherlock.document_signatures for each.';
comment on column sherlock.boilerplate_status.stop_list_id is
'The list, for: call sherlock.use_boilerplate(collection, stop_list_id).';
comment on column sherlock.boilerplate_status.status is
'proposed: no scheme has it; in force: the collection leaves it out; retired: no collection does any '
'more.';
comment on column sherlock.boilerplate_status.collection is
'The collection for which it is in force, from the moment that its move began; null: none.';
comment on column sherlock.boilerplate_status.scheme is
'The scheme that leaves it out; null: it was never put into force.';
comment on column sherlock.boilerplate_status.shingle_kind is 'word, skeleton or char.';
comment on column sherlock.boilerplate_status.shingle_width is 'Words or characters of a shingle.';
comment on column sherlock.boilerplate_status.learnt_from is
'Name of the collection whose texts it was learnt from.';
comment on column sherlock.boilerplate_status.learnt_at is 'When it was learnt.';
comment on column sherlock.boilerplate_status.document_share is
'More than this share of the texts has each of its shingles.';
comment on column sherlock.boilerplate_status.text_count is 'Texts that it was learnt from.';
comment on column sherlock.boilerplate_status.shingle_count is 'Shingles on the list.';
comment on column sherlock.boilerplate_status.measured_count is
'Texts on which its effect was measured when it was learnt.';
comment on column sherlock.boilerplate_status.mean_removed_share is
'Of these, the mean share of a text that it removes.';
comment on column sherlock.boilerplate_status.too_few_count is
'Of these, texts with too little left to be signed: level 1 does not compare them.';
comment on column sherlock.boilerplate_status.candidates_with is
'Candidates that level 1 would bring for a text, mean, with its boilerplate: estimated from these for '
'the collection as it was, before the limits of keys and candidates.';
comment on column sherlock.boilerplate_status.candidates_without is
'The same were the list left out.';
