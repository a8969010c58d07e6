-- How well the vocabulary of each collection still fits, and whether a new one is proposed.

-- Loss of known terms, as a share, from which a new vocabulary is proposed.
create or replace function sherlock._refit_drift()
returns double precision
language sql immutable parallel safe
return 0.10::double precision;

-- The mean, over texts, of the share of a text's terms that the vocabulary has.
create or replace function sherlock._known_share(
    p_model sherlock.tfidf_models,
    p_document_ids bigint[]
)
returns double precision
language plpgsql stable
set search_path from current
as $$
begin
    return (
        select avg(s.known_share)
        from sherlock.document_texts(p_document_ids) as d
        cross join lateral (
            select sum(t.frequency) filter (where f.term is not null)::double precision
                   / sum(t.frequency) as known_share
            from sherlock._term_counts(
                sherlock.canonical_text(d.content), p_model.ngram_min, p_model.ngram_max) as t
            left join sherlock.tfidf_features as f
                on f.model_id = p_model.model_id and f.term = t.term
        ) as s
    );
end;
$$;

create or replace function sherlock.measure_vocabulary_drift(
    p_collection text default 'default',
    p_sample integer default 100
)
returns table (
    model_id integer,
    earlier_document_count integer,
    earlier_known_share double precision,
    later_document_count integer,
    later_known_share double precision,
    drift double precision
)
language plpgsql volatile
set search_path from current
as $$
#variable_conflict use_column
declare
    -- Of fewer texts the mean says little.
    c_min_documents constant integer := 30;
    v_collection_id integer := sherlock.collection_id(p_collection);
    v_model sherlock.tfidf_models;
    v_earlier bigint[];
    v_later bigint[];
begin
    perform sherlock._check_count('p_sample', p_sample, 10000);
    select m.* into v_model
    from sherlock.tfidf_models as m
    where m.collection_id = v_collection_id and m.status = 'active';
    if not found then
        return;
    end if;
    v_earlier := array(
        select d.document_id
        from sherlock.documents as d
        where d.collection_id = v_collection_id
          and d.text_state = 'indexed'
          and d.created_at <= v_model.created_at
        order by hashint8extended(d.document_id, 1), d.document_id
        limit p_sample
    );
    v_later := array(
        select d.document_id
        from sherlock.documents as d
        where d.collection_id = v_collection_id
          and d.text_state = 'indexed'
          and d.created_at > v_model.created_at
        order by d.document_id desc
        limit p_sample
    );
    model_id := v_model.model_id;
    earlier_document_count := cardinality(v_earlier);
    later_document_count := cardinality(v_later);
    if least(earlier_document_count, later_document_count) >= c_min_documents then
        earlier_known_share := sherlock._known_share(v_model, v_earlier);
        later_known_share := coalesce(sherlock._known_share(v_model, v_later), 0);
        drift := greatest(1 - later_known_share / nullif(earlier_known_share, 0), 0);
    end if;
    begin
        update sherlock.tfidf_models as m
        set drift = measure_vocabulary_drift.drift, drift_measured_at = clock_timestamp()
        where m.model_id = v_model.model_id;
    exception when insufficient_privilege then
        raise exception using
            errcode = 'insufficient_privilege',
            message = format('you may not keep the drift of a vocabulary: %s', sqlerrm),
            hint = sherlock._who_may();
    end;
    return next;
end;
$$;

comment on function sherlock.measure_vocabulary_drift(text, integer) is
'Measures how far the latest documents have moved away from the vocabulary in use, and keeps the '
'result for sherlock.vocabulary_status. known_share: mean share of a text''s words and pairs that '
'the vocabulary has; of up to p_sample documents that were there when it was fitted (always the '
'same) and of the p_sample latest that came since. drift: how much smaller the later share is, from '
'0 (not smaller) to 1 (nothing is known); null with fewer than 30 documents on either side. No row '
'without a vocabulary. Reads the texts of both samples, about ten milliseconds each. On filings of '
'the same kinds it is below 0.05, where one kind in nine is new 0.2. Errors: SH002 no such '
'collection, SH036 p_sample out of range (1 to 10000); 42501 rights.';

