"""Federations on disk: one file per client (CSV, Parquet, NumPy), agreement between files, and a store."""
