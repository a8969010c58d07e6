-- The document type that a text announces: whichever of the two actions is named first.
create or replace function sherlock.guess_doc_type(p_text text)
returns text
language sql immutable parallel safe
begin atomic
    select case
        when g.habeas_corpus > 0
             and (g.tutela = 0 or g.habeas_corpus < g.tutela) then 'habeas_corpus'
        when g.tutela > 0 then 'tutela'
        else 'default'
    end
    from (
        select strpos(h.head, 'habeas corpus') as habeas_corpus,
               strpos(h.head, 'accion de tutela') as tutela
        from (select sherlock.canonical_text(left(p_text, 6000)) as head) as h
    ) as g;
end;

comment on function sherlock.guess_doc_type(text) is
'The type of a text, tutela, habeas_corpus or default: which action the first 6,000 '
'characters name first.';
