"""sherlock-pg: near-duplicate detection that lives inside PostgreSQL."""

__version__ = "0.1.0"
