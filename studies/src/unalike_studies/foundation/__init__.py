"""The published claims on the foundations, as a study."""
