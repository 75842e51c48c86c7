"""Distribution-shift control: do members and non-members differ even without a model?

A classifier that sees rows and their targets only, and no model, is asked which rows are members. Where it
does better than guessing, the sets were not drawn alike, and an attack's accuracy is in part that difference
and no leak. Forests of Breiman, "Random Forests" (2001); every row is judged by trees that were grown without
its fold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.random import generator
from ...typing import Array, Bools
from .statistics import Rate, clopper_pearson

MOST_ROWS = 2_000
"""Rows that the control looks at, at most."""
_FOLDS = 5


class ShiftControl(NamedTuple):
    """How well a classifier that knows no model tells members."""

    accuracy: Rate

    @property
    def shifted(self) -> bool:
        """Whether the sets differ for certain, as far as the interval goes."""
        return self.accuracy.low > 0.5

    def said(self) -> str:
        """In words."""
        if self.shifted:
            return (
                f"Members and non-members differ without any model ({self.accuracy}): the attacks measure "
                "this difference as well as leakage."
            )
        return f"Without a model, members are told from non-members in {self.accuracy} of cases."


def domain_control(x: Array, y: Array, member: Bools, seed: int = 0) -> ShiftControl | None:
    """Cross-validated accuracy of the control on a balanced set; None with fewer than ten rows of a kind."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    rows = generator(seed, "audit shift").permutation(len(member))[:MOST_ROWS]
    inside = member[rows]
    if min(int(inside.sum()), int((~inside).sum())) < 2 * _FOLDS:
        return None
    table = np.column_stack([x[rows].reshape(len(rows), -1), y[rows].reshape(len(rows), -1)])
    hits = 0
    for learn, judge in StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(table, inside):
        forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed, n_jobs=1)
        hits += int((forest.fit(table[learn], inside[learn]).predict(table[judge]) == inside[judge]).sum())
    return ShiftControl(clopper_pearson(hits, len(rows)))
