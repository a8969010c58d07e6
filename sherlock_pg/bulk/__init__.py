"""Files of many texts: from JSON lines, CSV or Parquet into the tables, in bulk and resumable."""
