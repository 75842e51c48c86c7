"""The published claims on FEM-OMD, as a study."""
