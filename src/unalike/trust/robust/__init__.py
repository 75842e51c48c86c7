"""Robust rules: what the server makes of uploads when some of them may be lies."""
