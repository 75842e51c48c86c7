"""Leverage accumulated over all answers about a column.

Every answer holds sums of a column times others. All answers about it together are one linear system, whose
columns are everything that it was multiplied by, zero where a row was left out. The leverage of a row in this
system is the largest share that any combination of all answers puts on the row, so the limit holds for many
questions as it does for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...typing import Array, Float64s
from .influence import is_within, largest_leverage
from .policy import DisclosureError

_RANK = 1e-8


class Design(NamedTuple):
    """What was summed in one answer."""

    columns: frozenset[str]
    """The columns of the table that it is about."""
    labels: tuple[str, ...]
    """What the columns of the matrix are."""
    matrix: Float64s
    """One row per row of the table; zero where a row was left out."""
    rests: tuple[tuple[str, Float64s], ...] = ()
    """What a column is multiplied by inside interactions: `log(age)` for income in `income:log(age)`."""


def expand_rows(matrix: Float64s, rows: Array) -> Float64s:
    """A matrix of chosen rows as one of all rows."""
    whole = np.zeros((len(rows), matrix.shape[1]))
    whole[rows] = matrix
    return whole


def check_accumulated(designs: Sequence[Design], new: Design, limit: float) -> None:
    """Raise where a new answer, with those before, would put too much on one row of a column."""
    for name in sorted(new.columns):
        parts = [_multipliers(design, name) for design in (*designs, new) if name in design.columns]
        if not is_within(largest_leverage(np.column_stack(parts), _RANK), limit):
            raise DisclosureError(
                f"with the answers before, this one would give a row of this node a leverage above {limit:g} "
                f"in sums of column {name!r}; repeat an earlier question, or ask for fewer terms."
            )


def _multipliers(design: Design, name: str) -> Float64s:
    """The columns by which a column is multiplied: all that are not made of it, also inside interactions."""
    chosen = [j for j, label in enumerate(design.labels) if not _mentions(label, name)]
    others = design.matrix[:, chosen]
    inside = [rest for column, rest in design.rests if column == name]
    crossed = [rest[:, [j]] * others for rest in inside for j in range(rest.shape[1])]
    return np.column_stack([others, *inside, *crossed])


def _mentions(label: str, name: str) -> bool:
    """Whether a term is made of a column; categories in brackets and parts of longer names are no columns.

    >>> [_mentions(label, "tax") for label in ("log(tax):age", "sex[T.tax]", "tax paid")]
    [True, False, False]
    """
    factors = [re.sub(r"\[[^\[\]]*\]$", "", factor) for factor in label.split(":")]
    return label == name or any(
        name in re.findall(r"\w+", factor) if "(" in factor and name.isidentifier() else factor == name
        for factor in factors
    )
