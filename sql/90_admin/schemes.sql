-- Schemes: how texts become signatures, several side by side, and moving a collection from one to
-- another.

create or replace function sherlock._scheme(p_name text)
returns sherlock.shingle_schemes
language plpgsql stable parallel safe
set search_path from current
as $$
declare
    v_scheme sherlock.shingle_schemes;
begin
    select s.* into v_scheme from sherlock.shingle_schemes as s where s.name = p_name;
    if not found then
        raise exception using
            errcode = 'SH015',
            message = format('there is no scheme %s', coalesce(quote_literal(p_name), 'null')),
            hint = 'schemes are listed by: select name from sherlock.shingle_schemes';
    end if;
    return v_scheme;
end;
$$;

-- The hint where a role has no right to change what only the owner's may change.
create or replace function sherlock._who_may()
returns text
language sql stable
return format(
    'the owner of the schema may, %I, and those to whom the owner grants usage of schema sherlock '
    'and writing its tables',
    (select pg_get_userbyid(n.nspowner) from pg_catalog.pg_namespace as n
     where n.nspname = 'sherlock'));

create or replace function sherlock._check_bands(p_band_count integer, p_rows_per_band integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if (p_band_count >= 1 and p_rows_per_band >= 1
        and p_band_count::bigint * p_rows_per_band <= 128) is not true then
        raise exception using
            errcode = 'SH011',
            message = format(
                'no such bands: %s of %s rows each',
                coalesce(p_band_count::text, 'null'), coalesce(p_rows_per_band::text, 'null')),
            hint = 'the product of the two must be 1 to 128, the number of slots';
    end if;
end;
$$;

create or replace function sherlock.create_scheme(
    p_name text,
    p_shingle_kind text default 'word',
    p_shingle_width integer default 2,
    p_band_count integer default 32,
    p_rows_per_band integer default 4,
    p_min_shingles integer default 20,
    p_band_key_limit integer default 200
)
returns integer
language plpgsql volatile
set search_path from current
as $$
declare
    v_scheme_id integer;
begin
    if coalesce(btrim(p_name), '') = '' then
        raise exception using
            errcode = 'SH014',
            message = 'a scheme needs a name',
            hint = 'say what it does, as in: select sherlock.create_scheme(''char-9'', ''char'', 9)';
    end if;
    -- Whoever makes shingles says which there are: SH010.
    perform sherlock.shingles('', p_shingle_kind, p_shingle_width);
    perform sherlock._check_bands(p_band_count, p_rows_per_band);
    if (p_min_shingles >= 1 and p_band_key_limit >= 1) is not true then
        raise exception using
            errcode = 'SH016',
            message = format(
                'a scheme cannot have min_shingles %s and band_key_limit %s',
                coalesce(p_min_shingles::text, 'null'), coalesce(p_band_key_limit::text, 'null')),
            hint = 'both must be 1 or more; 20 and 200 suit texts of a page and more';
    end if;
    begin
        insert into sherlock.shingle_schemes (
            name, shingle_kind, shingle_width, band_count, rows_per_band, min_shingles,
            band_key_limit)
        values (
            p_name, p_shingle_kind, p_shingle_width, p_band_count, p_rows_per_band, p_min_shingles,
            p_band_key_limit)
        on conflict (name) do nothing
        returning scheme_id into v_scheme_id;
    exception when insufficient_privilege then
        raise exception using
            errcode = 'insufficient_privilege',
            message = format('you may not make schemes: %s', sqlerrm),
            hint = sherlock._who_may();
    end;
    if v_scheme_id is null then
        raise exception using
            errcode = 'SH014',
            message = format('there is a scheme %s already', quote_literal(p_name)),
            hint = 'a scheme never changes, because stored signatures rely on it: choose another '
                   'name';
    end if;
    return v_scheme_id;
end;
$$;

comment on function sherlock.create_scheme(
    text, text, integer, integer, integer, integer, integer
) is
'Makes a scheme and returns its id: shingles of p_shingle_width words (1 to 9) or characters (3 to '
'16), p_band_count bands of p_rows_per_band slots (128 at most; see sherlock.plan). Texts with '
'fewer than p_min_shingles match exactly only; of a band key p_band_key_limit documents are read. '
'Then: sherlock.create_collection(name, p_scheme => ...) or call sherlock.use_scheme(collection, '
'...). Errors: SH010 no such shingles, SH011 no such bands, SH014 no name or one that is taken, '
'SH016 limits below 1; 42501 rights.';

create or replace function sherlock._schemes_of_document(p_document_id bigint)
returns text
language plpgsql stable
set search_path from current
as $$
begin
    return (
        select coalesce(string_agg(c.name, ', ' order by c.name), 'no scheme')
        from sherlock.document_signatures as s
        join sherlock.shingle_schemes as c using (scheme_id)
        where s.document_id = p_document_id
    );
end;
$$;

-- The lock on documents lets writers that still saw the old scheme finish first, so that none of
-- their documents is signed with it after all others were signed again.
create or replace function sherlock._set_scheme(p_collection_id integer, p_scheme_id integer)
returns void
language plpgsql volatile
set search_path from current
set lock_timeout = '10s'
as $$
begin
    update sherlock.collections as c
    set scheme_id = p_scheme_id,
        -- A move that was not finished goes on in the new one.
        scheme_changed_at = coalesce(c.scheme_changed_at, clock_timestamp())
    where c.collection_id = p_collection_id and c.scheme_id <> p_scheme_id;
    if found then
        lock table sherlock.documents in share mode;
    end if;
exception when insufficient_privilege then
    raise exception using
        errcode = 'insufficient_privilege',
        message = format('you may not change the scheme of a collection: %s', sqlerrm),
        hint = sherlock._who_may();
end;
$$;

-- Locked, so that two callers do not do the same work twice.
create or replace function sherlock._moving_collection(
    p_collection_id integer,
    p_scheme_id integer
)
returns sherlock.collections
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection sherlock.collections;
begin
    select c.* into strict v_collection
    from sherlock.collections as c
    where c.collection_id = p_collection_id
    for no key update;
    if v_collection.scheme_id <> p_scheme_id then
        raise exception using
            errcode = 'SH019',
            message = format(
                'the collection was moved to scheme %s meanwhile',
                (select quote_literal(s.name)
                 from sherlock.shingle_schemes as s
                 where s.scheme_id = v_collection.scheme_id)),
            hint = 'nothing is lost: call sherlock.use_scheme() again with the one that is wanted';
    end if;
    return v_collection;
end;
$$;

-- The documents are locked in the order of their ids, so that readers who finish one of them wait.
create or replace function sherlock._sign_again(
    p_collection_id integer,
    p_scheme_id integer,
    p_after bigint,
    p_limit integer,
    out last_document_id bigint,
    out signed_count integer
)
language plpgsql volatile
set search_path from current
as $$
declare
    v_scheme sherlock.shingle_schemes;
    v_document_ids bigint[];
begin
    perform sherlock._moving_collection(p_collection_id, p_scheme_id);
    select s.* into strict v_scheme
    from sherlock.shingle_schemes as s
    where s.scheme_id = p_scheme_id;
    v_document_ids := array(
        select d.document_id
        from sherlock.documents as d
        where d.collection_id = p_collection_id
          and d.document_id > p_after
          and case d.text_state
              -- Not "not exists": that may read the signatures of all documents for each batch.
              when 'indexed' then (
                  select s.document_id
                  from sherlock.document_signatures as s
                  where s.document_id = d.document_id and s.scheme_id = p_scheme_id) is null
              -- What was too short for one scheme can be long enough for another.
              when 'short' then 'indexed' = sherlock._text_state(
                  sherlock._distinct_shingles(
                      sherlock.shingles(
                          sherlock.canonical_text(sherlock.document_text(d.document_id)),
                          v_scheme.shingle_kind, v_scheme.shingle_width),
                      v_scheme.min_shingles),
                  v_scheme.min_shingles,
                  sherlock._is_excluded(d.flags, d.accepted_at))
              else false
          end
        order by d.document_id
        limit p_limit
        for no key update of d
    );
    last_document_id := v_document_ids[cardinality(v_document_ids)];
    signed_count := sherlock.index_documents(v_document_ids);
end;
$$;

-- Whoever judges holds this table till he commits: those who could not see all new signatures have
-- ended when it returns, and their verdicts are older than the time that it returns.
create or replace function sherlock._wait_for_judgements()
returns timestamptz
language plpgsql volatile
set search_path from current
set lock_timeout = '10s'
as $$
begin
    lock table sherlock.judging_locks in share mode;
    return clock_timestamp();
end;
$$;

-- The verdicts that were made during the move, p_until at the latest: what they were compared with
-- was not signed again yet. When none is left, the move is over.
create or replace function sherlock._judge_again(
    p_collection_id integer,
    p_scheme_id integer,
    p_until timestamptz,
    p_after bigint,
    p_limit integer,
    out last_document_id bigint,
    out judged_count integer
)
language plpgsql volatile
set search_path from current
as $$
declare
    v_collection constant sherlock.collections :=
        sherlock._moving_collection(p_collection_id, p_scheme_id);
    v_document_ids bigint[];
begin
    v_document_ids := array(
        select v.document_id
        from sherlock.detections as v
        join sherlock.documents as d using (document_id)
        where v.document_id > p_after
          and v.detected_at between v_collection.scheme_changed_at and p_until
          and d.collection_id = p_collection_id
          and d.status in ('ok', 'partial')
          and d.text_state is not null
        order by v.document_id
        limit p_limit
        -- So that none is deleted before it is judged.
        for key share of d
    );
    judged_count := cardinality(v_document_ids);
    last_document_id := v_document_ids[judged_count];
    if judged_count > 0 then
        perform sherlock._judge(v_document_ids);
    else
        update sherlock.collections as c
        set scheme_changed_at = null
        where c.collection_id = p_collection_id and c.scheme_changed_at is not null;
    end if;
end;
$$;

-- No search_path of its own, because a procedure with one cannot commit: all names are qualified.
create or replace procedure sherlock.use_scheme(p_collection text, p_scheme text)
language plpgsql
as $$
declare
    c_sign_batch constant integer := 500;
    -- Who wants to judge a similar document waits for the whole of it.
    c_judge_batch constant integer := 100;
    c_max_attempts constant integer := 5;
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_scheme_id integer := (sherlock._scheme(p_scheme)).scheme_id;
    v_after bigint := 0;
    v_batch record;
    v_signed_count bigint := 0;
    v_judged_count bigint := 0;
    v_unsigned_count bigint;
    v_until timestamptz;
    v_attempt integer := 1;
    v_is_done boolean;
begin
    call sherlock._refuse_transaction_block('sherlock.use_scheme()');
    commit;
    -- With an older snapshot what was just waited for would not be seen.
    set transaction isolation level read committed;
    perform sherlock._set_scheme(v_collection_id, v_scheme_id);
    commit and chain;
    loop
        select b.* into strict v_batch
        from sherlock._sign_again(v_collection_id, v_scheme_id, v_after, c_sign_batch) as b;
        commit and chain;
        exit when v_batch.last_document_id is null;
        v_after := v_batch.last_document_id;
        v_signed_count := v_signed_count + v_batch.signed_count;
    end loop;
    raise notice using
        message = format('%s documents signed with scheme %s', v_signed_count, p_scheme);

    v_until := sherlock._wait_for_judgements();
    commit and chain;
    v_after := 0;
    loop
        v_is_done := false;
        begin
            select b.* into strict v_batch
            from sherlock._judge_again(
                v_collection_id, v_scheme_id, v_until, v_after, c_judge_batch) as b;
            v_is_done := true;
        exception when deadlock_detected or serialization_failure then
            if v_attempt = c_max_attempts then
                raise;
            end if;
        end;
        commit and chain;
        v_attempt := case when v_is_done then 1 else v_attempt + 1 end;
        continue when not v_is_done;
        exit when v_batch.judged_count = 0;
        v_after := v_batch.last_document_id;
        v_judged_count := v_judged_count + v_batch.judged_count;
        raise notice using message = format(
            '%s documents that were judged during the move are judged again', v_judged_count);
    end loop;

    select count(*) into v_unsigned_count
    from sherlock.documents as d
    where d.collection_id = v_collection_id
      and d.text_state = 'indexed'
      and not exists (
          select from sherlock.document_signatures as s
          where s.document_id = d.document_id and s.scheme_id = v_scheme_id
      );
    if v_unsigned_count > 0 then
        raise warning using
            message = format('%s documents have no signature of scheme %s, because their text is '
                             'gone', v_unsigned_count, p_scheme),
            hint = 'give their text again; until then they are found by the other levels only';
    end if;
end;
$$;

comment on procedure sherlock.use_scheme(text, text) is
'Moves a collection to another scheme: from the first moment its searches use the new one, then its '
'documents are signed with it, in the order of their ids, 500 to a transaction; call it outside of '
'a transaction block. Until all are signed, level 1 does not compare a document that is not yet '
'(Jaccard null): it is found by its exact text, its vector and its entities only, so verdicts made '
'meanwhile can lack pairs, and a watched table that rejects lets near-duplicates pass. Therefore '
'whatever was judged since the move began is judged again at its end, 100 to a transaction with a '
'NOTICE after each: those pairs are flagged then. If it is interrupted, call it again: signing goes '
'on where it ended, judging begins anew; sherlock.schemes shows moves that are not finished. '
'Verdicts from before the move stay as they are. Band keys of the old scheme go with the signatures '
'they belong to, vectors of retired TF-IDF models too; sherlock.vectorize_missing makes those anew. '
'Writers wait while it begins and before it judges, and it waits for theirs, ten seconds at most. '
'Errors: SH002 no such collection, SH015 no such scheme, SH019 somebody else moved the collection '
'meanwhile; 2D000 in a transaction block, 42501 rights, 55P03 others held their locks all the while.';
