"""Covariance functions (kernels) with all hyper-parameters in one log vector.

    C(x, x') = sum_a signal_a^2 k_a(r_a) + noise^2 1[same row],     r_a^2 = sum_j (x_j - x'_j)^2 / length_aj^2

The vector that travels is log(signals, noise, lengths), in this order; one length for all inputs, or one for
each (automatic relevance determination). A stationary part is two functions of r^2: its correlation k, and
its slope s = -2 dk/d(r^2), because dk/d(log length_j) = s (x_j - x'_j)^2 / length_j^2. With these the
gradient of the likelihood needs no differentiation through a Cholesky factor. tinygp, which has kernels as
pytrees, was tried: its objects would have to be taken apart into a vector for averaging and differentiated
through their factor, which took several times as long for 200 rows; so these few functions are our own.

The same code works on NumPy and on JAX arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Float64s
from ..serialization import shareable
from .matern import check_smoothness, correlation_table, slope_table

AnyArray = Any
"""An array of NumPy or JAX."""
_TINY = 1e-30
"""What is added to squared distances below a square root, so that no slope is 0/0."""
_EQUAL = 1e-12
"""Squared distances of rows that count as equal where the correlation has a kink."""


class Part(NamedTuple):
    """One stationary covariance function, of inputs that may be mapped first."""

    correlation: Callable[[AnyArray], AnyArray]
    slope: Callable[[AnyArray, AnyArray], AnyArray]
    """Of r^2 and the correlation there, which has the exponential already."""
    embed: Callable[[AnyArray], AnyArray] | None = None
    """Inputs with this property of theirs instead, such as a place on a circle."""


class Correlation(NamedTuple):
    """One part's squared distances and correlations of pairs of rows."""

    squared_distance: AnyArray
    correlation: AnyArray


kernel_registry: Registry[Part] = Registry("kernel")


@kernel_registry.add("rbf")
def rbf() -> Part:
    """Very smooth functions: exp(-r^2 / 2)."""

    def correlation(r2: AnyArray) -> AnyArray:
        return _namespace(r2).exp(-0.5 * r2)

    return Part(correlation, lambda r2, k: k)


@kernel_registry.add("matern32")
def matern32() -> Part:
    """Functions with one derivative: (1 + sqrt(3) r) exp(-sqrt(3) r)."""

    def correlation(r2: AnyArray) -> AnyArray:
        r = 3**0.5 * _root(r2)
        return (1 + r) * _namespace(r2).exp(-r)

    return Part(correlation, lambda r2, k: 3 * k / (1 + 3**0.5 * _root(r2)))


@kernel_registry.add("matern52")
def matern52() -> Part:
    """Functions with two derivatives: (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)."""

    def correlation(r2: AnyArray) -> AnyArray:
        r = 5**0.5 * _root(r2)
        return (1 + r + r * r / 3) * _namespace(r2).exp(-r)

    def slope(r2: AnyArray, k: AnyArray) -> AnyArray:
        r = 5**0.5 * _root(r2)
        return 5 / 3 * k * (1 + r) / (1 + r + r * r / 3)

    return Part(correlation, slope)


@kernel_registry.add("matern")
def matern(nu: float = 1.5) -> Part:
    """Functions of any smoothness: `matern:0.8`; with 0.5, 1.5 and 2.5 they are those of ou, matern32 and
    matern52, by tables of Bessel functions."""
    smoothness = check_smoothness(nu)
    scale = (2 * smoothness) ** 0.5

    def correlation(r2: AnyArray) -> AnyArray:
        k = correlation_table(smoothness).exp(scale * _root(r2))
        return _namespace(r2).where(r2 > _TINY, k, 1.0)

    def slope(r2: AnyArray, k: AnyArray) -> AnyArray:
        found = slope_table(smoothness).exp(scale * _root(r2))
        # Where functions have no derivative, slopes grow without end near zero; times r^2 they vanish.
        return found if smoothness > 1 else _namespace(r2).where(r2 > _EQUAL, found, 0.0)

    return Part(correlation, slope)


@kernel_registry.add("ou")
def ornstein_uhlenbeck() -> Part:
    """Functions that are nowhere smooth (Ornstein-Uhlenbeck): exp(-r)."""

    def slope(r2: AnyArray, k: AnyArray) -> AnyArray:
        # Times r^2 this is r exp(-r): nothing for equal rows, where a large factor would only cost digits.
        return _namespace(r2).where(r2 > _EQUAL, k / _root(r2), 0.0)

    return Part(lambda r2: _namespace(r2).exp(-_root(r2)), slope)


@kernel_registry.add("periodic")
def periodic(period: float = 1.0) -> Part:
    """Functions that repeat after a known period of scaled inputs: exp(-2 sin^2(pi d / p) / length^2)."""
    if not period > 0:
        raise ConfigError(f"the period of a kernel must be positive, but is {period}.")

    def embed(x: AnyArray) -> AnyArray:
        xp, angle = _namespace(x), 2 * np.pi / period * x
        return xp.stack([xp.cos(angle), xp.sin(angle)])

    return rbf()._replace(embed=embed)


