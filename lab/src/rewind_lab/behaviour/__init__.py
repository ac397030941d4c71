"""How the policies that make the rebuilt data were trained and chosen."""
