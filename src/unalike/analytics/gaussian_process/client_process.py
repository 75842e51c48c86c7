"""One client's Gaussian process posterior, in the units of its data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...typing import Float64s
from ..forecast import Forecast, r_squared
from .maximum_likelihood import refine_likelihood
from .posterior import Posterior
from .scaling import InputScaling, OutputScaling


@dataclass(frozen=True)
class ClientProcess:
    """A client's Gaussian process: the shared prior after it has seen this client's rows."""

    posterior: Posterior
    inputs: InputScaling
    outputs: OutputScaling

    def predict(
        self, x: Any, return_std: bool = False, interval: float | None = None, noisy: bool = True
    ) -> Any:
        """Means of new observations at rows x, in the client's units.

        Args:
            x: Rows of inputs.
            return_std: Whether standard deviations are returned, too.
            interval: The level of intervals, which are returned last; None for none.
            noisy: Whether deviations are those of new observations; otherwise, of the function itself.
        """
        return self.forecast(x, noisy).answer(return_std, interval)

    def forecast(self, x: Any, noisy: bool = True) -> Forecast:
        """Observations at rows x, or the function itself."""
        found = self.posterior.predict(self.inputs.scaled(x))
        return Forecast(self.outputs.mean + self.outputs.sd * found.mean, self.outputs.sd * found.std(noisy))

    def score(self, x: Any, y: Any) -> float:
        """The share of variance that is explained (R^2)."""
        return r_squared(self.predict(x), y)

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
