"""Overlay designers, one per file: star, ring, spanning trees, MATCHA, and a search."""
