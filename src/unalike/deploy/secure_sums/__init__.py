"""Secure sums: a server that analyzes tables and sees no node's own answer."""
