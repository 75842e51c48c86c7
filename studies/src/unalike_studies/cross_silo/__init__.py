"""The published claims on centers with natural differences, as a study."""
