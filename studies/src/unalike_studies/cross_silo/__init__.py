"""The published claims on centres with natural differences, as a study."""
