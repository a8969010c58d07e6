-- Signature: 128 slots whose share of equal slots estimates the Jaccard similarity of two sets.
--
-- Fast Similarity Sketching (Dahlgaard, Knudsen, Thorup 2017). Round 0 throws each 64-bit shingle
-- x itself, round r in 1 .. 127 its hash seeded by r: the lowest 7 bits name a slot, the next 23
-- bits a value, and each slot keeps the smallest r * 2^23 + value. A slot that is still empty
-- after that, b in 0 .. 127, keeps the smallest (128 + b) * 2^23 + value of round 128 + b, in
-- which the slot bits are ignored: so no signature has an empty slot.
-- A later round never changes a slot that an earlier one has filled, so the first round that
-- leaves no slot empty is the last: about 700 hashes for a short text, one a shingle for a long
-- one. Loops, because a query over so few values costs more to start than they do to run.

create or replace function sherlock.signature(p_shingles bigint[])
returns integer[]
language plpgsql immutable strict parallel safe
as $$
declare
    c_empty constant bigint := 2147483648;  -- above everything that a slot can keep
    v_shingles bigint[] := p_shingles;
    v_slots bigint[] := array_fill(c_empty, array[128]);
    v_shingle bigint;
    v_hash bigint;
    v_slot integer;
    v_is_distinct boolean := false;
    v_floor bigint;
begin
    if cardinality(v_shingles) = 0 then
        return null;
    end if;
    foreach v_hash in array v_shingles loop
        if ((v_hash >> 7) & 8388607) < v_slots[(v_hash & 127) + 1] then
            v_slots[(v_hash & 127) + 1] := (v_hash >> 7) & 8388607;
        end if;
    end loop;
    for v_round in 1 .. 127 loop
        exit when array_position(v_slots, c_empty) is null;
        -- Repeated shingles change nothing; without this, repetitive texts would cost 127 rounds.
        if not v_is_distinct and v_round * cardinality(v_shingles) > 2000 then
            v_shingles := array(select distinct unnest(v_shingles));
            v_is_distinct := true;
        end if;
        v_floor := v_round::bigint << 23;
        foreach v_shingle in array v_shingles loop
            v_hash := hashint8extended(v_shingle, v_round);
            if (v_floor | ((v_hash >> 7) & 8388607)) < v_slots[(v_hash & 127) + 1] then
                v_slots[(v_hash & 127) + 1] := v_floor | ((v_hash >> 7) & 8388607);
            end if;
        end loop;
    end loop;
    foreach v_slot in array array_positions(v_slots, c_empty) loop
        v_floor := (127 + v_slot)::bigint << 23;
        foreach v_shingle in array v_shingles loop
            v_hash := hashint8extended(v_shingle, 127 + v_slot);
            v_slots[v_slot] := least(v_slots[v_slot], v_floor | ((v_hash >> 7) & 8388607));
        end loop;
    end loop;
    return v_slots;
end
$$;

comment on function sherlock.signature(bigint[]) is
'The 128-slot signature of a set of shingles; null for none. Equal sets have equal signatures, '
'whatever the order and repetition of the shingles; see sherlock.jaccard_estimate().';

-- No defaults here: with them, a call with one text would fit this and the next function alike.
create or replace function sherlock.signature(p_text text, p_kind text, p_width integer)
returns integer[]
language sql immutable parallel safe
return sherlock.signature(
    sherlock.shingles(sherlock.canonical_text(p_text), p_kind, p_width)
);

comment on function sherlock.signature(text, text, integer) is
'The 128-slot signature of a text by its word or character shingles of the given width; null '
'where the text has no letter or digit. Immutable, so it can be a generated column. Error: SH010 '
'no such shingles.';

create or replace function sherlock.signature(p_text text, p_scheme text default 'word-2')
returns integer[]
language plpgsql stable parallel safe
set search_path from current
as $$
declare
    v_scheme sherlock.shingle_schemes := sherlock._scheme(p_scheme);
begin
    return sherlock.signature(sherlock._distinctive_shingles(
        sherlock.shingles(
            sherlock.canonical_text(p_text), v_scheme.shingle_kind, v_scheme.shingle_width),
        v_scheme.stop_list_id));
end
$$;

comment on function sherlock.signature(text, text) is
'The 128-slot signature of a text as the scheme would store it, without the boilerplate on the '
'scheme''s list; null where nothing is left, or no letter or digit was there. Signatures of different schemes must not be compared. Error: SH015 no such scheme.';

