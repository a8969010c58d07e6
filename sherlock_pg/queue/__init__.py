"""The queue of files: sending to it, and the workers that read what is in it."""
