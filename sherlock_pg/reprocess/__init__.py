"""Stored documents processed again: other entities, other features, or read again by OCR."""
