"""When the server aggregates: asynchronous, FedFix, FedBuff, and cohorts with deadlines."""
