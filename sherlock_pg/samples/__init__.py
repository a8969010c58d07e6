"""Sample documents: invented filings, their near-duplicates and their look-alikes."""
