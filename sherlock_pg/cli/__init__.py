"""Command line: one module per command, `main` is the entry point."""
