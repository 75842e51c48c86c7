"""Free-riders simulated in one dimension, beside the closed forms."""
