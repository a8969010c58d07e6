"""Boilerplate: versioned lists of shingles that a scheme leaves out.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Boilerplate: versioned lists of shingles that a scheme leaves out."""


def downgrade() -> None:
    """Refuse: revisions roll forward."""
    raise NotImplementedError("roll forward: restore a backup to go back")
