"""The published claims on data streams, as a study."""
