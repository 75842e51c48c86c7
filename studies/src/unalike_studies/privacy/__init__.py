"""The claims on what models leak of training and reference rows, as a study."""
