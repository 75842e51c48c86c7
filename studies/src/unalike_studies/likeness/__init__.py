"""The published claims on the similarity of clients, as a study."""
