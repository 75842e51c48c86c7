"""The engine for a Ray cluster: every worker holds a shard of the clients."""
