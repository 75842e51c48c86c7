"""Secure sums: a server that analyzes tables and sees no single node's answer."""
