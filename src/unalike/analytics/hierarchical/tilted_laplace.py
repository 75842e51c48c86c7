"""Laplace's approximation of a device's tilted density.

The tilted density is the device's likelihood times the others' cavity, f(phi) N(phi; cavity). At its mode p,

    site precision = - Hessian of log f at p
    site shift     = (site precision + cavity precision) p - cavity shift

The site's precision may be indefinite, where the device's data flatten what others say; it is not clipped,
for that makes intervals too narrow. Whoever adds sites up checks the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .moments import Moments
from .natural_parameters import Natural
from .sites import SiteModel

FLOOR, LONGEST, TOLERANCE, MOST_STEPS = 1e-2, 0.5, 1e-8, 100
"""Least curvature of a Newton step, its largest entry, when to stop, and the most steps."""


class _Step(NamedTuple):
    point: jax.Array
    length: jax.Array
    taken: jax.Array


def tilted_mode(
    site: SiteModel, moments: Moments, noise: jax.Array, cavity: Natural, start: jax.Array
) -> jax.Array:
    """The mode of the tilted density, by Newton's method with bounded curvature and steps."""

    def step(now: _Step) -> _Step:
        found = site.expand(moments, noise, now.point)
        slope = found.gradient + cavity.shift - cavity.precision @ now.point
        values, vectors = jnp.linalg.eigh(cavity.precision - found.hessian)
        move = vectors @ ((vectors.T @ slope) / jnp.maximum(values, FLOOR))
        move = move * jnp.minimum(1.0, LONGEST / jnp.maximum(jnp.max(jnp.abs(move)), 1e-300))
        point = site.limit(now.point + move)
        return _Step(point, jnp.max(jnp.abs(point - now.point)), now.taken + 1)

    def goes_on(now: _Step) -> jax.Array:
        return (now.length > TOLERANCE) & (now.taken < MOST_STEPS)

    first = _Step(site.limit(start), jnp.asarray(jnp.inf, start.dtype), jnp.zeros((), jnp.int32))
    return lax.while_loop(goes_on, step, first).point


def laplace_site(
    site: SiteModel, moments: Moments, noise: jax.Array, cavity: Natural, start: jax.Array
) -> Natural:
    """The device's new factor."""
    mode = tilted_mode(site, moments, noise, cavity, start)
    precision = -site.expand(moments, noise, mode).hessian
    return Natural((precision + cavity.precision) @ mode - cavity.shift, precision).symmetric()
