"""Documents written to a file, without the duplicates or with the clusters they are in."""
