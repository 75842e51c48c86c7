"""What does a client's message give away, and what does hiding it cost?  (Protected messages.)

A message is close to the client's mean row; of a client with one class it shows the class. Two ways to blur
it before it leaves, none of them the default:

- `projection:d`: everyone sends d coordinates in a shared random orthonormal frame. Inner products are kept
  on average; it hides detail, but is no guarantee.
- `gaussian:epsilon,delta`: Gaussian noise, by the analytic mechanism of Balle and Wang ("Improving the
  Gaussian Mechanism for Differential Privacy", 2018): the least sigma with

      Phi(s/2sigma - epsilon sigma/s) - e^epsilon Phi(-s/2sigma - epsilon sigma/s) <= delta,

  where s = 2, since any unit vector may take the place of another. It protects all rows of a client at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Float64s

Protect = Callable[[Float64s, np.random.Generator], Float64s]
message_privacy_registry: Registry[Protect] = Registry("message privacy")

WARNING = (
    "A message is close to a client's mean row: of images it is a picture, and of a client with one class it "
    "shows the class; ask clients before they send one, or blur it with projection:16 or gaussian:1,1e-5."
)
_SENSITIVITY = 2.0


@message_privacy_registry.add("projection")
def projection(dimensions: int = 16) -> Protect:
    """Only some coordinates in a random orthonormal frame that all clients share.

    >>> blurred = projection(2)(np.eye(3), np.random.default_rng(0))
    >>> blurred.shape, np.linalg.norm(blurred, axis=1).round(6).tolist()
    ((3, 2), [1.0, 1.0, 1.0])
    """
    if dimensions != int(dimensions) or dimensions < 1:
        raise ConfigError(f"a projection to {dimensions} dimensions is not possible; it needs at least 1.")

    def protect(messages: Float64s, rng: np.random.Generator) -> Float64s:
        kept = min(int(dimensions), messages.shape[1])
        frame = np.linalg.qr(rng.standard_normal((messages.shape[1], kept)))[0]
        return _unit(messages @ frame)

    return protect


@message_privacy_registry.add("gaussian")
def gaussian(epsilon: float = 1.0, delta: float = 1e-5) -> Protect:
    """Gaussian noise on every coordinate, with a guarantee for all of a client's rows."""
    sigma = noise_scale(epsilon, delta)
    return lambda messages, rng: _unit(messages + sigma * rng.standard_normal(messages.shape))


def noise_scale(epsilon: float, delta: float) -> float:
    """The standard deviation of the noise, per coordinate, that makes a message (epsilon, delta) private.

    >>> round(noise_scale(1.0, 1e-5) / 2, 2)
    3.73
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise ConfigError(
            f"gaussian:{epsilon},{delta} is not possible; epsilon must be positive, delta between 0 and 1."
        )

    def excess(log_scale: float) -> float:
        ratio = _SENSITIVITY / np.exp(log_scale)
        upper = norm.cdf(ratio / 2 - epsilon / ratio)
        return float(upper - np.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio)) - delta)

    return float(np.exp(brentq(excess, np.log(1e-6), np.log(1e12))))


def _unit(vectors: Float64s) -> Float64s:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float64).tiny)
