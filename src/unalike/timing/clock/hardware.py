"""Hardware heterogeneity: how long does each client take for a job?

Times are whole numbers of ticks, so that ties are ties and a deadline on a grid point is met exactly: a
:class:`Hardware` says how many ticks make one unit of time, and how many ticks client i needs for its j-th
job.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, lcm
from typing import Any

import numpy as np
import scipy

from ...core.random import bits
from ...core.registry import Registry
from ...errors import ConfigError, unknown
from ...typing import ClientIds, Float64s, Int64s

Ticks = Int64s
FINE = 10**9
"""Ticks in a unit of time where times are random."""
LONGEST = 10**8
"""Units of the longest time: the clock's ticks must fit into 64 bits."""
ORDERS = ("ordered", "shuffled", "uniform")
"""How times between the slowest and the quickest come to clients."""
GRAINS = 10**6
"""Steps between the slowest and the quickest time, where times are drawn: they must have a common tick."""
ONE_BY_ONE, NEGLIGIBLE = 256, 1e-9
"""Terms of a tail that are added singly, and what is left out of it."""
hardware_registry: Registry[Hardware] = Registry("hardware", "hardware")


class Hardware:
    """How long clients take; a user's own has `resolution`, `mean` and `ticks`."""

    resolution: int
    """Ticks in one unit of time."""
    mean: Float64s
    """Each client's mean time for a job, in units of time."""
    fixed: bool = False
    """Whether every job of a client takes the same time."""

    def ticks(self, clients: ClientIds, jobs: Int64s) -> Ticks:
        """How long these clients take for their jobs of these numbers; a function of nothing else."""
        raise NotImplementedError(f"{type(self).__name__} must implement ticks().")

    def chance_within(self, time: float | Float64s) -> Float64s | None:
        """The probability that each client's job takes at most this long (one time, or one for each),
        where it is known."""
        return (self.mean <= time + 1e-12).astype(float) if self.fixed else None

    def mean_windows(self, window: float, longest: float = inf) -> Float64s | None:
        """How many windows of this length each client's job lasts on average, the last one counted whole,
        if jobs end at the latest after `longest`; where it is known."""
        if self.chance_within(window) is None:
            return None
        return summed_tail(self._chance_after, window, longest)

    def _chance_after(self, time: float) -> Float64s:
        within = self.chance_within(time)
        return np.zeros(len(self.mean)) if within is None else 1 - within

    def again(self) -> Hardware:
        """The same clients with other luck: where times are random, they are drawn anew."""
        return self


class FixedTimes(Hardware):
    """Every job of a client takes the same time.

    >>> two = FixedTimes(["2.1", Fraction(1, 3)])
    >>> two.resolution, two.ticks(np.array([0, 1]), np.array([5, 0]))
    (30, array([63, 10]))
    """

    fixed = True

    def __init__(self, times: Sequence[Any]) -> None:
        exact = [exact_time(time) for time in times]
        self.resolution = lcm(*(time.denominator for time in exact))
        if self.resolution > 10**12:
            raise ConfigError("these times have no common tick; round them to a few decimals.")
        self.each = np.array([int(time * self.resolution) for time in exact], np.int64)
        self.mean = np.array([float(time) for time in exact])

    def ticks(self, clients: ClientIds, jobs: Int64s) -> Ticks:
        return self.each[clients]


class RandomTimes(Hardware):
    """Every job takes a time of its own, independent of the others, with a mean for each client."""

    resolution = FINE

    def __init__(self, mean: Any, seed: int = 0) -> None:
        self.mean, self.seed = np.array([float(exact_time(time)) for time in np.atleast_1d(mean)]), seed

    def again(self) -> Hardware:
        other = copy.copy(self)
        other.seed = int(bits(self.seed, "other luck") >> np.uint64(1))
        return other

    def factor(self, uniform: Float64s) -> Float64s:
        """From uniform numbers in (0, 1) to times of mean one."""
        raise NotImplementedError

    def ticks(self, clients: ClientIds, jobs: Int64s) -> Ticks:
        drawn = (bits(self.seed, "job time", clients, jobs) >> np.uint64(11)).astype(np.float64)
        times = self.mean[clients] * self.factor(drawn * 2.0**-53 + 2.0**-54)
        return np.maximum(np.rint(times * FINE), 1).astype(np.int64)


class ExponentialTimes(RandomTimes):
    """Memoryless times."""

    def factor(self, uniform: Float64s) -> Float64s:
        return -np.log(uniform)

    def chance_within(self, time: float | Float64s) -> Float64s:
        return -np.expm1(-time / self.mean)


