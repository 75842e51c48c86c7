"""How do words, dates and gaps become numbers, in the same way at every client and for every new row?"""

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
