"""Benchmark functions of multi-fidelity modeling: seven of them, cheapest level first.

A problem is a box and one function per level of fidelity; the last is the truth, the others are what a
cheaper simulation would say of it. Sources: Forrester, Sobester, Keane (2007) for the one-dimensional pair;
Xiong, Qian, Wu (2013) for Currin, Park and borehole; Perdikaris et al. (2017) for Branin; Cutajar et al.
(2019) for Hartmann and the nonlinear pair.

    hartmann:  y_t = sum_i (alpha_i + (3 - t) delta_i) exp( - sum_j A_ij (x_j - P_ij)^2 )

The borehole's cheap level has 5 pi where other texts have 5; after outputs are scaled there is no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.random import generator
from ...errors import ConfigError, unknown
from ...typing import Float64s

Function = Callable[[Float64s], Float64s]
"""Values at rows."""


@dataclass(frozen=True)
class MultiFidelityProblem:
    """A box and what every level says in it, cheapest first.

    >>> PROBLEMS["branin"].inputs, len(PROBLEMS["branin"].levels)
    (2, 3)
    """

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    levels: tuple[Function, ...]
    sizes: tuple[int, ...]
    """Rows of each level in the published comparisons."""

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self.low)

    @property
    def truth(self) -> Function:
        """The most expensive level."""
        return self.levels[-1]

    def in_box(self, unit: Float64s) -> Float64s:
        """Points of the unit cube, in the box."""
        low, high = np.array(self.low), np.array(self.high)
        return low + unit * (high - low)

    def uniform(self, rows: int, seed: int) -> Float64s:
        """Independent uniform points of the box."""
        rng = generator(seed, f"uniform points of {self.name}")
        return self.in_box(rng.random((rows, self.inputs)))

    def design(self, rows: int, seed: int, evenly: bool = False) -> Float64s:
        """A Latin hypercube, or `evenly` spaced points where there is one input."""
        if evenly:
            if self.inputs > 1:
                raise ConfigError(f"{self.name} has {self.inputs} inputs; evenly spaced points need one.")
            return self.in_box(np.linspace(0, 1, rows)[:, None])
        rng = generator(seed, f"design of {self.name}")
        return self.in_box(latin_hypercube(rows, self.inputs, rng))


def problem(name: str) -> MultiFidelityProblem:
    """A problem by name."""
    if name not in PROBLEMS:
        raise unknown("multi-fidelity problem", name, PROBLEMS)
    return PROBLEMS[name]


def latin_hypercube(rows: int, inputs: int, rng: np.random.Generator) -> Float64s:
    """Points of the unit cube, one in each of `rows` equal slices of every input.

    >>> points = latin_hypercube(4, 2, np.random.default_rng(0))
    >>> np.sort(np.floor(4 * points), axis=0)[:, 0]
    array([0., 1., 2., 3.])
    """
    slices = np.stack([rng.permutation(rows) for _ in range(inputs)], axis=1)
    return (slices + rng.random((rows, inputs))) / rows


def forrester(x: Float64s) -> Float64s:
    """(6x - 2)^2 sin(12x - 4)."""
    return (6 * x[:, 0] - 2) ** 2 * np.sin(12 * x[:, 0] - 4)


def _forrester_low(x: Float64s) -> Float64s:
    return 0.5 * forrester(x) + 10 * (x[:, 0] - 0.5) + 5


def cosine(x: Float64s) -> Float64s:
    """cos(15x), the cheap level of the nonlinear pair."""
    return np.cos(15 * x[:, 0])


def _nonlinear(x: Float64s) -> Float64s:
    return x[:, 0] * np.exp(cosine(2 * x - 0.2)) - 1


def currin(x: Float64s) -> Float64s:
    """An exponential in x2 times a ratio of cubics in x1; at x2 = 0 the limit is taken."""
    a, b = x[:, 0], x[:, 1]
    with np.errstate(divide="ignore"):
        fade = 1 - np.exp(-1 / (2 * np.maximum(b, 0.0)))
    return fade * (2300 * a**3 + 1900 * a**2 + 2092 * a + 60) / (100 * a**3 + 500 * a**2 + 4 * a + 20)


def _currin_low(x: Float64s) -> Float64s:
    corners = [(x[:, 0] + s, x[:, 1] + t) for s in (0.05, -0.05) for t in (0.05, -0.05)]
    return np.mean([currin(np.column_stack([a, np.maximum(0, b)])) for a, b in corners], axis=0)


def park(x: Float64s) -> Float64s:
    """Four inputs, positive."""
    a, b, c, d = x.T
    root = np.sqrt(1 + (b + c**2) * d / a**2)
    return a / 2 * (root - 1) + (a + 3 * d) * np.exp(1 + np.sin(c))


def _park_low(x: Float64s) -> Float64s:
    a, b, c, _ = x.T
    return (1 + np.sin(a) / 10) * park(x) - 2 * a + b**2 + c**2 + 0.5


def branin(x: Float64s) -> Float64s:
    """Three valleys of equal depth, 0.397887."""
    a, b = x.T
    bowl = -1.275 * a**2 / np.pi**2 + 5 * a / np.pi + b - 6
    return bowl**2 + (10 - 5 / (4 * np.pi)) * np.cos(a) + 10


def _branin_middle(x: Float64s) -> Float64s:
    a, b = x.T
    return 10 * np.sqrt(branin(x - 2)) + 2 * (a - 0.5) - 3 * (3 * b - 1) - 1


def _branin_low(x: Float64s) -> Float64s:
    return _branin_middle(1.2 * (x + 2)) - 3 * x[:, 1] + 1


def hartmann(fidelity: int) -> Function:
    """Four bumps in three inputs; fidelity 3 is the highest."""
    a = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
    p = np.array(
        [
            [0.3689, 0.1170, 0.2673],
            [0.4699, 0.4387, 0.7470],
            [0.1091, 0.8732, 0.5547],
            [0.0381, 0.5743, 0.8828],
        ]
    )
    alpha = np.array([1, 1.2, 3, 3.2]) + (3 - fidelity) * np.array([0.01, -0.01, -0.1, 0.1])

    def values(x: Float64s) -> Float64s:
        apart = (x[:, None, :] - p[None]) ** 2
        return np.exp(-(a[None] * apart).sum(axis=2)) @ alpha

    return values


def borehole(x: Float64s, factor: float = 2 * np.pi, offset: float = 1.0) -> Float64s:
    """Water through a borehole, of eight inputs."""
    radius, reach, upper, head_up, lower, head_low, length, conductivity = x.T
    log = np.log(reach / radius)
    inner = offset + 2 * length * upper / (log * radius**2 * conductivity) + upper / lower
    return factor * upper * (head_up - head_low) / (log * inner)


def _borehole_low(x: Float64s) -> Float64s:
    return borehole(x, 5 * np.pi, 1.5)


PROBLEMS = {
    made.name: made
    for made in (
        MultiFidelityProblem("forrester", (0.0,), (1.0,), (_forrester_low, forrester), (100, 20)),
        MultiFidelityProblem("nonlinear", (0.0,), (2.0,), (cosine, _nonlinear), (100, 20)),
        MultiFidelityProblem("currin", (0.0,) * 2, (1.0,) * 2, (_currin_low, currin), (200, 40)),
        MultiFidelityProblem("park", (1e-6,) * 4, (1.0,) * 4, (_park_low, park), (300, 50)),
        MultiFidelityProblem(
            "branin", (-5.0, 0.0), (10.0, 15.0), (_branin_low, _branin_middle, branin), (200, 40, 20)
        ),
        MultiFidelityProblem(
            "hartmann", (0.0,) * 3, (1.0,) * 3, (hartmann(1), hartmann(2), hartmann(3)), (200, 100, 50)
        ),
        MultiFidelityProblem(
            "borehole",
            (0.05, 100.0, 63_070.0, 990.0, 63.1, 700.0, 1120.0, 9855.0),
            (0.15, 50_000.0, 115_600.0, 1110.0, 115.0, 820.0, 1680.0, 12_045.0),
            (_borehole_low, borehole),
            (200, 50),
        ),
    )
}
