"""Generated data like Purchase100: shopping baskets of binary features whose classes are clusters.

The recipe of Purchase100 without its customers: products that a basket has or has not, and classes that
k-means finds among the baskets (Shokri, Stronati, Song and Shmatikov, "Membership Inference Attacks Against
Machine Learning Models", 2017). Baskets follow a few latent tastes,

    P(product j in basket i)  =  sigmoid(z_i . a_j + b_j),

so that clusters can be learned from few rows, and a network fits what it has seen better than the rest.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Array
from .source import Source, check_memory, source_registry

PRODUCTS, TASTES, DEFAULT_ROWS = 600, 20, 8000
_SPREAD, _RARITY = 1.5, 1.5
"""Of tastes, and how much rarer than even a product is."""


@source_registry.add("purchase_like")
def purchase_like(
    classes: int = 100, products: int = PRODUCTS, *, samples: int | None = None, seed: int = 0
) -> Source:
    """Generated baskets of 600 binary products in 100 classes by k-means, the recipe of Purchase100."""
    rows = DEFAULT_ROWS if samples is None else samples
    if not 2 <= classes <= rows:
        raise ConfigError(f"classes must be at least 2 and at most {rows} (the rows), but is {classes}.")
    if products < 1:
        raise ConfigError(f"products must be at least 1, but is {products}.")
    x, y = draw_baskets(rows, classes, seed, products)
    return Source(x, y, classes, description="generated baskets, by the recipe of Purchase100")


def draw_baskets(rows: int, classes: int, seed: int, products: int = PRODUCTS) -> tuple[Array, Array]:
    """Binary features, and the cluster of every row.

    Args:
        rows: how many baskets.
        classes: how many clusters k-means looks for.
        seed: the same seed draws the same baskets.
        products: how many features.

    >>> x, y = draw_baskets(200, 5, 0)
    >>> x.shape, sorted(set(x.ravel().tolist())), len(set(y.tolist()))
    ((200, 600), [0.0, 1.0], 5)
    """
    from sklearn.cluster import KMeans

    check_memory(3 * 8 * rows * products)  # scores, their probabilities and random numbers
    draws = generator(seed, "baskets")
    tastes = draws.normal(size=(TASTES, products)) / np.sqrt(TASTES) * _SPREAD
    scores = draws.normal(size=(rows, TASTES)) @ tastes + draws.normal(size=products) - _RARITY
    x = (draws.random(scores.shape) < 1 / (1 + np.exp(-scores))).astype(np.float32)
    with threadpool_limits(1, "openmp"):
        clusters = KMeans(classes, n_init=1, max_iter=50, random_state=seed).fit_predict(x)
    return x, clusters.astype(np.int32)