class LogNormalTimes(RandomTimes):
    """Times with a long tail; `sigma` is the standard deviation of their logarithm."""

    def __init__(self, mean: Any, sigma: float = 0.5, seed: int = 0) -> None:
        super().__init__(mean, seed)
        if not sigma >= 0:
            raise ConfigError(f"sigma must not be negative, but is {sigma}.")
        self.sigma = sigma

    def factor(self, uniform: Float64s) -> Float64s:
        return np.exp(self.sigma * scipy.special.ndtri(uniform) - self.sigma**2 / 2)

    def chance_within(self, time: float | Float64s) -> Float64s:
        if self.sigma == 0:
            return (self.mean <= time + 1e-12).astype(float)
        return scipy.special.ndtr((np.log(time / self.mean) + self.sigma**2 / 2) / self.sigma)


def summed_tail(later: Callable[[float], Float64s], window: float, longest: float = inf) -> Float64s:
    """sum_k P(T > k window) over all k with k window < longest: the mean of ceil(min(T, longest) / window).

    The first terms are added one by one; then tails are smooth, and sums over longer and longer stretches
    are taken by the trapezoidal rule.

    >>> round(float(summed_tail(lambda time: np.exp(-np.atleast_1d(time)), 0.001)[0] / 1000.5), 3)
    1.0
    """
    last = inf if longest == inf else int(np.ceil(round(longest / window, 9)))
    late, k = np.ones_like(later(window)), 0
    total = np.zeros_like(late)
    while k < last and (late * max(k, 1)).max() > NEGLIGIBLE * max(total.max(), 1.0):
        stretch = int(min(1 if k < ONE_BY_ONE else k // 64, last - k))
        then = later((k + stretch) * window)
        total += late if stretch == 1 else stretch * (late + then) / 2 + (late - then) / 2
        late, k = then, k + stretch
    return total


def exact_time(time: Any) -> Fraction:
    """A positive time as a fraction; decimals mean what they say.

    >>> exact_time(0.1), exact_time("2.1")
    (Fraction(1, 10), Fraction(21, 10))
    """
    try:
        value = time if isinstance(time, Fraction) else Fraction(str(time))
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"{time!r} is not a time; give a positive number.") from None
    if value <= 0:
        raise ConfigError(f"times must be positive, but one is {time}.")
    if value > LONGEST:
        raise ConfigError(f"times must be at most {LONGEST:.0e} units, but one is {time}.")
    return value


def spread_times(clients: int, spread: float = 80, order: str = "ordered", seed: int = 0) -> list[Fraction]:
    """Times between 1 and 1 - spread/100: `F80` has a client five times faster.

    They are evenly spaced and dealt from client 0, the slowest, downwards (`ordered`), or to clients by lot
    (`shuffled`), or every client draws its own (`uniform`).

    >>> [str(time) for time in spread_times(3, 80)]
    ['1', '3/5', '1/5']
    >>> sorted(spread_times(9, 80, "shuffled")) == sorted(spread_times(9, 80))
    True
    """
    if not 0 <= spread < 100:
        raise ConfigError(f"the spread must be at least 0 and below 100 (percent), but is {spread}.")
    if order not in ORDERS:
        raise unknown("order of times", str(order), ORDERS)
    width = Fraction(str(spread)) / 100
    return [1 - width * place for place in _places(clients, order, seed)]


def _places(clients: int, order: str, seed: int) -> list[Fraction]:
    """Where each client's time lies between the slowest (0) and the quickest (1)."""
    if order == "uniform":
        drawn = bits(seed, "time of a client", np.arange(clients)) % np.uint64(GRAINS + 1)
        return [Fraction(int(place), GRAINS) for place in drawn]
    even = [Fraction(i, max(clients - 1, 1)) for i in range(clients)]
    if order == "ordered":
        return even
    return [even[i] for i in np.argsort(bits(seed, "order of times", np.arange(clients)))]


@hardware_registry.add("equal")
def equal(time: float = 1.0, *, clients: int) -> FixedTimes:
    """Everyone takes the same time; `equal:2` is two units for a job."""
    return FixedTimes([exact_time(time)] * clients)


@hardware_registry.add("spread")
def spread(percent: float = 80, order: str = "ordered", *, clients: int, seed: int = 0) -> FixedTimes:
    """Times evenly from 1 down to 1 - percent/100 in the order of clients; `spread:80` is five times,
    `spread:80,shuffled` deals them by lot, `spread:80,uniform` draws them."""
    return FixedTimes(spread_times(clients, percent, order, seed))


@hardware_registry.add("exponential")
def exponential(
    percent: float = 80, order: str = "ordered", *, clients: int, seed: int = 0
) -> ExponentialTimes:
    """Memoryless times whose means are spread like those of `spread`; `exponential:80,shuffled`."""
    return ExponentialTimes(spread_times(clients, percent, order, seed), seed)


@hardware_registry.add("lognormal")
def lognormal(
    percent: float = 80, sigma: float = 0.5, order: str = "ordered", *, clients: int, seed: int = 0
) -> LogNormalTimes:
    """Times with a long tail whose means are spread like those of `spread`; `lognormal:80,0.5,shuffled`."""
    return LogNormalTimes(spread_times(clients, percent, order, seed), sigma, seed)
