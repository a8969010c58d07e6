-- The public searches.
create or replace function sherlock._scope_before(p_document_id bigint, p_scope text)
returns bigint
language plpgsql immutable parallel safe
as $$
begin
    if p_scope = 'all' then
        return null;
    elsif p_scope = 'earlier' then
        return p_document_id;
    end if;
    raise exception using
        errcode = 'SH005',
        message = format('unknown scope: %s', coalesce(p_scope, 'null')),
        hint = 'use all (the whole collection) or earlier (documents that arrived before)';
end;
$$;

create or replace function sherlock.find_duplicates(
    p_document_id bigint,
    p_limit integer default null,
    p_scope text default 'all'
)
returns setof sherlock.match
language plpgsql stable
set search_path from current
as $$
declare
    -- Not in the query: the planner would search once for its estimate.
    v_found sherlock._search_result := sherlock._search(
        sherlock._query_of_document(p_document_id),
        sherlock._scope_before(p_document_id, p_scope), p_limit);
begin
    return query select m.* from unnest(v_found.matches) as m limit p_limit;
end;
$$;

comment on function sherlock.find_duplicates(bigint, integer, text) is
'Documents of the same collection that resemble a stored document, best first, never itself. '
'p_limit: rows at most, 0 to 1000 (default: max_results of the configuration). p_scope: all, or '
'earlier for only those that arrived before it. Errors: SH001 no such document, SH004 not indexed '
'yet, SH013 limit out of range.';

create or replace function sherlock.collection_id(p_collection text)
returns integer
language plpgsql stable
set search_path from current
as $$
declare
    v_collection_id integer;
begin
    select c.collection_id into v_collection_id
    from sherlock.collections as c
    where c.name = p_collection;
    if not found then
        raise exception using
            errcode = 'SH002',
            message = format('there is no collection %s', coalesce(quote_literal(p_collection), 'null')),
            hint = 'make one with: select sherlock.create_collection(''name'')';
    end if;
    return v_collection_id;
end;
$$;

comment on function sherlock.collection_id(text) is
'The id of a collection by its name. Error: SH002 no such collection.';

create or replace function sherlock.find_duplicates_of_text(
    p_text text,
    p_entities jsonb default '[]',
    p_collection text default 'default',
    p_doc_type text default 'auto',
    p_limit integer default null
)
returns setof sherlock.match
language plpgsql stable
set search_path from current
as $$
declare
    v_found sherlock._search_result := sherlock._search(
        sherlock._query_of_text(
            sherlock.collection_id(p_collection),
            case when p_doc_type = 'auto' then sherlock.guess_doc_type(p_text)
                 else p_doc_type end,
            p_text, p_entities),
        null, p_limit);
begin
    return query select m.* from unnest(v_found.matches) as m limit p_limit;
end;
$$;

comment on function sherlock.find_duplicates_of_text(text, jsonb, text, text, integer) is
'Documents of a collection that resemble a text which is not stored, best first. p_entities: array '
'of {"role": …, "value": …}, as sherlock.store_entities takes it; null: none. p_doc_type chooses the '
'thresholds; auto guesses it from the text. p_limit: as for sherlock.find_duplicates. Errors: SH002 '
'no such collection, SH013 limit out of range, SH020 unknown role, SH021 entities of another shape.';
