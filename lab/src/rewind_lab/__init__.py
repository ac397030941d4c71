"""The lab of Rewind: the paper rerun, how behaviour policies are trained, what things cost. Imports `rewind`."""
