"""PaperResults against the paper: tables, differences, curves and claims, from the rows of a folder of results."""
