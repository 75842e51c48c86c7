"""Correlations and principal components of numeric columns, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import DataError
from ..summary import Cell, Summary, SummaryTable
from .moments import PrincipalComponents, Products, ask_products, components_of
from .questions import Nodes

MOST_COMPONENTS = 6


@dataclass(frozen=True)
class Relations:
    """Correlations of columns that vary, and their principal components."""

    names: tuple[str, ...]
    products: Products
    components: PrincipalComponents
    flat: tuple[str, ...]
    """Columns that do not vary."""

    def summary(self) -> Summary:
        """As two tables."""
        correlations = SummaryTable(
            "Correlations", ("", *self.names), _rows(self.names, self.products.correlation)
        )
        shown = min(MOST_COMPONENTS, len(self.names))
        shares: tuple[Cell, ...] = ("share of variance", *(float(s) for s in self.components.shares[:shown]))
        loadings = (shares, *_rows(self.names, self.components.loadings[:, :shown]))
        header = ("", *(f"component {j + 1}" for j in range(shown)))
        notes = (f"These do not vary: {', '.join(self.flat)}.",) if self.flat else ()
        facts = (("complete rows", int(self.products.count)),)
        return Summary(
            "Relations", facts, (correlations, SummaryTable("Components", header, loadings)), notes
        )


def relate(nodes: Nodes, columns: Sequence[str]) -> Relations:
    """Correlations and components of number columns, over rows without missing values in any of them."""
    every = ask_products(nodes, columns)
    varies = np.diag(every.products) > 1e-12 * every.count * np.maximum(every.means**2, 1e-300)
    if varies.sum() < 2:
        raise DataError("correlations need two number columns that vary.")
    kept = np.flatnonzero(varies).tolist()
    names = tuple(columns[j] for j in kept)
    products = Products(every.count, every.means[kept], every.products[np.ix_(kept, kept)])
    flat = tuple(columns[j] for j in np.flatnonzero(~varies).tolist())
    return Relations(names, products, components_of(names, products), flat)


def _rows(names: Sequence[str], matrix: np.ndarray) -> tuple[tuple[Cell, ...], ...]:
    return tuple((name, *(round(float(v), 4) for v in row)) for name, row in zip(names, matrix, strict=True))
