"""Behaviours: what clients do that are not honest, for tests of servers. Off unless asked for."""
