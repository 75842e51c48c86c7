"""Means, variances, correlations and principal components of all rows, exactly, from sums.

Sums about the means of several sets of rows make those of all (:mod:`...data.merged_moments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ...data.merged_moments import RowMoments
from ...errors import DataError
from ...typing import Float64s
from .questions import Nodes, Question


@dataclass(frozen=True)
class Products:
    """Count, means, and sums of products about the means."""

    count: float
    means: Float64s
    products: Float64s

    def __add__(self, other: Products) -> Products:
        ours, theirs = (RowMoments(one.count, one.means, one.products) for one in (self, other))
        return Products(*ours.merge(theirs))

    @property
    def covariance(self) -> Float64s:
        """With one less than the count below, as for a sample."""
        return self.products / (self.count - 1) if self.count > 1 else np.full_like(self.products, np.nan)

    @property
    def correlation(self) -> Float64s:
        """NaN for columns that do not vary."""
        spread = np.sqrt(np.diag(self.products))
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.products / np.multiply.outer(spread, spread)


@dataclass(frozen=True)
class Moments:
    """Count, mean and standard deviation of number columns, together and by client."""

    names: tuple[str, ...]
    count: Float64s
    mean: Float64s
    std: Float64s
    by_client: dict[str, Float64s]
    """Rows (count, mean, sum of squares about the mean) of every column, for each client that told them."""


def ask_moments(nodes: Nodes, columns: Sequence[str]) -> Moments:
    """Counts, means and standard deviations over the rows of all nodes that tell them."""
    if not columns:
        return Moments((), np.zeros(0), np.zeros(0), np.zeros(0), {})
    answers = nodes.ask(Question("moments", {"columns": list(columns)}))
    told = {name: answer.arrays["moments"] for name, answer in answers.items()}
    merged = [add_up(_single(rows[j]) for rows in told.values()) for j in range(len(columns))]
    variances = np.array([float(one.covariance[0, 0]) for one in merged])
    count, mean = (np.array([f(one) for one in merged]) for f in (lambda one: one.count, _first_mean))
    return Moments(tuple(columns), count, np.where(count > 0, mean, np.nan), np.sqrt(variances), told)


def ask_products(nodes: Nodes, columns: Sequence[str]) -> Products:
    """Products about the means, over all rows without a missing value in any of the columns."""
    answers = nodes.ask(Question("products", {"columns": list(columns)}))
    parts = [
        Products(float(a.words["count"]), a.arrays["means"], a.arrays["products"]) for a in answers.values()
    ]
    found = add_up(parts)
    if not found.count:
        raise DataError(f"no node tells of rows in which {', '.join(columns)} are all there.")
    return found


@dataclass(frozen=True)
class PrincipalComponents:
    """Directions in which the rows of all clients vary most."""

    names: tuple[str, ...]
    variances: Float64s
    """Of the components, largest first."""
    loadings: Float64s
    """One component per column; of standardized columns unless asked otherwise."""

    @property
    def shares(self) -> Float64s:
        """Which part of all variance each component explains."""
        return self.variances / self.variances.sum()


def principal_components(
    nodes: Nodes, columns: Sequence[str], standardized: bool = True
) -> PrincipalComponents:
    """The principal components of all rows without missing values, exactly those of the pooled rows."""
    return components_of(tuple(columns), ask_products(nodes, columns), standardized)


def components_of(columns: Sequence[str], found: Products, standardized: bool = True) -> PrincipalComponents:
    """Principal components, from products about the means."""
    matrix = found.correlation if standardized else found.covariance
    if not np.isfinite(matrix).all():
        flat = [name for name, value in zip(columns, np.diag(found.products), strict=True) if not value > 0]
        raise DataError(f"{', '.join(flat) or 'a column'} does not vary, so that it cannot be standardized.")
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(columns))])
    return PrincipalComponents(tuple(columns), np.maximum(values[order], 0.0), vectors * signs)


def add_up(parts: Iterable[Products]) -> Products:
    """Products of all rows, from those of several sets of rows."""
    return reduce(Products.__add__, [part for part in parts if part.count > 0] or [_single(np.zeros(3))])


def _single(row: Float64s) -> Products:
    return Products(float(row[0]), np.array([row[1]]), np.array([[row[2]]]))


def _first_mean(one: Products) -> float:
    return float(one.means[0])
