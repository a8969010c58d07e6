-- What the numbers and dates of two texts say about each other. A number weighs as much as it is
-- rare: the square of its idf in the collection's vocabulary; what the vocabulary does not know is
-- rarer than all that it knows. Laws that every filing cites weigh next to nothing.
do $$
begin
    if to_regtype('sherlock.reference_agreement') is null then
        create type sherlock.reference_agreement as (
            number_overlap double precision,
            is_other_matter boolean,
            shared jsonb,
            differing jsonb
        );
    end if;
end;
$$;

comment on type sherlock.reference_agreement is
'How the numbers and dates of two texts agree; see sherlock.compare_references.';
comment on column sherlock.reference_agreement.number_overlap is
'Weight of the shared numbers, as a share of that of the text whose numbers weigh less, 0 to 1; null '
'if the numbers of one of them weigh next to nothing.';
comment on column sherlock.reference_agreement.is_other_matter is
'Both texts have two dates or more and share none, and they share no rare number; never null.';
comment on column sherlock.reference_agreement.shared is
'Numbers (rarest first) and dates of both: array of {role, value}, roles numero and fecha.';
comment on column sherlock.reference_agreement.differing is
'Roles of which nothing is shared: array of {role, value, other}, of the left and the right text.';

-- The weight of a number that the vocabulary does not know; 1 without a vocabulary.
create or replace function sherlock._rare_weight(p_model_id integer)
returns double precision
language sql stable parallel safe
return coalesce(
    (select power(ln((m.fitted_document_count + 1) / 2.0::float8), 2)
     from sherlock.tfidf_models as m
     where m.model_id = p_model_id),
    1);

-- What the model knows of numbers is a short list: the search reads it once for all candidates.
create or replace function sherlock._known_numbers(p_model_id integer)
returns table (number text, weight double precision)
language sql stable parallel safe
begin atomic
    select k.number, power(k.idf - 1, 2)
    from sherlock.tfidf_models as m
    cross join lateral unnest(m.known_numbers, m.known_number_idf) as k (number, idf)
    where m.model_id = p_model_id;
end;

create or replace function sherlock._number_weight(
    p_known_weight double precision,
    p_rare_weight double precision
)
returns double precision
language sql immutable parallel safe
-- Nothing that the vocabulary knows is rarer than what it does not know.
return coalesce(least(p_known_weight, p_rare_weight), p_rare_weight);

create or replace function sherlock._weighted_numbers(
    p_model_id integer,
    p_rare_weight double precision,
    p_numbers text[]
)
returns table (number text, weight double precision)
language sql stable parallel safe
begin atomic
    select u.number, sherlock._number_weight(k.weight, p_rare_weight)
    from unnest(p_numbers) as u (number)
    left join sherlock._known_numbers(p_model_id) as k on k.number = u.number;
end;

-- p_shared of what weighs p_left and p_right. Half a rare number is the least that says anything.
create or replace function sherlock._number_overlap(
    p_shared double precision,
    p_left double precision,
    p_right double precision,
    p_rare_weight double precision
)
returns double precision
language sql immutable parallel safe
return case
    when p_rare_weight > 0
         and least(coalesce(p_left, 0), coalesce(p_right, 0)) >= 0.5 * p_rare_weight
    then least(coalesce(p_shared, 0) / least(p_left, p_right), 1)
end;

create or replace function sherlock.compare_references(
    p_left sherlock._references,
    p_right sherlock._references,
    p_model_id integer,
    p_ignored text[] default '{}'
)
returns sherlock.reference_agreement
language plpgsql stable parallel safe
set search_path from current
as $$
declare
    c_listed constant integer := 5;
    v_rare_weight constant double precision := sherlock._rare_weight(p_model_id);
    -- A variable: with a query as its argument the function would not be inlined.
    v_numbers constant text[] := array(
        select u.number from unnest((p_left).numbers) as u (number)
        union
        select u.number from unnest((p_right).numbers) as u (number));
    v_left_weight double precision;
    v_right_weight double precision;
    v_shared_weight double precision;
    v_rarest double precision;
    v_left text[];
    v_right text[];
    v_shared text[];
    v_shared_dates date[];
    v_result sherlock.reference_agreement;
