-- Jaccard similarity, exact and estimated: |A ∩ B| / |A ∪ B| of two sets of shingles, 0..1.

create or replace function sherlock.jaccard_estimate(p_left integer[], p_right integer[])
returns double precision
language plpgsql immutable strict parallel safe
as $$
-- Written out: a loop takes twice as long, a query over unnest() four times.
-- In PL/pgSQL, because an inlined expression would decompress a toasted array for each slot.
begin
    if cardinality(p_left) <> 128 or cardinality(p_right) <> 128
       or num_nulls(variadic p_left) + num_nulls(variadic p_right) > 0
    then
        perform sherlock._check_signature(p_left);
        perform sherlock._check_signature(p_right);
    end if;
    return (num_nulls(
        nullif(p_left[1], p_right[1]), nullif(p_left[2], p_right[2]),
        nullif(p_left[3], p_right[3]), nullif(p_left[4], p_right[4]),
        nullif(p_left[5], p_right[5]), nullif(p_left[6], p_right[6]),
        nullif(p_left[7], p_right[7]), nullif(p_left[8], p_right[8]),
        nullif(p_left[9], p_right[9]), nullif(p_left[10], p_right[10]),
        nullif(p_left[11], p_right[11]), nullif(p_left[12], p_right[12]),
        nullif(p_left[13], p_right[13]), nullif(p_left[14], p_right[14]),
        nullif(p_left[15], p_right[15]), nullif(p_left[16], p_right[16]),
        nullif(p_left[17], p_right[17]), nullif(p_left[18], p_right[18]),
        nullif(p_left[19], p_right[19]), nullif(p_left[20], p_right[20]),
        nullif(p_left[21], p_right[21]), nullif(p_left[22], p_right[22]),
        nullif(p_left[23], p_right[23]), nullif(p_left[24], p_right[24]),
        nullif(p_left[25], p_right[25]), nullif(p_left[26], p_right[26]),
        nullif(p_left[27], p_right[27]), nullif(p_left[28], p_right[28]),
        nullif(p_left[29], p_right[29]), nullif(p_left[30], p_right[30]),
        nullif(p_left[31], p_right[31]), nullif(p_left[32], p_right[32]),
        nullif(p_left[33], p_right[33]), nullif(p_left[34], p_right[34]),
        nullif(p_left[35], p_right[35]), nullif(p_left[36], p_right[36]),
        nullif(p_left[37], p_right[37]), nullif(p_left[38], p_right[38]),
        nullif(p_left[39], p_right[39]), nullif(p_left[40], p_right[40]),
        nullif(p_left[41], p_right[41]), nullif(p_left[42], p_right[42]),
        nullif(p_left[43], p_right[43]), nullif(p_left[44], p_right[44]),
        nullif(p_left[45], p_right[45]), nullif(p_left[46], p_right[46]),
        nullif(p_left[47], p_right[47]), nullif(p_left[48], p_right[48]),
        nullif(p_left[49], p_right[49]), nullif(p_left[50], p_right[50]),
        nullif(p_left[51], p_right[51]), nullif(p_left[52], p_right[52]),
        nullif(p_left[53], p_right[53]), nullif(p_left[54], p_right[54]),
        nullif(p_left[55], p_right[55]), nullif(p_left[56], p_right[56]),
        nullif(p_left[57], p_right[57]), nullif(p_left[58], p_right[58]),
        nullif(p_left[59], p_right[59]), nullif(p_left[60], p_right[60]),
        nullif(p_left[61], p_right[61]), nullif(p_left[62], p_right[62]),
        nullif(p_left[63], p_right[63]), nullif(p_left[64], p_right[64])
    ) + num_nulls(
        nullif(p_left[65], p_right[65]), nullif(p_left[66], p_right[66]),
        nullif(p_left[67], p_right[67]), nullif(p_left[68], p_right[68]),
        nullif(p_left[69], p_right[69]), nullif(p_left[70], p_right[70]),
        nullif(p_left[71], p_right[71]), nullif(p_left[72], p_right[72]),
        nullif(p_left[73], p_right[73]), nullif(p_left[74], p_right[74]),
        nullif(p_left[75], p_right[75]), nullif(p_left[76], p_right[76]),
        nullif(p_left[77], p_right[77]), nullif(p_left[78], p_right[78]),
        nullif(p_left[79], p_right[79]), nullif(p_left[80], p_right[80]),
        nullif(p_left[81], p_right[81]), nullif(p_left[82], p_right[82]),
        nullif(p_left[83], p_right[83]), nullif(p_left[84], p_right[84]),
        nullif(p_left[85], p_right[85]), nullif(p_left[86], p_right[86]),
        nullif(p_left[87], p_right[87]), nullif(p_left[88], p_right[88]),
        nullif(p_left[89], p_right[89]), nullif(p_left[90], p_right[90]),
        nullif(p_left[91], p_right[91]), nullif(p_left[92], p_right[92]),
        nullif(p_left[93], p_right[93]), nullif(p_left[94], p_right[94]),
        nullif(p_left[95], p_right[95]), nullif(p_left[96], p_right[96]),
        nullif(p_left[97], p_right[97]), nullif(p_left[98], p_right[98]),
        nullif(p_left[99], p_right[99]), nullif(p_left[100], p_right[100]),
        nullif(p_left[101], p_right[101]), nullif(p_left[102], p_right[102]),
        nullif(p_left[103], p_right[103]), nullif(p_left[104], p_right[104]),
        nullif(p_left[105], p_right[105]), nullif(p_left[106], p_right[106]),
        nullif(p_left[107], p_right[107]), nullif(p_left[108], p_right[108]),
        nullif(p_left[109], p_right[109]), nullif(p_left[110], p_right[110]),
        nullif(p_left[111], p_right[111]), nullif(p_left[112], p_right[112]),
        nullif(p_left[113], p_right[113]), nullif(p_left[114], p_right[114]),
        nullif(p_left[115], p_right[115]), nullif(p_left[116], p_right[116]),
        nullif(p_left[117], p_right[117]), nullif(p_left[118], p_right[118]),
        nullif(p_left[119], p_right[119]), nullif(p_left[120], p_right[120]),
        nullif(p_left[121], p_right[121]), nullif(p_left[122], p_right[122]),
        nullif(p_left[123], p_right[123]), nullif(p_left[124], p_right[124]),
        nullif(p_left[125], p_right[125]), nullif(p_left[126], p_right[126]),
        nullif(p_left[127], p_right[127]), nullif(p_left[128], p_right[128])
    )) / 128.0::double precision;
