"""Unlearning: a client is taken back, with a certificate of what that means."""
