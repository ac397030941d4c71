"""Results against the paper: tables, differences, curves, claims, from the rows of `rewind.experiments.paper.results`."""
