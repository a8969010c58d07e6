-- Characters that readers of images confuse, and what becomes of a text when they are one.
create or replace function sherlock.skeleton(p_canonical text)
returns text
language sql immutable strict parallel safe
return replace(replace(replace(
    translate(p_canonical, 'eu0f1ljb8529q', 'caotiiihhszgg'),
    'ri', 'n'), 'rn', 'm'), 'ci', 'd');

comment on function sherlock.skeleton(text) is
'A canonical text (sherlock.canonical_text) in which characters that OCR confuses are one: c and e, '
'a and u, o and 0, t and f, i, j, l and 1, h, b and 8, s and 5, z and 2, g, q and 9; then n for ri, m '
'for rn and d for cl. Word by word: it has as many words as the text. The same applied twice is the '
'same. Two scans of one page differ less in it; other texts hardly come closer. Levels 1 (shingles of '
'kind skeleton) and 2 read it; exact copies, entities and what people see never do.';