begin
    select sum(w.weight) filter (where w.is_left), sum(w.weight) filter (where w.is_right),
           sum(w.weight) filter (where w.is_left and w.is_right),
           max(w.weight) filter (where w.is_left and w.is_right),
           array_agg(w.number order by w.weight desc, w.number)
               filter (where w.is_left and w.is_right),
           array_agg(w.number order by w.weight desc, w.number) filter (where w.is_left),
           array_agg(w.number order by w.weight desc, w.number) filter (where w.is_right)
    into v_left_weight, v_right_weight, v_shared_weight, v_rarest, v_shared, v_left, v_right
    from (
        select n.number, n.weight, n.number = any((p_left).numbers) as is_left,
               n.number = any((p_right).numbers) as is_right
        from sherlock._weighted_numbers(p_model_id, v_rare_weight, v_numbers) as n
        where ltrim(n.number, '0') <> all (p_ignored)
    ) as w;
    v_shared_dates := array(
        select u.date from unnest((p_left).dates) as u (date)
        where u.date = any((p_right).dates)
        order by u.date);

    v_result.number_overlap := sherlock._number_overlap(
        v_shared_weight, v_left_weight, v_right_weight, v_rare_weight);
    v_result.is_other_matter := cardinality((p_left).dates) >= 2
        and cardinality((p_right).dates) >= 2
        and v_shared_dates = '{}'
        and coalesce(v_rarest, 0) < 0.5 * v_rare_weight;
    v_result.is_other_matter := coalesce(v_result.is_other_matter, false);
    v_result.shared := '[]';
    v_result.differing := '[]';
    if v_shared is not null then
        v_result.shared := v_result.shared || jsonb_build_object(
            'role', 'numero', 'value', array_to_string(v_shared[:c_listed], '; '));
    elsif v_left is not null and v_right is not null then
        v_result.differing := v_result.differing || jsonb_build_object(
            'role', 'numero', 'value', array_to_string(v_left[:c_listed], '; '),
            'other', array_to_string(v_right[:c_listed], '; '));
    end if;
    if v_shared_dates <> '{}' then
        v_result.shared := v_result.shared || jsonb_build_object(
            'role', 'fecha', 'value', array_to_string(v_shared_dates[:c_listed], '; '));
    elsif (p_left).dates <> '{}' and (p_right).dates <> '{}' then
        v_result.differing := v_result.differing || jsonb_build_object(
            'role', 'fecha', 'value', array_to_string((p_left).dates[:c_listed], '; '),
            'other', array_to_string((p_right).dates[:c_listed], '; '));
    end if;
    return v_result;
end;
$$;

comment on function sherlock.compare_references(
    sherlock._references, sherlock._references, integer, text[]) is
'How the numbers (three digits or more, no years) and dates of two texts agree. Numbers weigh by '
'rarity under the model (null: all the same). p_ignored: numbers that count for nothing, without leading '
'zeros, as those that name people. '
'Dates print as year-month-day.';

-- Numbers that say who, not what; where people cannot be compared they are numbers like others.
create or replace function sherlock._people_numbers(
    p_left jsonb,
    p_right jsonb,
    p_is_comparable boolean
)
returns text[]
language sql immutable parallel safe
return case
    when p_is_comparable
    then array(select jsonb_array_elements_text(p_left -> 'cedula'))
         || array(select jsonb_array_elements_text(p_right -> 'cedula'))
    else '{}'
end;

-- Of a query with a stored document; null where one of them has no references.
create or replace function sherlock._compare_references_with(
    p_document_id bigint,
    p_references sherlock._references,
    p_model_id integer,
    p_ignored text[]
)
returns sherlock.reference_agreement
language sql stable parallel safe
begin atomic
    select sherlock.compare_references(
        p_references, row(r.numbers, r.dates)::sherlock._references, p_model_id, p_ignored)
    from sherlock.document_references as r
    where r.document_id = p_document_id and (p_references).numbers is not null;
end;

-- A text that is nearly the same with other dates is a new version, not another matter.
create or replace function sherlock._is_other_matter(
    p_agreement sherlock.reference_agreement,
    p_jaccard double precision,
    p_cosine double precision
)
returns boolean
language sql immutable parallel safe
return coalesce(
    (p_agreement).is_other_matter and coalesce(p_jaccard, p_cosine, 0) < 0.85, false);
