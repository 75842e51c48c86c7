"""Theory of intermittent clients: optimization error and mixing rate."""
