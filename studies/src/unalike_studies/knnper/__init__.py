"""The published claims on kNN-Per, as a study."""
