"""The published claims on FedEM, as a study."""
