-- Band keys: two texts are candidates if they agree in all slots of at least one band.

create or replace function sherlock.band_keys(
    p_signature integer[],
    p_scheme_id integer,
    p_collection_id integer,
    p_band_count integer,
    p_rows_per_band integer
)
returns bigint[]
language plpgsql immutable strict parallel safe
as $$
-- Each key hashes scheme, collection and band before the slots, so that keys of different
-- schemes, collections or bands differ and may share one index.
declare
    v_prefix constant bigint := hashint8extended(
        p_collection_id, hashint8extended(p_scheme_id, 0)
    );
    v_keys bigint[];
    v_key bigint;
    v_slot integer := 0;
begin
    perform sherlock._check_signature(p_signature);
    if p_band_count < 1 or p_rows_per_band < 1 or p_band_count::bigint * p_rows_per_band > 128 then
        raise exception using
            errcode = 'SH011',
            message = format(
                'no such bands: %s of %s rows each', p_band_count, p_rows_per_band
            ),
            hint = 'the product of the two must be 1 to 128, the number of slots';
    end if;
    for v_band in 0 .. p_band_count - 1 loop
        v_key := hashint8extended(v_band, v_prefix);
        -- Four slots a step: a step of PL/pgSQL costs more than the hash.
        for v_step in 1 .. p_rows_per_band / 4 loop
            v_key := hashint8extended(p_signature[v_slot + 4], hashint8extended(
                p_signature[v_slot + 3], hashint8extended(
                    p_signature[v_slot + 2], hashint8extended(p_signature[v_slot + 1], v_key))));
            v_slot := v_slot + 4;
        end loop;
        for v_step in 1 .. p_rows_per_band % 4 loop
            v_slot := v_slot + 1;
            v_key := hashint8extended(p_signature[v_slot], v_key);
        end loop;
        v_keys[v_band + 1] := v_key;
    end loop;
    return v_keys;
end
$$;

comment on function sherlock.band_keys(integer[], integer, integer, integer, integer) is
'The keys by which candidates are found: one a band of p_rows_per_band slots, p_band_count bands. '
'Keys of different schemes, collections and bands do not meet, but for chance hits of 64 bits. '
'Errors: SH011 no such bands, SH012 not a signature.';
