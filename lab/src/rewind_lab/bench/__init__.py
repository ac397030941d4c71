"""Costs, measured side by side: our own variants against each other, and against other libraries."""
