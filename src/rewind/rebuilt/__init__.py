"""Data sets made on the spot: recipes, players, the policies that ship with the package."""
