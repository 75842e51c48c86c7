"""The published claims on fairness between clients and groups, as a study."""
