"""The published claims on personalised methods on real data, as a study."""
