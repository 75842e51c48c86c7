"""Clustered sampling by size: one client from each of m groups of similar size.

It needs nothing but the sizes: clients lie on a line, largest first, which is cut into m equal stretches
(Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling", 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.random import bits
from ...typing import Float64s
from .base import sampler_registry
from .clustered import Clustered
from .distributions import ClusterDistributions, integer_sizes


@sampler_registry.add("clustered-size")
@dataclass(frozen=True, kw_only=True)
class ClusteredBySize(Clustered):
    """One from each of m groups of similar size; weights count/m, unbiased, summing to one.

    >>> ClusteredBySize(per_round=2).matrix(np.array([0.2, 0.5, 0.3]))
    array([[0. , 1. , 0. ],
           [0.4, 0. , 0.6]])
    """

    def line(self, importance: Float64s) -> ClusterDistributions:
        """Clients from the largest to the smallest, equal ones in random order.

        In the order of their numbers, which are often sorted by class, groups would know the classes.
        """
        amounts = self.per_round * integer_sizes(importance, self.per_round, self.sizes)
        order = np.lexsort((bits(self.seed, "size ties", np.arange(len(amounts))), -importance))
        order = order[amounts[order] > 0]
        return ClusterDistributions(order, amounts[order], self.per_round, len(importance))
