"""From words to runs: configuration, building, comparison, tuning and restarts."""