create or replace view sherlock.vocabulary_status as
select s.collection, s.model_id, s.activated_at, s.term_count, s.fitted_document_count,
       s.document_count_at_fit, s.document_count, s.growth, s.drift, s.drift_measured_at,
       s.without_vector_share,
       s.refit_reason is not null as is_refit_proposed,
       s.refit_reason, s.is_due, s.refreshing_pid
from (
    select c.name as collection, m.model_id, m.activated_at, m.feature_count as term_count,
           m.fitted_document_count, m.document_count as document_count_at_fit, d.document_count,
           g.growth,
           m.drift, m.drift_measured_at,
           case
               when m.model_id is not null
               then d.without_vector_count::double precision / nullif(d.document_count, 0)
           end as without_vector_share,
           case
               when d.document_count = 0 then null
               when m.model_id is null then 'no_vocabulary'
               when (m.ngram_min, m.ngram_max) <> (c.tfidf_ngram_min, c.tfidf_ngram_max)
                    or m.max_features <> c.tfidf_max_features
               then 'settings'
               when g.growth >= sherlock._refit_growth() then 'growth'
               when m.drift >= sherlock._refit_drift() then 'drift'
           end as refit_reason,
           case
               when m.model_id is null then d.document_count > 0
               when m.fitted_document_count >= 20000 then false
               else d.document_count >= 2 * m.document_count
           end as is_due,
           sherlock._vocabulary_lock_holder(c.collection_id) as refreshing_pid
    from sherlock.collections as c
    left join sherlock.tfidf_models as m
        on m.collection_id = c.collection_id and m.status = 'active'
    cross join lateral (
        select count(*) as document_count,
               count(*) filter (where not exists (
                   select from sherlock.document_vectors as v
                   where v.document_id = i.document_id and v.model_id = m.model_id
               )) as without_vector_count
        from sherlock.documents as i
        where i.collection_id = c.collection_id and i.text_state = 'indexed'
    ) as d
    cross join lateral (
        select (d.document_count - m.document_count)::double precision / m.document_count as growth
    ) as g
) as s;

comment on view sherlock.vocabulary_status is
'Level 2 of each collection: the vocabulary in use, and whether it still fits. Reads all documents.';
comment on column sherlock.vocabulary_status.collection is 'The collection.';
comment on column sherlock.vocabulary_status.model_id is
'The TF-IDF model in use; null: none, and level 2 is absent.';
comment on column sherlock.vocabulary_status.activated_at is 'Since when it is in use.';
comment on column sherlock.vocabulary_status.term_count is 'Terms of its vocabulary.';
comment on column sherlock.vocabulary_status.fitted_document_count is
'Documents that it was fitted on: all that had a text, or a sample of them.';
comment on column sherlock.vocabulary_status.document_count_at_fit is
'Indexed documents of the collection when it was fitted.';
comment on column sherlock.vocabulary_status.document_count is
'Indexed documents now: those that take part in all levels.';
comment on column sherlock.vocabulary_status.growth is
'How many more documents there are than at the fit, as a share of those: 0.1 is 10 %. Null without a '
'model.';
comment on column sherlock.vocabulary_status.drift is
'How much less of the latest documents the vocabulary knows than of those at the fit, 0 to 1, as '
'sherlock.measure_vocabulary_drift found; null: not measured, or too few documents.';
comment on column sherlock.vocabulary_status.drift_measured_at is 'When that was measured last.';
comment on column sherlock.vocabulary_status.without_vector_share is
'Share of the indexed documents without a vector of the model, 0 to 1: they are found by the other '
'levels only. Null without a model or documents.';
comment on column sherlock.vocabulary_status.is_refit_proposed is
'Whether a new vocabulary is proposed: call sherlock.refresh_vocabulary, or sherlock-pg fit.';
comment on column sherlock.vocabulary_status.refit_reason is
'Why: no_vocabulary (documents, but no model); settings (those of the collection are other than at '
'the fit); growth (by 10 % or more); drift (of 0.1 or more); null: not proposed.';
comment on column sherlock.vocabulary_status.is_due is
'Whether the loader would fit by itself: there is no model but documents, or there are twice as many '
'documents as at the fit. Never once a model was fitted on 20,000: from there on growth alone hardly '
'changes it, and a fit costs a vector of each document.';
comment on column sherlock.vocabulary_status.refreshing_pid is
'Session that is changing the vocabulary now (see pg_stat_activity); null if none is.';
