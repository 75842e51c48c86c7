"""Rows of the study of privacy audits: baskets of binary features whose classes are clusters.

The recipe of Purchase100 without its customers: 600 products that a basket has or has not, and classes that
k-means finds among the baskets (Shokri, Stronati, Song and Shmatikov, "Membership Inference Attacks Against
Machine Learning Models", 2017). Baskets follow a few latent tastes,

    P(product j in basket i)  =  sigmoid(z_i . a_j + b_j),

so that clusters can be learned from few rows, and a network fits what it has seen better than the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.federation import assemble
from unalike.models import Task, mlp
from unalike.typing import Array

FEATURES, TASTES = 600, 20
_TEST_PART = 2


@dataclass(frozen=True)
class Sizes:
    """How large the study is."""

    rows: int
    """Of the training set, and of the reference set."""
    others: int
    classes: int
    hidden: int


FULL, QUICK = Sizes(2000, 4000, 100, 128), Sizes(400, 800, 20, 64)


def draw_baskets(rows: int, classes: int, seed: int) -> tuple[Array, Array]:
    """Binary features, and the cluster of every row.

    >>> x, y = draw_baskets(200, 5, 0)
    >>> x.shape, sorted(set(x.ravel().tolist())), len(set(y.tolist()))
    ((200, 600), [0.0, 1.0], 5)
    """
    from sklearn.cluster import KMeans

    draws = generator(seed, "baskets")
    tastes = draws.normal(size=(TASTES, FEATURES)) / np.sqrt(TASTES) * 1.5
    scores = draws.normal(size=(rows, TASTES)) @ tastes + draws.normal(size=FEATURES) - 1.5
    x = (draws.random(scores.shape) < 1 / (1 + np.exp(-scores))).astype(np.float32)
    with threadpool_limits(1, "openmp"):
        clusters = KMeans(classes, n_init=1, max_iter=50, random_state=seed).fit_predict(x)
    return x, clusters.astype(np.int32)


def study_rows(sizes: Sizes, seed: int) -> Federation:
    """One client, whose training rows, reference rows (the last half of what it trains on) and test rows are
    drawn alike."""
    total = 2 * sizes.rows + sizes.others
    x, y = draw_baskets(total, sizes.classes, seed)
    tested = np.arange(total) >= 2 * sizes.rows
    parts = np.where(tested, _TEST_PART, 0).astype(np.int8)
    return Federation(*assemble(x, y, np.zeros(total, np.int64), parts, 1), classes=sizes.classes)


def study_task(sizes: Sizes) -> Task:
    """One hidden layer, large enough to fit its rows by heart."""
    return Task.classification(
        mlp(sizes.hidden, input_shape=(FEATURES,), outputs=sizes.classes), classes=sizes.classes
    )
