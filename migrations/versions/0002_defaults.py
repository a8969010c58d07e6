"""The rows that a new database starts with: the schemes, a collection, the configurations.

The entries of the projection and of the folding are +1 or -1, chosen by a hash: the same on every
server, without a file. Locks nothing that anybody uses yet.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_SCHEMES = """
insert into sherlock.shingle_schemes
    (name, shingle_kind, shingle_width, min_shingles)
values ('word-2', 'word', 2, 20), ('skeleton-2', 'skeleton', 2, 20)
"""

_COLLECTION = """
insert into sherlock.collections (name, profile, scheme_id)
select 'default', 'legal', scheme_id from sherlock.shingle_schemes where name = 'skeleton-2'
"""

_CONFIGS = """
insert into sherlock.detection_configs
    (doc_type, high_threshold, medium_threshold, low_threshold, conflict_cap)
values
    ('default', 0.80, 0.65, 0.50, null),
    ('tutela', 0.85, 0.70, 0.50, 'LOW'),
    ('habeas_corpus', 0.90, 0.75, 0.60, 'LOW')
"""

_PROJECTION = """
insert into sherlock.tfidf_projection (dimension, directions)
select d.dimension,
       array_agg(
           (case when (hashint8extended(f.position, d.dimension) >> 32) & 1 = 0
                 then 1 else -1 end)::real
           order by f.position)::vector(1000)
from generate_series(1, 512) as d(dimension)
cross join generate_series(1, 1000) as f(position)
group by d.dimension
"""

_FOLDING = """
insert into sherlock.tfidf_folding (block, signs)
select b.block,
       array_agg(
           (case when (hashint8extended(f.position, -b.block) >> 32) & 1 = 0
                 then 1 else -1 end)::real
           order by f.position)::vector(1000)
from generate_series(1, 5) as b(block)
cross join generate_series(1, 1000) as f(position)
group by b.block
"""


def upgrade() -> None:
    """Insert the rows."""
    op.execute(_SCHEMES)
    op.execute(_COLLECTION)
    op.execute(_CONFIGS)
    # Read as they lie, without a toast table between.
    op.execute("alter table sherlock.tfidf_projection set (toast_tuple_target = 8160)")
    op.execute("alter table sherlock.tfidf_folding set (toast_tuple_target = 8160)")
    op.execute(_PROJECTION)
    op.execute(_FOLDING)


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
