-- What the dashboard may read: the queue's views, and of the tables below them no text and no file.
-- Run by the owner of the schema, after the role was made: create role sherlock_grafana login;
grant usage on schema sherlock to sherlock_grafana;
grant select on
    sherlock.queue_status, sherlock.workers, sherlock.dead_items, sherlock.failures_by_day,
    sherlock.ingest_throughput, sherlock.gate_savings, sherlock.vocabulary_status
to sherlock_grafana;
-- measure_throughput and measure_gate_savings read these in the name of who calls them.
grant select (collection_id, name) on sherlock.collections to sherlock_grafana;
grant select (document_id, page_count, processing) on sherlock.documents to sherlock_grafana;
grant select (
    collection_id, state, gate, document_id, file_size_bytes, enqueued_at, started_at, finished_at)
on sherlock.inbox to sherlock_grafana;
