"""Full-batch gradient steps of HM1 and its rivals in closed form, for many settings.

In the eigenvectors of X'X / n, with eigenvalues g and c = X'y / n, so many steps of gradient descent on the
mean squared error are one linear map,

    z  <-  (1 - 2 rate g)^steps z  +  (1 - (1 - 2 rate g)^steps) c / g

or, without the division by n, on the sum of squares, as HM1 is printed. The rounds are those of
:class:`unalike.analytics.hierarchical.HM1` with all rows in every step, which the study checks; here they
take milliseconds, so that hyper-parameters can be chosen on validation rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unalike.analytics.design import Design
from unalike.typing import Float64s


@dataclass(frozen=True)
class Spectra:
    """All devices' problems in their own eigenvectors (leading axis: devices)."""

    values: Float64s
    vectors: Float64s
    along: Float64s

    @classmethod
    def of(cls, design: Design, summed: bool = False) -> Spectra:
        """Of the training rows: of the mean over them, or of their sum."""
        rows = [design.client(i) for i in range(len(design))]
        sizes = np.array([1.0 if summed else len(y) for _, y in rows])
        grams = [x.T @ x / n for n, (x, _) in zip(sizes, rows, strict=True)]
        values, vectors = np.linalg.eigh(np.stack(grams))
        products = [x.T @ y / n for n, (x, y) in zip(sizes, rows, strict=True)]
        along = np.einsum("kij,ki->kj", vectors, np.stack(products))
        return cls(np.maximum(values, 0), vectors, along)

    def descend(
        self, models: Float64s, rate: float, steps: int, anchor: Float64s | None = None, lam: float = 0.0
    ) -> Float64s:
        """All devices' models after so many steps; with `lam`, of the loss plus lam/2 |v - anchor|^2."""
        values, along = self.values + lam / 2, self.along
        if anchor is not None:
            along = along + lam / 2 * self._into(anchor)
        kept = (1 - 2 * rate * values) ** steps
        gained = np.where(values > 1e-14, (1 - kept) / np.where(values > 1e-14, values, 1), 2 * rate * steps)
        return np.einsum("kij,kj->ki", self.vectors, kept * self._into(models) + gained * along)

    def _into(self, models: Float64s) -> Float64s:
        return np.einsum("kij,ki->kj", self.vectors, np.broadcast_to(models, self.along.shape))


def hm1_models(
    spectra: Spectra,
    rounds: int,
    steps: int,
    rate: float,
    damping: float,
    prior_rate: float | Float64s,
    start: Float64s,
    history: list[Float64s] | None = None,
) -> Float64s:
    """The models of HM1 with the prior felt once per round; `history` is given those after every round."""
    devices, width = spectra.along.shape
    models = start
    covariance, floor = np.eye(devices), 1e-6 if damping >= 0.5 else 1e-8
    for _ in range(rounds):
        regular = covariance + floor * np.trace(covariance) / devices * np.eye(devices)
        change = 2 * np.reshape(prior_rate, (-1, 1)) * np.linalg.solve(regular, models)
        models = spectra.descend(models, rate, steps)
        length, most = np.linalg.norm(change, axis=1), np.linalg.norm(models, axis=1)
        models = models - np.where(length > most, most / np.maximum(length, 1e-300), 1.0)[:, None] * change
        covariance = (1 - damping) * covariance + damping / width * models @ models.T
        if history is not None:
            history.append(models)
    return models


def separate_models(spectra: Spectra, rounds: int, steps: int, rate: float, start: Float64s) -> Float64s:
    """Every device alone, as many steps."""
    return spectra.descend(start, rate, rounds * steps)


def fedavg_models(spectra: Spectra, rounds: int, steps: int, rate: float, start: Float64s) -> Float64s:
    """The unweighted mean after every round, for everyone; all begin with the first device's start."""
    models = np.tile(start[0], (len(start), 1))
    for _ in range(rounds):
        models = np.tile(spectra.descend(models, rate, steps).mean(axis=0), (len(models), 1))
    return models


def ditto_models(
    spectra: Spectra, rounds: int, steps: int, rate: float, start: Float64s, lam: float
) -> Float64s:
    """FedAvg, then as many steps of each device near its model."""
    shared = fedavg_models(spectra, rounds, steps, rate, start)
    return spectra.descend(shared, rate, rounds * steps, shared, lam)
