"""The published claims on client sampling, as a study."""
