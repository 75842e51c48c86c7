"""Theory of clients that come and go: optimization error and mixing rate."""
