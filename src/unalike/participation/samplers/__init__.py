"""Client sampling: samplers, aggregation weights, and their exact statistics."""
