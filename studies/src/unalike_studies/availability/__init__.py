"""The published claims on correlated availability and CA-Fed, as a study."""