-- Of a text that is long enough with its boilerplate: null if too little is left without.
create or replace function sherlock._distinctive_signature(
    p_shingles bigint[],
    p_kept bigint[],
    p_min_shingles integer
)
returns integer[]
language plpgsql immutable parallel safe
as $$
begin
    if cardinality(p_kept) = cardinality(p_shingles)
       or sherlock._distinct_shingles(p_kept, p_min_shingles) = p_min_shingles
    then
        return sherlock.signature(p_kept);
    end if;
    return null;
end
$$;

create or replace function sherlock._check_signature(p_signature integer[])
returns void
language plpgsql immutable parallel safe
as $$
begin
    if cardinality(p_signature) <> 128 or array_position(p_signature, null) is not null then
        raise exception using
            errcode = 'SH012',
            message = format(
                'not a signature: %s slots, %s of them null',
                cardinality(p_signature),
                cardinality(array_positions(p_signature, null))
            ),
            hint = 'a signature is what sherlock.signature() returns: 128 slots, none null';
    end if;
end
$$;

create or replace function sherlock.signature_sketch(p_signature integer[])
returns bit(2048)
language plpgsql immutable strict parallel safe
as $$
declare
    v_bytes bytea := '';
begin
    perform sherlock._check_signature(p_signature);
    -- Of the hash, because the slots of a text of more than 16,000 shingles are so small that
    -- their high bits are zero: at 200,000 unrelated texts would seem to share a sixth.
    for i in 1 .. 128 by 4 loop
        v_bytes := v_bytes || int8send(
            ((hashint4extended(p_signature[i], 0) & 65535) << 48)
            | ((hashint4extended(p_signature[i + 1], 0) & 65535) << 32)
            | ((hashint4extended(p_signature[i + 2], 0) & 65535) << 16)
            | (hashint4extended(p_signature[i + 3], 0) & 65535)
        );
    end loop;
    return ('x' || encode(v_bytes, 'hex'))::bit(2048);
end
$$;

comment on function sherlock.signature_sketch(integer[]) is
'A signature at half the size: 16 bits of the hash of each slot, slot 0 first; compared ten times as '
'fast, for a slightly larger error of the estimate. Error: SH012 not a signature.';

create or replace function sherlock.merge_signatures(p_left integer[], p_right integer[])
returns integer[]
language plpgsql immutable parallel safe
as $$
declare
    v_slots integer[] := p_left;
begin
    if cardinality(p_left) <> 128 or cardinality(p_right) <> 128
       or num_nulls(variadic p_left) > 0 or num_nulls(variadic p_right) > 0
    then
        perform sherlock._check_signature(p_left);
        perform sherlock._check_signature(p_right);
    end if;
    if p_left is null or p_right is null then
        return coalesce(p_left, p_right);
    end if;
    for v_slot in 1 .. 128 loop
        if p_right[v_slot] < v_slots[v_slot] then
            v_slots[v_slot] := p_right[v_slot];
        end if;
    end loop;
    return v_slots;
end
$$;

comment on function sherlock.merge_signatures(integer[], integer[]) is
'The signature of the union of two sets of shingles, made of their signatures. Null is the '
'signature of the empty set. Error: SH012 not a signature.';

create or replace aggregate sherlock.merge_signatures(p_signature integer[]) (
    sfunc = sherlock.merge_signatures,
    stype = integer[],
    combinefunc = sherlock.merge_signatures,
    parallel = safe
);

comment on aggregate sherlock.merge_signatures(integer[]) is
'The signature of the union of all sets of shingles, made of their signatures; null if none has '
'one. With sherlock.distinct_count_estimate: how many different shingles there are in a corpus. '
'Error: SH012 not a signature.';

-- A slot is hit at random moments, on average once in 128 rounds by each member of the set, and
-- keeps the first: (round, value) is a moment. The rate of such hits, from 128 first moments, those
-- after round 127 known only to be later, is the estimator for exponential life times that are
-- censored: (hits - 1) / time watched.
create or replace function sherlock.distinct_count_estimate(p_signature integer[])
returns double precision
language plpgsql immutable strict parallel safe
as $$
declare
    c_rounds constant double precision := 128;
    c_round constant double precision := 8388608;  -- values in a round
begin
    perform sherlock._check_signature(p_signature);
    return (
        select 128 * (count(*) filter (where s.slot < c_rounds * c_round) - 1)
               / sum(least((s.slot + 0.5) / c_round, c_rounds))
        from unnest(p_signature) as s (slot)
    );
end
$$;

comment on function sherlock.distinct_count_estimate(integer[]) is
'Estimate of the number of different shingles in the set of a signature; its standard error is 6 % '
'for up to 100, 9 % for 1,000 and more. Null for no signature. Error: SH012 not a signature.';
