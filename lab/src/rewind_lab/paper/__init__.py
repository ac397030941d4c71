"""The paper, rerun: what to train (data files), a runner that survives, one table of results."""
