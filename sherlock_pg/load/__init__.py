"""From a folder of files to verdicts: walk, gate, read, store, judge."""
