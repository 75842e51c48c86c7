"""Homogeneity sweep over class imbalance and size imbalance of a partition.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), figure 3.5: the same
rows are dealt with more and more class imbalance, with and without data imbalance, and

    hom(class imbalance, data imbalance)

is the mean over seeds, so that the homogeneity of given clients has a scale to be read on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.random import generator
from ...errors import ConfigError, DataError
from ...typing import Float64s, Row
from ..federation import Federation
from ..imbalance import deal_by_imbalance
from .principal_direction import directions_of
from .similarity_graph import similarity_of

CLASS_IMBALANCES = (0.0, 0.5, 1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
DATA_IMBALANCES = (0.0, 1.0)
SEEDS = (0, 1, 41)
"""The knobs and seeds of the figure."""


@dataclass(frozen=True)
class HomogeneitySweep:
    """What homogeneity is for every setting of the knobs."""

    clients: int
    class_imbalances: tuple[float, ...]
    data_imbalances: tuple[float, ...]
    values: Float64s
    """By data imbalance, class imbalance and seed."""

    @property
    def means(self) -> Float64s:
        """Over seeds, by data imbalance and class imbalance."""
        return np.asarray(self.values.mean(axis=2))

    def rows(self) -> list[Row]:
        """A table with a row for each setting."""
        return [
            {
                "class_imbalance": c,
                "data_imbalance": d,
                "homogeneity": float(self.means[i, j]),
                "least": float(self.values[i, j].min()),
                "most": float(self.values[i, j].max()),
            }
            for i, d in enumerate(self.data_imbalances)
            for j, c in enumerate(self.class_imbalances)
        ]


def sweep_homogeneity(
    federation: Federation,
    class_imbalances: tuple[float, ...] = CLASS_IMBALANCES,
    data_imbalances: tuple[float, ...] = DATA_IMBALANCES,
    seeds: tuple[int, ...] = SEEDS,
) -> HomogeneitySweep:
    """Deal the training rows of all clients anew, to as many, with every setting of the knobs."""
    labels = federation.train.y
    if federation.classes is None or labels.ndim > 1:
        raise DataError("class imbalance is of rows with one class each, which these data do not have.")
    if len(federation) < 2:
        raise ConfigError("similarity needs at least two clients; partition the rows into more (--clients).")

    def homogeneity(c: float, d: float, seed: int) -> float:
        pieces = deal_by_imbalance(labels, len(federation), c, d, generator(seed, "imbalance sweep"))
        return similarity_of(directions_of(federation.train.x, pieces)[1]).homogeneity

    values = [[[homogeneity(c, d, s) for s in seeds] for c in class_imbalances] for d in data_imbalances]
    return HomogeneitySweep(len(federation), class_imbalances, data_imbalances, np.array(values))
