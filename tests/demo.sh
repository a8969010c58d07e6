#!/bin/sh
# The demo: an archive is loaded, then what came in today, then the same files once more.
set -eu
documents=$1
collection="demo-$(date +%Y%m%d-%H%M%S)"

say() { printf '\n== %s\n' "$1"; }

# A database that an earlier version left is brought up to date; a new one is made.
sherlock-pg -q db upgrade

say "The archive: $documents/archive (collection $collection)"
sherlock-pg load --collection "$collection" "$documents/archive"

say "What came in today: $documents/incoming"
sherlock-pg load --collection "$collection" "$documents/incoming"

say "The same files once more: nothing is read again"
sherlock-pg -q load --collection "$collection" "$documents/incoming" | tail -n 1

say "What the database knows"
sherlock-pg psql -- -P pager=off -c "
    select name, matched_name, confidence, action, round(final_score::numeric, 2) as score,
           round(minhash_score::numeric, 2) as minhash, round(tfidf_score::numeric, 2) as tfidf,
           round(entity_score::numeric, 2) as entity, has_conflict as conflict
    from sherlock.duplicate_pairs
    where collection = '$collection'
    order by document_id, final_score desc"

cat <<HINT
Go on with:
  .venv/bin/sherlock-pg psql                     then: \\df+ sherlock.*
  .venv/bin/sherlock-pg match FILE --collection $collection
  .venv/bin/sherlock-pg load YOUR_FOLDER
  .venv/bin/sherlock-pg server stop
HINT
