"""When does the server aggregate?  (What all policies share; each says only how long it waits.)

    send the newest model to clients that do not work
    wait, as the policy says                               -> clients whose results are there
    aggregate them, each relative to the model it was sent

A client has one job at a time, and works undisturbed by aggregations in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar

import numpy as np

from ...core.random import bits
from ...core.spec import Spec
from ...errors import ConfigError, unknown
from ...typing import Array, ClientIds, Float64s
from ..base import NONE, Clients, Draw, Step, Timing, Traits
from ..clock.hardware import Hardware, exact_time, hardware_registry
from ..clock.jobs import Jobs
from ..clock.network_time import NetworkTime, with_network
from ..staleness import MODES, ResultWeights

WITHOUT_FILES = ("equal", "spread", "exponential", "lognormal")
"""Hardware that can be tried before the number of clients is known."""
MILLISECONDS = 1000
"""Ticks in a second, where clients are real."""
FINEST = 10**13
"""Ticks in a unit of time, at most; so 64 bits hold a hundred thousand units."""


@dataclass
class Policy(Timing):
    """A server that waits in some way for clients on some hardware."""

    hardware: str | Hardware = field(default="equal", kw_only=True)
    """How long clients take (`unalike list hardware`)."""
    network: NetworkTime | None = field(default=None, kw_only=True)
    """How long messages take; nothing, when not given."""
    weights: str = field(default="corrected", kw_only=True)
    """`corrected` by how often clients report, `identical`, or corrected `online` by what is seen."""
    staleness: str = field(default="constant", kw_only=True)
    """How results count less with age: `constant`, `polynomial:0.5`, `hinge:10,4`."""
    largest_weight: float = field(default=np.inf, kw_only=True)
    dropout: float = field(default=0.0, kw_only=True)
    """The probability that the result of a job is lost."""
    timeout: float | None = field(default=None, kw_only=True)
    """Jobs that take longer are given up, and their clients start again."""

    traits: ClassVar[Traits] = Traits(by_cohort=False)

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must be at least 0 and below 1, but is {self.dropout}.")
        if self.weights not in MODES:
            raise unknown("weights", self.weights, MODES)
        if not self.largest_weight > 0:
            raise ConfigError(f"the largest weight must be positive, but is {self.largest_weight}.")
        if self.timeout is not None:
            exact_time(self.timeout)
        self.grid()  # refuses times that are none now, not after the data are read
        if isinstance(self.hardware, str) and Spec.parse(self.hardware).name in WITHOUT_FILES:
            hardware_registry.make(self.hardware, clients=1, seed=0)

    # What a policy says -------------------------------------------------------------------------------------

    def wait(self) -> tuple[int, list[int]]:
        """The tick of the next aggregation, and the clients whose results it takes."""
        raise NotImplementedError

    def grid(self) -> list[Fraction]:
        """Times that must fall on ticks."""
        return []

    def uncorrected(self, importance: Float64s) -> Float64s:
        """Weights that do not care how often clients report."""
        raise NotImplementedError

    def frequency(self) -> Float64s | None:
        """How often each client takes part in an aggregation, lost jobs included; None if that is not known
        beforehand."""
        return None

    # What they share ----------------------------------------------------------------------------------------

    def begin(self, clients: Clients) -> None:
        count = len(clients.importance)
        if clients.jobs is not None:
            self._begin_real(clients, clients.jobs)
            return
        times = self.hardware
        if isinstance(times, str):
            times = hardware_registry.make(times, clients=count, seed=clients.seed)
        if len(times.mean) != count:
            raise ConfigError(f"the hardware has times of {len(times.mean)} clients, but there are {count}.")
        if self.network is not None:
            times = with_network(times, self.network, clients)
        self.times, self.clients, self.now = times, clients, 0
        limits = [*self.grid(), *([] if self.timeout is None else [exact_time(self.timeout)])]
        self.resolution = lcm(times.resolution, *(limit.denominator for limit in limits))
        if self.resolution > FINEST:
            raise ConfigError("these times have no common tick; round them to a few decimals.")
        longest = None if self.timeout is None else self.ticks(self.timeout)
        self._begin_with(Jobs(times, count, self.resolution // times.resolution, longest))

    def _begin_real(self, clients: Clients, jobs: Jobs) -> None:
        """Results arrive when they arrive: ticks are milliseconds, and how often clients report is seen, not
        known."""
        self.clients, self.now, self.resolution = clients, 0, MILLISECONDS
        self._begin_with(jobs)

    def _begin_with(self, jobs: Jobs) -> None:
        count = len(self.clients.importance)
        self.jobs = jobs
        self.heard = 0
        """The tick of the last result that was awaited, or of its loss."""
        self.lost: list[int] = []
        self.spare: list[int] = []
        """Versions that nobody works on any more because jobs were lost."""
        self.drawn = np.zeros(count)
        """The weights that drawn clients were given with their cohort."""
        self.weighing = self._weighing(self.clients.importance)

    def _weighing(self, importance: Float64s) -> ResultWeights:
        if self.traits.by_cohort:
            return ResultWeights("identical", importance, np.ones(len(importance)), None, self.staleness)
        if self._real and self.weights == "corrected":
            return ResultWeights(
                "online", importance, self.uncorrected(importance), None, self.staleness, self.largest_weight
            )
        known = self.frequency() if self.weights == "corrected" else None
        if self.weights == "corrected" and known is None:
            known = self._measured_frequency()
        return ResultWeights(
            self.weights, importance, self.uncorrected(importance), known, self.staleness, self.largest_weight
        )

    @property
    def _real(self) -> bool:
        return self.clients.jobs is not None

    @property
    def _losses(self) -> bool:
        return self._real or self.dropout > 0 or self.timeout is not None

    def _measured_frequency(self) -> Float64s:
        """Shares of the steps of a dry run in which everyone takes part."""
        from ..report_frequency import reporting

        return reporting(self, self.clients).frequency

    def ticks(self, time: Any) -> int:
        """A time in ticks."""
        return int(exact_time(time) * self.resolution)

    def steps(self, draw: Draw, first: int) -> Iterator[Step]:
        number = first
        while True:
            self._send(draw, number)
            self.now = self.jobs.time(self.now)
            tick, arrived = self.wait()
            self.jobs.sleep(tick)
            yield self._step(number, tick, np.array(sorted(arrived), np.int64))
            number += 1

    def _send(self, draw: Draw, number: int) -> None:
        """Idle clients begin on version `number`: everyone, or those of the round's cohort."""
        idle = self.jobs.idle()
        if getattr(draw, "everyone", False):
            if self.traits.by_cohort:
                self.chosen(np.arange(len(self.drawn)), self.clients.importance)
                self.drawn[idle] = self.clients.importance[idle]
        else:
            cohort = draw(number)
            self.chosen(cohort.clients, cohort.weights)
            idle, _, places = np.intersect1d(idle, cohort.clients, return_indices=True)
            self.drawn[idle] = cohort.weights[places]
            if self.weighing.mode == "corrected":  # what is known is known of everyone's presence
                self.weighing.mode = "online"
        self.jobs.send(idle, number, self.now)

    def chosen(self, clients: ClientIds, weights: Float64s) -> None:
        """These clients were drawn with these weights, whether they work already or not."""

    def _step(self, number: int, tick: int, clients: ClientIds) -> Step:
        versions, unused = self.jobs.finish(clients)
        weights = self.weighing.of(clients, number - versions)
        if self.traits.by_cohort:
            weights = weights * self.drawn[clients] * self.correction(clients)
        if len(clients) or not self._real:  # an outage says nothing of how often clients report
            self.weighing.saw(clients)
        lost, self.lost = np.array(self.lost, np.int64), []
        self.now = tick
        spare = {*unused.tolist(), *self.spare, *(() if self.jobs.uses(number) else (number,))}
        self.spare = []
        return Step(
            number,
            clients,
            versions,
            weights,
            tick / self.resolution,
            np.fromiter(spare, np.int64, len(spare)),
            self.jobs.begun[clients] - 1,
            self.jobs.started[clients] / self.resolution,
            self.jobs.ready[clients] / self.resolution,
            lost if len(lost) else NONE,
        )

    def correction(self, clients: ClientIds) -> Float64s:
        """What the weights of drawn clients are multiplied by because not all of them arrive."""
        return np.ones(len(clients))

    def arrivals(self, until: int | None = None, count: int | None = None) -> list[int]:
        """Results that are ready by a tick, or the first so many; those of lost jobs are left out."""
        found: list[int] = []
        while len(self.jobs) and (count is None or len(found) < count):
            first = self.jobs.first(until)
            if until is not None and first > until:
                break
            client = self.jobs.take_one()
            self.heard = int(self.jobs.ready[client])
            if self._losses and self._is_lost(client):
                self.give_up(np.array([client]))
            else:
                found.append(client)
        return found

    def give_up(self, clients: ClientIds) -> None:
        """The jobs of these clients, which are no longer awaited, are lost."""
        self.lost.extend(clients.tolist())
        self.spare.extend(self.jobs.finish(clients)[1].tolist())

    def taken(self, found: list[int]) -> tuple[int, list[int]]:
        """A step when the last of these was ready; without any, when the last was lost, or one unit of time
        later because nobody works."""
        if found or (self.heard > self.now and not self._real):
            return max(self.heard, self.now), found
        # Real clients that are away are lost at once: without a pause, rounds would fly by.
        return max(self.heard, self.now + self.resolution), []

    def _is_lost(self, client: int) -> bool:
        job = int(self.jobs.begun[client]) - 1
        return bool(self.jobs.given_up[client]) or bool(
            bits(self.clients.seed, "lost job", client, job) * 2.0**-64 < self.dropout
        )

    def state(self) -> dict[str, Array]:
        return {
            **self.jobs.state(),
            **self.weighing.state(),
            "now": np.array(self.now),
            "heard": np.array(self.heard),
            "online": np.array(self.weighing.mode == "online"),
            "drawn": self.drawn.copy(),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        self.jobs.restore(state)
        self.weighing.restore(state)
        self.now, self.heard, self.drawn = int(state["now"]), int(state["heard"]), np.array(state["drawn"])
        if state["online"]:
            self.weighing.mode = "online"
