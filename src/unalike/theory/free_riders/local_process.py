"""Local SGD as an Ornstein-Uhlenbeck process.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021), follow
one coordinate. With a quadratic local loss of curvature r and minimum theta*, gradient noise sigma, rate
lambda, batches of S rows and u = E M / S steps, a round takes theta to

    eta (theta - theta*) + theta* + rho N(0, 1),    eta = e^(-lambda r u),
                                                    rho^2 = lambda sigma^2 / (2 S r) (1 - e^(-2 lambda r u)).

FedProx of weight mu has r + mu in place of r in both exponents and in rho, goes for the minimum by the part
r / (r + mu), and keeps

    eta' = (gamma r + mu) / (r + mu),               gamma = e^(-lambda (r + mu) u).

More local work makes rho larger (the source's text says smaller), and eta' grows with mu (its text says that
it falls; its appendix is right).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


class LocalProcess(NamedTuple):
    """What a round does to each client's copy of the model."""

    keep: Float64s
    """eta: the part of the distance to its own minimum that is left."""
    noise: Float64s
    """rho: the standard deviation that is added."""

    def pull(self) -> Float64s:
        """What the minimum counts in the new model: 1 - eta."""
        return np.asarray(1 - self.keep, np.float64)


def local_process(
    curvature: ArrayLike,
    learning_rate: float,
    steps: ArrayLike,
    sigma: ArrayLike = 1.0,
    batch_size: float = 1.0,
    mu: float = 0.0,
) -> LocalProcess:
    """A round of FedAvg, or with `mu` of FedProx, on quadratic losses.

    >>> made = local_process(1.0, 0.1, 30, batch_size=100, mu=1.0)
    >>> round(float(made.keep), 4), f"{float(made.noise)**2:.3e}"
    (0.5012, '2.500e-04')
    """
    r, u, s = (np.asarray(given, np.float64) for given in (curvature, steps, sigma))
    if not (r > 0).all() or not learning_rate > 0 or not batch_size > 0 or mu < 0 or (u < 0).any():
        raise ConfigError(
            "local descent needs a curvature, a learning rate and a batch size above 0, and steps and mu "
            "that are not negative."
        )
    gone = np.exp(-learning_rate * (r + mu) * u)
    noise = np.sqrt(learning_rate / batch_size * s**2 / (2 * (r + mu)) * (1 - gone**2))
    return LocalProcess((gone * r + mu) / (r + mu), noise)


def disguise_amplitude(
    curvature: ArrayLike,
    learning_rate: float,
    steps: ArrayLike,
    sigma: ArrayLike = 1.0,
    batch_size: float = 1.0,
    mu: float = 0.0,
) -> Float64s:
    """phi, the noise that makes a free-rider's upload spread like an honest one: rho of the rows that it
    claims to have (6.15; with `mu`, E.82 with the free-rider's own constants).

    >>> round(float(disguise_amplitude(1.0, 0.1, 30, batch_size=100) ** 2), 7)
    0.0004988
    """
    return local_process(curvature, learning_rate, steps, sigma, batch_size, mu).noise
