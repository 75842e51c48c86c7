"""Weights for clients that are not always available: CA-Fed, F3AST, AdaFed and unbiased weights."""
