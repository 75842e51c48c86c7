"""Theory of free-riders: their effect on training, in closed form."""
