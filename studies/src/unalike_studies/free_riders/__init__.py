"""The published claims on free-riders, as a study."""