end
$$;

comment on function sherlock.jaccard_estimate(integer[], integer[]) is
'Estimate of the Jaccard similarity of two texts from their signatures: the share of equal slots. '
'Both must be of one scheme, which they don''t tell: see sherlock.jaccard_of_documents. Null if one '
'of them has no signature. Error: SH012 not a signature.';

create or replace function sherlock.jaccard_estimate(p_left bit, p_right bit)
returns double precision
language sql immutable strict parallel safe
-- Unequal slots differ in half of their 16 bits: 1 - (bits that differ) / 1024, but never below 0.
-- Not greatest(), which is not strict and so would keep the function from being inlined:
-- width_bucket() gives n + 1 for n below 1024 and 1025 for all others.
return (1025 - width_bucket(bit_count(p_left # p_right)::double precision, 0, 1024, 1024))
    / 1024.0::double precision;

comment on function sherlock.jaccard_estimate(bit, bit) is
'Estimate of the Jaccard similarity of two texts from their sketches (sherlock.signature_sketch): '
'about a microsecond a pair. Null if one of them has no sketch.';

create or replace function sherlock._most_jaccard(p_left bit, p_right bit)
returns double precision
language plpgsql immutable strict parallel safe
as $$
-- What sherlock.jaccard_estimate() of the signatures can be at most, from their sketches: slots whose
-- 16 bits differ are different, and the others are equal but for one in 65,536. Each shift gathers
-- in the first bit of a slot whether any of twice as many bits differs.
declare
    c_first_bits constant bit(2048) := repeat('1000000000000000', 128)::bit(2048);
    v_differing bit(2048) := p_left # p_right;
begin
    v_differing := v_differing | (v_differing << 8);
    v_differing := v_differing | (v_differing << 4);
    v_differing := v_differing | (v_differing << 2);
    v_differing := v_differing | (v_differing << 1);
    return (128 - bit_count(v_differing & c_first_bits)) / 128.0::double precision;
end
$$;

create or replace function sherlock.jaccard(p_left bigint[], p_right bigint[])
returns double precision
language sql immutable strict parallel safe
return (
    select count(*) filter (where shingles.sides = 3)::double precision / nullif(count(*), 0)
    from (
        select members.shingle, bit_or(members.side) as sides
        from (
            select unnest(p_left) as shingle, 1 as side
            union all
            select unnest(p_right), 2
        ) as members
        group by members.shingle
    ) as shingles
);

comment on function sherlock.jaccard(bigint[], bigint[]) is
'Exact Jaccard similarity of two sets of shingles; null if both are empty.';

create or replace function sherlock.jaccard(
    p_left text,
    p_right text,
    p_kind text default 'word',
    p_width integer default 2
)
returns double precision
language sql immutable parallel safe
return sherlock.jaccard(
    sherlock.shingles(sherlock.canonical_text(p_left), p_kind, p_width),
    sherlock.shingles(sherlock.canonical_text(p_right), p_kind, p_width)
);

comment on function sherlock.jaccard(text, text, text, integer) is
'Exact Jaccard similarity of two texts by their word or character shingles of the given width, '
'unless said otherwise those of the scheme word-2; null if both are without a letter or '
'digit. Error: SH010 no such shingles.';

create or replace function sherlock.jaccard_of_documents(
    p_left bigint,
    p_right bigint,
    p_scheme text default null
)
returns double precision
language plpgsql stable
set search_path from current
as $$
declare
    v_asked_id integer;
    v_scheme_id integer;
    v_right_schemes integer[];
    v_left integer[];
    v_right integer[];
    v_left_state text;
    v_right_state text;
begin
    if p_scheme is not null then
        v_asked_id := (sherlock._scheme(p_scheme)).scheme_id;
    end if;
    v_right_schemes := array(
        select s.scheme_id from sherlock.document_signatures as s where s.document_id = p_right);
    select s.scheme_id, s.signature into v_scheme_id, v_left
    from sherlock.document_signatures as s
    where s.document_id = p_left
      and s.scheme_id = any(v_right_schemes)
      and (v_asked_id is null or s.scheme_id = v_asked_id)
    order by s.scheme_id desc
    limit 1;
    if found then
        select s.signature into v_right
        from sherlock.document_signatures as s
        where s.document_id = p_right and s.scheme_id = v_scheme_id;
        return sherlock.jaccard_estimate(v_left, v_right);
    end if;

    v_left_state := (sherlock._query_of_document(p_left)).text_state;
    v_right_state := (sherlock._query_of_document(p_right)).text_state;
    if v_left_state <> 'indexed' or v_right_state <> 'indexed' then
        return null;
    end if;
    raise exception using
        errcode = 'SH017',
        message = format(
            'documents %s and %s are not both signed with %s', p_left, p_right,
            coalesce('scheme ' || quote_literal(p_scheme), 'one scheme')),
        detail = format(
            'document %s: %s; document %s: %s', p_left, sherlock._schemes_of_document(p_left),
            p_right, sherlock._schemes_of_document(p_right)),
        hint = 'signatures of different schemes say nothing about each other; '
               'call sherlock.use_scheme(collection, scheme) signs a collection again';
end
$$;

comment on function sherlock.jaccard_of_documents(bigint, bigint, text) is
'Estimate of the Jaccard similarity of two stored documents, of one collection or of two, from '
'signatures of the scheme asked for, or of the newest that both are signed with; null if one of '
'them is too short or too badly read to be signed, or nothing but the scheme''s boilerplate. Errors: SH001, SH004, SH008 no such document or '
'not read yet, SH015 no such scheme, SH017 they are signed with different schemes, or one is not '
'signed with the scheme asked for.';
