"""Measured detection quality: labelled texts through the real search, and what comes of it."""
