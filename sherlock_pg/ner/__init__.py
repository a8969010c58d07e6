"""Parties and identifiers in Spanish legal texts: rules first, an optional model second."""
