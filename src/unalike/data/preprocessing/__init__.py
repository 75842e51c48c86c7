"""Preprocessing of tables: encode categories and dates, impute missing values, the same at every client."""

from .column_facts import ColumnFacts, facts_of
from .fit import fit_preparation, needs_preparation
from .preparation import CodedNumbers, CodedWords, Preparation

__all__ = [
    "CodedNumbers",
    "CodedWords",
    "ColumnFacts",
    "Preparation",
    "facts_of",
    "fit_preparation",
    "needs_preparation",
]
