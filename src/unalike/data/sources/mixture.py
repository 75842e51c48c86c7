"""FedEM's synthetic mixture: every client is a blend of the same few populations.

The synthetic data of Marfoq, Neglia, Bellet, Kameni and Vidal, "Federated Multi-Task Learning under a
Mixture of Distributions", 2021: client t draws each sample's component z from its own proportions pi_t and
its label from the linear model theta_z,

    pi_t ~ Dirichlet(alpha),  theta_m ~ U[-1, 1]^d,  x ~ U[-1, 1]^d,  z ~ pi_t,
    `bernoulli`: y ~ Bernoulli(sigmoid(<x, theta_z> + e)), e ~ N(0, 1),
    `threshold`: y = 1 if <x, theta_z> + e > 0, e ~ N(0, 0.1^2).

The paper does not say which; `bernoulli` comes closest to its table, `threshold` to its clustering
experiment. With alpha = 0 every client has a single component, in turn: clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.random import generator
from ...errors import unknown
from ...typing import Array, Float64s, Int64s
from ..allocation import proportions
from ..sizes import whole
from .source import Source, check_memory, source_registry

_FEWEST_ROWS = 50
RULES = ("bernoulli", "threshold")


class Mixture(NamedTuple):
    """Rows with all that is hidden from a learner: proportions, models, and each row's component."""

    x: Array
    y: Array
    owners: Int64s
    shares: Float64s
    models: Float64s
    components: Int64s


@source_registry.add("mixture")
def mixture(
    components: int = 3,
    dimension: int = 150,
    alpha: float = 0.4,
    rule: str = "bernoulli",
    *,
    clients: int = 300,
    seed: int = 0,
) -> Source:
    """FedEM's mixture of linear models; `mixture:3,150,0.4,threshold` has sharp labels."""
    drawn = draw_mixture(components, dimension, alpha, rule, clients, seed)
    return Source(
        drawn.x,
        drawn.y,
        2,
        owners=drawn.owners,
        description=f"a mixture of {components} linear models in {dimension} dimensions",
    )


def draw_mixture(
    components: int = 3,
    dimension: int = 150,
    alpha: float = 0.4,
    rule: str = "bernoulli",
    clients: int = 300,
    seed: int = 0,
) -> Mixture:
    """The rows of the `mixture` data set together with the truth behind them.

    >>> truth = draw_mixture(clients=4, dimension=5, alpha=0)
    >>> truth.shares.argmax(axis=1), truth.models.shape
    (array([0, 1, 2, 0]), (3, 5))
    """
    if rule not in RULES:
        raise unknown("label rule", str(rule), RULES)
    whole(components, "the number of components"), whole(dimension, "the dimension")
    check_memory(12 * dimension * (components + _FEWEST_ROWS * clients))
    rng = generator(seed, "mixture")
    shares = proportions(alpha, clients, components, rng)
    models = rng.uniform(-1, 1, (components, dimension))
    owners = np.repeat(np.arange(clients), client_sizes(clients, rng))
    check_memory(12 * dimension * len(owners))
    z = _draw_components(shares[owners], rng)
    x = rng.uniform(-1, 1, (len(owners), dimension)).astype(np.float32)
    scores = np.einsum("nd,nd->n", x, models[z])
    return Mixture(x, _labels(scores, rule, rng), owners, shares, models, z)


def client_sizes(clients: int, rng: np.random.Generator) -> Int64s:
    """Log-normal sizes between 50 and 1,000."""
    return np.minimum(_FEWEST_ROWS + rng.lognormal(4, 2, clients).astype(np.int64), 1000)


def _draw_components(shares: Array, rng: np.random.Generator) -> Int64s:
    steps = np.cumsum(shares, axis=1)[:, :-1]
    return (rng.random((len(shares), 1)) >= steps).sum(axis=1)


def _labels(scores: Array, rule: str, rng: np.random.Generator) -> NDArray[np.int32]:
    if rule == "threshold":
        return (scores + 0.1 * rng.standard_normal(len(scores)) > 0).astype(np.int32)
    chance = 1 / (1 + np.exp(-(scores + rng.standard_normal(len(scores)))))
    return (rng.random(len(scores)) < chance).astype(np.int32)
