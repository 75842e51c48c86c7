"""What a change of clients does to their similarity graph, by formulas and by simulation."""
