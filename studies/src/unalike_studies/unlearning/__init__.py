"""The published claims on provable unlearning, as a study."""
