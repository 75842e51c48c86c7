"""Voting rule of kNN-Per: k, the kernel and its scale, free for every client."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConfigError, unknown
from ..models import Task
from ..typing import Array, Float32s
from .kernels import check_sigma, kernel_registry, median_sigma, weights
from .knn_voting import neighbor_prediction
from .neighbors import METHODS, Neighbors, search, search_others


@dataclass(frozen=True)
class Rule:
    """The k nearest rows, counted by a kernel."""

    k: int = 10
    kernel: str = "euclid"
    sigma: float | str = 1.0
    method: str = "auto"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"k must be at least 1, but is {self.k}.")
        kernel_registry[self.kernel]
        check_sigma(self.sigma)
        if self.method not in METHODS:
            raise unknown("search method", self.method, METHODS)

    def find(self, keys: Float32s, queries: Float32s) -> tuple[Neighbors, Float32s]:
        """The neighbors of some queries, and what each of them counts."""
        return self._counted(keys, search(keys, queries, self.k, self.method))

    def ask(self, task: Task, keys: Float32s, labels: Array, queries: Float32s, like: Float32s) -> Float32s:
        """What the neighbors of some queries say, in the form of other predictions (`like`)."""
        found, counted = self.find(keys, queries)
        return neighbor_prediction(task, counted, labels[found.rows], like)

    def ask_others(self, task: Task, keys: Float32s, labels: Array, like: Float32s) -> Float32s:
        """What the other rows say of each row."""
        found, counted = self._counted(keys, search_others(keys, self.k, self.method))
        return neighbor_prediction(task, counted, labels[found.rows], like)

    def _counted(self, keys: Float32s, found: Neighbors) -> tuple[Neighbors, Float32s]:
        return found, weights(found.distances, self.kernel, self._scale(keys), keys.shape[1])

    def _scale(self, keys: Float32s) -> float:
        """sigma; a median is that of the store's own neighbors, whatever the queries are."""
        if isinstance(self.sigma, str):
            return median_sigma(keys, self.k, self.kernel, self.method)
        return float(self.sigma)
