"""The published claims on linear models of related devices, as a study."""
