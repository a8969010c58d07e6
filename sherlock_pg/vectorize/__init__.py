"""Bulk paths for signatures and TF-IDF vectors, equal to what the SQL functions compute."""
