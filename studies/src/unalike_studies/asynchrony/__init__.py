"""The published claims on asynchronous training and FedFix, as a study."""
