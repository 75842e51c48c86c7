"""Unlearning: removing a client's influence, with a certificate."""
