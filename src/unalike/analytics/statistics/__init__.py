"""Descriptive statistics over all clients' tables: counts, means, quantiles. Rows never leave the clients."""

from .cross_tables import CrossTable, cross_table
from .description import AgreedColumns, Description, agree_on_columns, describe
from .histograms import Histogram, count_in_bins, histogram
from .moments import Moments, PrincipalComponents, Products, ask_moments, ask_products, principal_components
from .quantiles import Quantile, ask_quantiles
from .questions import Answer, LocalNodes, Nodes, Question

__all__ = [
    "AgreedColumns",
    "Answer",
    "CrossTable",
    "Description",
    "Histogram",
    "LocalNodes",
    "Moments",
    "Nodes",
    "PrincipalComponents",
    "Products",
    "Quantile",
    "Question",
    "agree_on_columns",
    "ask_moments",
    "ask_products",
    "ask_quantiles",
    "count_in_bins",
    "cross_table",
    "describe",
    "histogram",
    "principal_components",
]
