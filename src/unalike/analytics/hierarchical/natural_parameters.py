"""Natural parameters of normal distributions: precision, and precision times mean.

    N(mean, covariance)   <->   precision Q = covariance^-1,    shift r = Q mean

A product of densities adds (r, Q), a quotient subtracts them; only a proper distribution has Q positive
definite, so factors and quotients need not.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Natural(NamedTuple):
    """A normal density, or a factor of one, up to a constant."""

    shift: jax.Array
    precision: jax.Array

    @classmethod
    def of(cls, mean: jax.Array, covariance: jax.Array) -> Natural:
        """From mean and covariance.

        >>> one, two = (Natural.of(jnp.array([m]), jnp.array([[v]])) for m, v in ((1.0, 2.0), (3.0, 4.0)))
        >>> both = one.times(two)
        >>> both.shift.item(), both.precision.item(), round(both.mean.item(), 4)
        (1.25, 0.75, 1.6667)
        """
        precision = jnp.linalg.inv(covariance)
        return cls(precision @ mean, precision)

    @classmethod
    def nothing(cls, width: int) -> Natural:
        """The factor that is the same everywhere."""
        return cls(jnp.zeros(width), jnp.zeros((width, width)))

    @property
    def mean(self) -> jax.Array:
        """Of a proper distribution."""
        return jnp.linalg.solve(self.precision, self.shift)

    @property
    def covariance(self) -> jax.Array:
        """Of a proper distribution."""
        return jnp.linalg.inv(self.precision)

    def times(self, other: Natural) -> Natural:
        """The product of two densities."""
        return Natural(self.shift + other.shift, self.precision + other.precision)

    def over(self, other: Natural) -> Natural:
        """The quotient of two densities."""
        return Natural(self.shift - other.shift, self.precision - other.precision)

    def power(self, exponent: jax.Array | float) -> Natural:
        """The density to some power."""
        return Natural(exponent * self.shift, exponent * self.precision)

    def symmetric(self) -> Natural:
        """The same with a precision that is symmetric to the last digit."""
        return Natural(self.shift, (self.precision + self.precision.T) / 2)

    def is_proper(self, least: float = 1e-6) -> jax.Array:
        """Whether the precision's eigenvalues are all above `least`."""
        return jnp.linalg.eigvalsh((self.precision + self.precision.T) / 2)[0] > least

    def log_density(self, point: jax.Array) -> jax.Array:
        """The logarithm of the density, up to a constant."""
        return self.shift @ point - 0.5 * point @ self.precision @ point
