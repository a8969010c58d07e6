-- The document type that a text announces: whichever of the two actions is named first.
create or replace function sherlock._announced_doc_type(p_canonical text)
returns text
language sql immutable parallel safe
return case
    when strpos(p_canonical, 'habeas corpus') > 0
         and (strpos(p_canonical, 'accion de tutela') = 0
              or strpos(p_canonical, 'habeas corpus') < strpos(p_canonical, 'accion de tutela'))
    then 'habeas_corpus'
    when strpos(p_canonical, 'accion de tutela') > 0 then 'tutela'
    else 'default'
end;

create or replace function sherlock.guess_doc_type(p_text text)
returns text
language sql immutable parallel safe
return sherlock._announced_doc_type(sherlock.canonical_text(left(p_text, 6000)));

-- The same where the canonical text of the whole is there already: what the whole does not name its
-- beginning, which becomes the beginning of the canonical text, doesn't either.
create or replace function sherlock._guess_doc_type(p_text text, p_canonical text)
returns text
language sql immutable parallel safe
return case
    when length(p_text) <= 6000 then sherlock._announced_doc_type(p_canonical)
    when sherlock._announced_doc_type(p_canonical) = 'default' then 'default'
    else sherlock.guess_doc_type(p_text)
end;

comment on function sherlock.guess_doc_type(text) is
'The type of a text, tutela, habeas_corpus or default: which action the first 6,000 '
'characters name first.';
