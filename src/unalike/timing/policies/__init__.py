"""Aggregation policies: asynchronous, FedFix, FedBuff, and cohorts with deadlines."""
