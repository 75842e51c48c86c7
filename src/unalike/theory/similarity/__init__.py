"""Theory of client similarity: what changes of clients do to their similarity graph."""
