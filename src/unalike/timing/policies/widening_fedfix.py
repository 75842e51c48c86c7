"""FedFix with a widening window: the server aggregates ever more rarely (Fraboni, Vidal, Kameni and Lorenzi,
"A General Theory for Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023).

Narrow windows are quick in the beginning, wide ones have no old results near the optimum. Clients report
together after every W = lcm_i c_i steps, c_i = ceil(tau_i / window): there the window can change without a
client that counts more than it should, because weights d_i = c_i p_i are constant within a period and made
anew for the next. A window as wide as the slowest client's time waits for everyone, and stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, isfinite, lcm
from typing import ClassVar, NamedTuple

import numpy as np

from ...errors import ConfigError
from ...typing import Array
from ..base import Clients, Traits, timing_registry
from ..clock.jobs import Jobs
from .fedfix import FedFix

LONGEST_STAGE = 10**7
"""Steps after which a window must have been widened, or it never would be."""

LEAST_FACTOR = 1.01


class Stage(NamedTuple):
    """A window, in ticks, and for how many steps it stays."""

    width: int
    steps: float


def widening(jobs: Sequence[int], first: int, factor: Fraction, periods: int = 1) -> list[Stage]:
    """The windows from the first to the slowest job, all in ticks, and how long each stays.

    >>> widening([45, 25, 9], first=9, factor=Fraction(2))
    [Stage(width=9, steps=15), Stage(width=18, steps=6), Stage(width=36, steps=2), Stage(width=45, steps=inf)]
    """
    stages, width, slowest = [], first, max(jobs)
    while width < slowest:
        steps = periods * lcm(*(-(-job // width) for job in jobs))
        if steps > LONGEST_STAGE:
            raise ConfigError(
                f"a window of {width / slowest:.3g} of the slowest client's time would stay for {steps:.1e} "
                f"steps, more than {LONGEST_STAGE:.0e}; begin with a wider one, or ask for fewer periods."
            )
        stages.append(Stage(width, steps))
        width = min(ceil(width * factor), slowest)
    return [*stages, Stage(width, inf)]


@timing_registry.add("fedfix-widening")
@dataclass
class WideningFedFix(FedFix):
    """FedFix whose window grows with every period until all are waited for; `fedfix-widening:0.2,1.5,10` has
    windows 1.5 times as wide after every ten periods."""

    traits: ClassVar[Traits] = FedFix.traits._replace(changes=True)

    factor: float | Fraction = 2.0
    periods: int = 1

    def __post_init__(self) -> None:
        if not (isfinite(self.factor) and self.factor >= LEAST_FACTOR):
            raise ConfigError(
                f"a window is widened by a factor of at least {LEAST_FACTOR}, but here by {self.factor}."
            )
        if not (self.periods >= 1 and self.periods == int(self.periods)):
            raise ConfigError(f"a window stays for whole periods, at least one, but here {self.periods}.")
        super().__post_init__()

    def width(self) -> int:
        return self.stages[self.stage].width

    def wait(self) -> tuple[int, list[int]]:
        if self.done == self.stages[self.stage].steps:
            self._enter(self.stage + 1)
        self.done += 1
        return super().wait()

    def _begin_real(self, clients: Clients, jobs: Jobs) -> None:
        raise ConfigError(
            "fedfix-widening needs known client periods, which real clients do not have; use fedfix."
        )

    def _begin_with(self, jobs: Jobs) -> None:
        if not self.times.fixed:
            raise ConfigError(
                "a window is widened after whole periods, which random times do not have; use fixed times, "
                "such as hardware spread:80, or fedfix, whose window stays."
            )
        self.jobs = jobs
        self.stages, self.stage, self.done = self._planned(), 0, 0
        super()._begin_with(jobs)

    def _planned(self) -> list[Stage]:
        lasting = self._fixed_ticks()
        if self.jobs.longest is not None:
            lasting = np.minimum(lasting, self.jobs.longest)
        first, factor = self.ticks(self.window), Fraction(str(self.factor))
        return widening(lasting.tolist(), first, factor, int(self.periods))

    def _enter(self, stage: int) -> None:
        """Go on with another window; what was known of how often clients report belongs to the last one."""
        self.stage, self.done, mode = stage, 0, self.weighing.mode
        self.weighing = self._weighing(self.clients.importance)
        self.weighing.mode = mode

    def state(self) -> dict[str, Array]:
        return {**super().state(), "stage": np.array(self.stage), "done": np.array(self.done)}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._enter(int(state["stage"]))
        self.done = int(state["done"])
        super().restore(state)
