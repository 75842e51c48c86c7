"""Federated k-means with k-means++ seeds, to initialize the components of a mixture.

Lloyd's steps need of every client only the counts and sums of the rows next to each center, the very messages
of :mod:`.gaussian_mixture`. Seeds are those of k-means++ (Arthur, Vassilvitskii, k-means++: The Advantages of
Careful Seeding, 2007), drawn in two stages: a client with chance proportional to its sum of squared distances
from the seeds so far, then one of its rows with chance proportional to its squared distance. The chosen
clients so hand out `components` rows; who must not, starts elsewhere. One start may be bad, so there are
several, and the smallest sum of squared distances wins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ConfigError
from ...typing import Float64s


def federated_kmeans(
    clients: Sequence[Float64s], components: int, seed: int = 0, restarts: int = 20, steps: int = 30
) -> Float64s:
    """Centers (components, dimension) of all clients' rows, the best of several starts."""
    rows = [np.asarray(x, np.float64).reshape(len(x), -1) for x in clients if len(x)]
    if sum(map(len, rows)) < components:
        raise ConfigError(f"k-means needs at least {components} rows for {components} centers.")
    rng = np.random.default_rng(seed)
    starts = [seed_centers(rows, components, rng) for _ in range(restarts)]
    found = [lloyd(rows, start, steps) for start in starts]
    return min(found, key=lambda centers: sum(client_distances(x, centers).sum() for x in rows))


def seed_centers(rows: Sequence[Float64s], components: int, rng: np.random.Generator) -> Float64s:
    """k-means++: each further seed is a row drawn by its squared distance from those before."""
    centers = np.zeros((0, rows[0].shape[1]))
    for _ in range(components):
        far = [client_distances(x, centers) for x in rows]
        totals = np.array([one.sum() for one in far])
        if not totals.sum() > 0:  # fewer different rows than centers
            far = [np.ones(len(x)) for x in rows]
            totals = np.array([float(len(x)) for x in rows])
        chosen = rng.choice(len(rows), p=totals / totals.sum())
        row = rng.choice(len(rows[chosen]), p=far[chosen] / totals[chosen])
        centers = np.vstack([centers, rows[chosen][row]])
    return centers


def lloyd(rows: Sequence[Float64s], centers: Float64s, steps: int) -> Float64s:
    """Steps to the mean of the rows next to each center; a center without rows stays."""
    for _ in range(steps):
        sent = [client_sums(x, centers) for x in rows]
        counts = np.sum([one for one, _ in sent], axis=0)
        sums = np.sum([one for _, one in sent], axis=0)
        new = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.array_equal(new, centers):
            break
        centers = new
    return centers


def client_sums(x: Float64s, centers: Float64s) -> tuple[Float64s, Float64s]:
    """What one client sends: how many rows are next to each center, and their sum."""
    nearest = np.eye(len(centers))[_squares(x, centers).argmin(axis=1)]
    return nearest.sum(axis=0), nearest.T @ x


def client_distances(x: Float64s, centers: Float64s) -> Float64s:
    """Every row's squared distance from the nearest center; one where there is no center yet."""
    return _squares(x, centers).min(axis=1) if len(centers) else np.ones(len(x))


def _squares(x: Float64s, centers: Float64s) -> Float64s:
    return ((x[:, None] - centers) ** 2).sum(axis=-1)
