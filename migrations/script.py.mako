"""${message}

Locks: which tables, how long? Rewrites: which? Does the code of the release before still run on
it? A revision never reads a file of sql/: those are re-run after the last revision.

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    raise NotImplementedError("roll forward: restore a backup to go back")
