"""The two packages seen from outside: rooms, floors and imports; the walk of a transition; lines of code."""
