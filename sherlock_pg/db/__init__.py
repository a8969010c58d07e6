"""Database access: connections, schema installation, typed calls of the SQL functions."""
