"""Client sampling: who is drawn, with which weights, and the exact statistics of these."""
