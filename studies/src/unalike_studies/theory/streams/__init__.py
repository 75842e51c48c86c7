"""Theory of learning from data streams: bounds, the trade-off they leave, and its constants."""
