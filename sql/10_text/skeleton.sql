-- Characters that readers of images confuse, and what becomes of a text when they are one.
create or replace function sherlock.skeleton(p_canonical text)
returns text
language sql immutable strict parallel safe
-- One replace() for each character takes a quarter of the time of one translate() for all. None
-- becomes another that is replaced, so the order does not matter; that of the pairs does.
return replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(
        p_canonical collate "C",
        'e', 'c'), 'u', 'a'), '0', 'o'), 'f', 't'), '1', 'i'), 'l', 'i'), 'j', 'i'), 'b', 'h'),
        '8', 'h'), '5', 's'), '2', 'z'), '9', 'g'), 'q', 'g'),
    'ri', 'n'), 'rn', 'm'), 'ci', 'd');

comment on function sherlock.skeleton(text) is
'A canonical text (sherlock.canonical_text) in which characters that OCR confuses are one: c and e, '
'a and u, o and 0, t and f, i, j, l and 1, h, b and 8, s and 5, z and 2, g, q and 9; then n for ri, m '
'for rn and d for cl. Word by word: it has as many words as the text. The same applied twice is the '
'same. Two scans of one page differ less in it; other texts hardly come closer. Levels 1 (shingles of '
'kind skeleton) and 2 read it; exact copies, entities and what people see never do.';
