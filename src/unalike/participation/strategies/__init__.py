"""Weighting strategies for intermittent clients: CA-Fed, F3AST, AdaFed and unbiased weights."""
