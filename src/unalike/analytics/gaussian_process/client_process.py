"""What does one client predict, in its own units?  (A posterior with the scalings around it.)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import DataError
from ...typing import Float64s
from .maximum_likelihood import refine_likelihood
from .posterior import Posterior
from .scaling import InputScaling, OutputScaling


@dataclass(frozen=True)
class ClientProcess:
    """A client's Gaussian process: the shared prior after it has seen this client's rows."""

    posterior: Posterior
    inputs: InputScaling
    outputs: OutputScaling

    def predict(self, x: Any, return_std: bool = False, noisy: bool = True) -> Any:
        """Means of new observations (and their standard deviations) at rows x, in the client's units; with
        `noisy=False`, deviations of the function itself."""
        found = self.posterior.predict(self.inputs.scaled(x))
        mean = self.outputs.mean + self.outputs.sd * found.mean
        return (mean, self.outputs.sd * found.std(noisy)) if return_std else mean

    def score(self, x: Any, y: Any) -> float:
        """The share of variance that is explained (R^2)."""
        y = np.asarray(y, np.float64).reshape(-1)
        if len(y) < 2 or not np.ptp(y):
            raise DataError("R^2 needs at least two different outputs.")
        return float(1 - np.mean((y - self.predict(x)) ** 2) / np.var(y))

    def rows(self) -> tuple[Float64s, Float64s]:
        """The rows that it has seen, in the client's units."""
        seen = self.posterior
        return self.inputs_of(seen.x), self.outputs.mean + self.outputs.sd * seen.y

    def refined(self, iterations: int = 10) -> ClientProcess:
        """The same rows with hyper-parameters of their own: a few steps of L-BFGS from the shared ones, for a
        client that is unlike the others."""
        seen = self.posterior
        best = refine_likelihood(seen.kernel, seen.params, (seen.x, seen.y), iterations)
        return replace(self, posterior=replace(seen, params=best.params))

    def inputs_of(self, scaled: Float64s) -> Float64s:
        """Scaled rows in the units that they came in."""
        return scaled * self.inputs.span + self.inputs.low