@shareable
@dataclass(frozen=True)
class Kernel:
    """A covariance function by name, or a sum of them; `ard` gives every input a length of its own.

    >>> kernel = Kernel("rbf+periodic:0.25", inputs=1)
    >>> kernel.size, kernel.names()
    (5, ('signal rbf', 'signal periodic:0.25', 'noise', 'length rbf', 'length periodic:0.25'))
    """

    text: str = "rbf"
    inputs: int = 1
    ard: bool = False

    def __post_init__(self) -> None:
        if self.inputs < 1:
            raise ConfigError(f"a kernel needs at least one input, but has {self.inputs}.")
        self.parts  # noqa: B018 - refuses unknown names

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """What is added up."""
        return tuple(term.strip() for term in self.text.split("+"))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The covariance functions that are added up."""
        return tuple(_part(term) for term in self.terms)

    @property
    def lengths(self) -> int:
        """How many length scales each part has."""
        return self.inputs if self.ard else 1

    @property
    def noise(self) -> int:
        """Where the noise is in the vector."""
        return len(self.terms)

    @property
    def size(self) -> int:
        """How many hyper-parameters there are."""
        return len(self.terms) * (1 + self.lengths) + 1

    def names(self) -> tuple[str, ...]:
        """What the hyper-parameters are called, in the order of the vector."""
        several = len(self.terms) > 1
        tails = [f" {term}" if several else "" for term in self.terms]
        places = [f" x{j + 1}" for j in range(self.inputs)] if self.ard else [""]
        lengths = [f"length{tail}{place}" for tail in tails for place in places]
        return (*(f"signal{tail}" for tail in tails), "noise", *lengths)

    def vector(self, signal: float = 1.0, noise: float = 0.1, length: float = 0.5) -> Float64s:
        """The log vector in which all signals (and all lengths) are equal.

        >>> Kernel("rbf", 2, ard=True).vector(1.0, 1.0, 1.0)
        array([0., 0., 0., 0.])
        """
        terms = len(self.terms)
        values = [signal / terms**0.5] * terms + [noise] + [length] * (terms * self.lengths)
        if not min(values) > 0:
            raise ConfigError("signal, noise and length must be positive.")
        return np.log(np.array(values, np.float64))

    def squared_distances(self, part: int, params: AnyArray, x: AnyArray, other: AnyArray) -> AnyArray:
        """r^2 of one part for all pairs of rows."""
        length = self._length(part, params)
        embed = self.parts[part].embed
        if embed is None:
            return _apart(x / length, other / length)
        return sum(_apart(a / length, b / length) for a, b in zip(embed(x), embed(other), strict=True))

    def correlations(self, params: AnyArray, x: AnyArray, other: AnyArray) -> list[Correlation]:
        """Distances and correlations of every part for all pairs of rows."""
        apart = [self.squared_distances(a, params, x, other) for a in range(len(self.terms))]
        return [Correlation(r2, part.correlation(r2)) for r2, part in zip(apart, self.parts, strict=True)]

    def covariance(
        self, params: AnyArray, x: AnyArray, other: AnyArray, found: list[Correlation] | None = None
    ) -> AnyArray:
        """Covariances of the function (without noise) at all pairs of rows; `found` are their
        correlations, if known."""
        known = self.correlations(params, x, other) if found is None else found
        signals = _namespace(params).exp(2 * params[: self.noise])
        tables = [signals[a] * each.correlation for a, each in enumerate(known)]
        return sum(tables[1:], tables[0])

    def signal_variance(self, params: AnyArray) -> AnyArray:
        """The function's variance at any place."""
        return _namespace(params).exp(2 * params[: self.noise]).sum()

    def contract(
        self, params: AnyArray, x: AnyArray, other: AnyArray, table: AnyArray, found: list[Correlation]
    ) -> AnyArray:
        """sum_ab table_ab dC_ab / d(log parameter) for pairs of rows, without noise: no n x n x d.

        Differences of inputs are taken apart: sum_ab w_ab (x_a - z_b)^2 = sum_a w_a x_a^2 + sum_b w_b z_b^2 -
        2 x' w z.
        """
        xp = _namespace(params)
        signals, lengths = [], []
        for a, (part, (r2, k)) in enumerate(zip(self.parts, found, strict=True)):
            variance = xp.exp(2 * params[a])
            signals.append(2 * variance * (table * k).sum())
            slopes = table * part.slope(r2, k)
            if self.ard:
                embed, length = part.embed or (lambda rows: (rows,)), self._length(a, params)
                views = zip(embed(x), embed(other), strict=True)
                lengths.append(variance * sum(_spread(u / length, v / length, slopes) for u, v in views))
            else:
                lengths.append(variance * (slopes * r2).sum()[None])
        return xp.concatenate([xp.stack([*signals, 0 * signals[0]]), *lengths])

    def _length(self, part: int, params: AnyArray) -> AnyArray:
        start = self.noise + 1 + part * self.lengths
        return _namespace(params).exp(params[start : start + self.lengths])


@lru_cache(maxsize=64)
def _part(term: str) -> Part:
    return kernel_registry.make(term)


def _apart(x: AnyArray, other: AnyArray) -> AnyArray:
    difference = x[:, None, :] - other[None, :, :]
    return (difference * difference).sum(axis=-1)


def _spread(x: AnyArray, other: AnyArray, table: AnyArray) -> AnyArray:
    """sum_ab table_ab (x_a - z_b)^2 for every column of x and of the other rows z."""
    left, right = x - x.mean(axis=0), other - x.mean(axis=0)
    squares = table.sum(axis=1) @ left**2 + table.sum(axis=0) @ right**2
    return squares - 2 * (left * (table @ right)).sum(axis=0)


def _root(r2: AnyArray) -> AnyArray:
    return _namespace(r2).sqrt(r2 + _TINY)


def _namespace(array: AnyArray) -> Any:
    """The module whose functions work on this array: NumPy or JAX."""
    return array.__array_namespace__()
