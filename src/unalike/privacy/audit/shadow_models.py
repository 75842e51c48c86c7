"""The shadow-model attack.

    features of a row:  its largest confidences, sorted, and that of its label     target:  was it a member?

Shokri, Stronati, Song and Shmatikov, "Membership Inference Attacks Against Machine Learning Models" (2017),
with one classifier for all classes, of boosted trees.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from ...core.random import generator
from ...typing import Bools, Float64s

MOST_ROWS = 50_000
"""Rows of shadow models to learn from, at most."""


def shadow_scores(shapes: Float64s, member: Bools, target: Float64s, seed: int = 0) -> Float64s:
    """Log-odds that rows of the target are members, learned from (rows, features) of shadow models.

    >>> shapes = np.linspace(0, 1, 100)[:, None]
    >>> odds = shadow_scores(shapes, shapes[:, 0] > 0.5, np.array([[0.1], [0.9]]))
    >>> bool(odds[0] < 0 < odds[1])
    True
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    if member.all() or not member.any():
        return np.zeros(len(target))
    rows = generator(seed, "audit shadow").permutation(len(member))[:MOST_ROWS]
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, random_state=seed, early_stopping=False
    )
    prior = np.log(max(int(member[rows].sum()), 1) / max(int((~member[rows]).sum()), 1))
    with threadpool_limits(1, "openmp"):  # threads that wait for each other are slower than one
        trees.fit(shapes[rows], member[rows])
        return np.asarray(trees.decision_function(target), np.float64) - prior
