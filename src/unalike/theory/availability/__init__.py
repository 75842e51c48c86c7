"""Theory of clients that come and go: optimisation error and mixing rate."""
