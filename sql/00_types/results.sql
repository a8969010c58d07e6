-- Result types. A type has no `create or replace`: changing one is a revision that drops it first.
do $$
begin
    if to_regtype('sherlock.match') is null then
        create type sherlock.match as (
            document_id bigint,
            name text,
            confidence text,
            action text,
            final_score double precision,
            minhash_score double precision,
            tfidf_score double precision,
            entity_score double precision,
            has_conflict boolean,
            evidence jsonb
        );
    end if;
    if to_regtype('sherlock.detection') is null then
        create type sherlock.detection as (
            document_id bigint,
            recommended_action text,
            candidates jsonb,
            total_checked integer,
            high_confidence_count integer,
            medium_confidence_count integer,
            low_confidence_count integer,
            level_scores jsonb,
            short_circuited boolean,
            total_latency_ms double precision
        );
    end if;
    if to_regtype('sherlock._query') is null then
        create type sherlock._query as (
            collection_id integer,
            document_id bigint,
            doc_type text,
            text_state text,
            canonical_sha256 bytea,
            signature integer[],
            sketch bit(2048),
            vector sparsevec(5000),
            model_id integer,
            sign_bits bit(512),
            entities jsonb,
            numbers text[],
            dates date[]
        );
    end if;
    if to_regtype('sherlock._search_result') is null then
        create type sherlock._search_result as (
            matches sherlock.match[],
            total_checked integer,
            short_circuited boolean,
            level_scores jsonb
        );
    end if;
    if to_regtype('sherlock.containment') is null then
        create type sherlock.containment as (
            document_id bigint,
            name text,
            containment double precision,
            container_share double precision,
            shared_shingles integer,
            shingle_count integer,
            first_word integer,
            last_word integer,
            start_offset integer,
            end_offset integer,
            sample text,
            hot_keys integer
        );
    end if;
    if not exists (
        select from pg_catalog.pg_attribute as a
        where a.attrelid = 'sherlock.detection'::regclass and a.attname = 'hot_band_keys'
    ) then
        alter type sherlock.detection add attribute hot_band_keys integer;
        alter type sherlock._search_result add attribute hot_band_keys integer;
    end if;
end;
$$;

comment on type sherlock.match is
'A document that resembles the one asked about: class, action, ensemble score, the levels'' scores '
'(0 to 1; null where the level was absent) and the evidence.';
comment on column sherlock.match.document_id is 'The matching document.';
comment on column sherlock.match.name is 'Its name.';
comment on column sherlock.match.confidence is 'EXACT, HIGH, MEDIUM or LOW.';
comment on column sherlock.match.action is 'REJECT, REVIEW or ACCEPT.';
comment on column sherlock.match.final_score is 'Ensemble score, 0 to 1, four digits.';
comment on column sherlock.match.minhash_score is 'Level 1: estimated Jaccard of the shingles.';
comment on column sherlock.match.tfidf_score is 'Level 2: cosine of the TF-IDF vectors.';
comment on column sherlock.match.entity_score is 'Level 3: agreement of parties and identifiers.';
comment on column sherlock.match.has_conflict is 'The identities of the two documents differ.';
comment on column sherlock.match.evidence is
'found_by: levels that retrieved it. entities: what is shared and what differs. absent: levels '
'that could not be scored. capped_from: class before a conflict capped it.';
comment on type sherlock.detection is
'The verdict on a document: recommended action, top candidates, counts by class and latency.';
comment on column sherlock.detection.document_id is 'The document that was judged.';
comment on column sherlock.detection.recommended_action is 'REJECT, REVIEW or ACCEPT.';
comment on column sherlock.detection.candidates is
'Matches, best first: objects with the columns of sherlock.match.';
comment on column sherlock.detection.total_checked is 'Candidates whose levels were scored.';
comment on column sherlock.detection.high_confidence_count is 'Matches that are EXACT or HIGH.';
comment on column sherlock.detection.medium_confidence_count is 'Matches that are MEDIUM.';
comment on column sherlock.detection.low_confidence_count is 'Matches that are LOW.';
comment on column sherlock.detection.level_scores is
'Best score of each level over the candidates: minhash, tfidf, entity.';
comment on column sherlock.detection.short_circuited is
'True if an exact copy ended the search before the fuzzy levels.';
comment on column sherlock.detection.total_latency_ms is 'Time of the search in milliseconds.';
comment on column sherlock.detection.hot_band_keys is
'Band keys of the text that are shared by more documents than were read, at least this many; 0 if '
'level 1 was read completely.';
comment on type sherlock.containment is
'A document that another one contains, or is contained in, and where.';
comment on column sherlock.containment.document_id is 'The document that was found.';
comment on column sherlock.containment.name is 'Its name.';
comment on column sherlock.containment.containment is
'Share of the distinct shingles of the contained text that stand in the passage, 0 to 1, four digits; '
'boilerplate is left out.';
comment on column sherlock.containment.container_share is
'Share of the container that the passage makes up, 0 to 1.';
comment on column sherlock.containment.shared_shingles is
'Distinct shingles of the contained text in the passage.';
comment on column sherlock.containment.shingle_count is 'Distinct shingles of the contained text.';
comment on column sherlock.containment.first_word is
'First word of the passage in the container, from 1: words of its canonical text.';
comment on column sherlock.containment.last_word is 'Its last word.';
comment on column sherlock.containment.start_offset is
'First character of the passage in the container''s text, from 0.';
comment on column sherlock.containment.end_offset is 'Character after the last.';
comment on column sherlock.containment.sample is 'The beginning of the passage, on one line.';
comment on column sherlock.containment.hot_keys is
'Of what was looked up, how much so many documents share that not all were looked at.';
