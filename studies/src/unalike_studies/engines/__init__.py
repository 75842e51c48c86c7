"""The published claims on engines, as a study."""
