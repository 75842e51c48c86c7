"""Trust: who is honest, which rules bear those who are not, and how a client is taken back."""
