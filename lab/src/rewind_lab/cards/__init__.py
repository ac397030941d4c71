"""Data cards: pages of the rebuilt data sets beside what is published of D4RL's, and how like those they are."""
