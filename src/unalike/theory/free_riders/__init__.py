"""Free-riders: what clients that do nothing do to everybody else's training, in closed form."""
