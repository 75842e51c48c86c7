"""FEM-OMD: online mixtures for clients whose distributions change (federated EM with online mirror descent;
Marfoq's doctoral thesis, 2023, section 4.4 and appendix H).

All data are mixtures of the same few populations; what changes, for each client and in every time step, are
the mixture weights. The components are learned together, by K exchanges of expectation and maximization on
everybody's rows of the step; the weights are played by each client alone:

    client c:   plays  sum_j pi_tcj P(. ; w_tj)  before it sees the step's rows
    together:   wt_j  <-  sum_c p_c pt_cj wt_cj / sum_c p_c pt_cj,  K times;  w_{t+1,j}  <-  mean over time
    client c:   g_j   =  -mean_i P(z_i; w_{t+1,j}) / sum_l pi_tcl P(z_i; w_{t+1,l})
                pi_{t+1,cj}  =  pi_tcj exp(-rate g_j) / sum_l ...

The importances p_c are those of the round, by default the clients' rows: then the average over clients is
that of expectation and maximization on all rows together. As printed (algorithm 14, line 10), all clients
count alike, p_c = 1 / C, which is the same where all have equally many rows, and here `--importance equal`.

A step of time is K + 1 rounds (:mod:`.shared.online_mixture`). There are two families of components: any
task's models, P proportional to exp(-loss), and Gaussians of unit covariance in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, PyTree
from .base import Algorithm, algorithm_registry
from .shared.client_data import ClientData
from .shared.gaussian_mixture import draw_mixture_rows, sufficient_statistics
from .shared.local_sgd import local_sgd
from .shared.mixture import Components, component_losses, mixture_task, per_component
from .shared.online_mixture import OnlineMixture, Rows
from .shared.optimizers import Optimizer

LARGEST_LOSS = 30.0
"""Losses are cut here before exp(-loss), so that a diverging component cannot spoil the others."""
GRADIENTS = ("model", "data")


@algorithm_registry.add("fem-omd")
@dataclass(frozen=True, kw_only=True)
class FemOMD(OnlineMixture):
    """Shared components, and mixture weights that follow a changing world by mirror descent (Marfoq,
    2023).

    The learning rate multiplies the sum over rows, w_c <- w - rate * sum_i r[i, j] gradient(w; i), as printed
    and as in FedOMD; a mini-batch stands for all rows of the client.
    """

    optimizer: Optimizer = field(default_factory=Optimizer)

    name: ClassVar[str] = "fem-omd"
    grid: ClassVar = {"components": (2, 3, 4)}

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        task.kind()  # refuses here, not after the first round
        return self

    def losses(self, task: Task, components: Components, data: ClientData) -> jax.Array:
        found = super().losses(task, components, data)
        return jnp.minimum(jnp.nan_to_num(found, nan=LARGEST_LOSS), LARGEST_LOSS)

    def estimates(self, task: Task, inner: Components, chances: jax.Array, rows: Rows) -> list[PyTree]:
        """Local descent on rows weighted by their chances, times the share of each component."""
        joint = mixture_task(task, self.components)
        summed = rows.data.weighted(chances * rows.data.size)
        trained = local_sgd(joint, inner, summed, per_component(self.optimizer)).params
        total = jnp.sum(rows.weights)
        share = jnp.sum(chances, axis=0) / jnp.where(total > 0, total, 1.0)
        return [jax.tree.map(lambda leaf, s=share[j]: s * leaf, one) for j, one in enumerate(trained)]


@algorithm_registry.add("fem-omd-gaussian")
@dataclass(frozen=True, kw_only=True)
class GaussianFemOMD(OnlineMixture):
    """FEM-OMD for Gaussian components: clients send sufficient statistics of their rows; with the model
    `gaussian` (Marfoq, 2023).

    Defaults are those of algorithm 15 where it says them: split rows, the running mean, no guard and no
    floor. With few rows, `split=False` and `min_mass=0.5` do much better.
    """

    em_steps: int = 5
    split: bool = True
    """Whether exchange k sees the k-th part of the step's rows only, as published; else it sees all."""
    min_mass: float = 0.0
    floor: float = 0.0
    gradient: str = "model"
    """Rows that the weights' gradient is taken on: drawn from the `model`, or the client's own `data`."""
    outer: str = "running-mean"

    name: ClassVar[str] = "fem-omd-gaussian"
    grid: ClassVar = {"components": (2, 3, 4)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gradient not in GRADIENTS:
            raise ConfigError(f"gradient must be one of {', '.join(GRADIENTS)}, but is {self.gradient!r}.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        dimension = int(federation.train.x[0].size) if len(federation.train.y) else 0
        shapes = [leaf.shape for leaf in jax.tree.leaves(jax.eval_shape(task.init, jax.random.key(0)))]
        if shapes != [(dimension,)]:
            raise ConfigError(
                "fem-omd-gaussian learns means of rows; choose the model gaussian, in Python "
                f'Task.of(federation, "gaussian") or gaussian_task({dimension}).'
            )
        return self

    def batch(self, phase: jax.Array, data: ClientData) -> Rows:
        weights = data.row_weights()
        if not self.split:
            return Rows(data, weights)
        # Rows are dealt to the exchanges in order and as evenly as they can be.
        part = jnp.arange(data.capacity) * self.em_steps // jnp.maximum(data.size, 1)
        return Rows(data, jnp.where(part == phase, weights, 0.0))

    def estimates(self, task: Task, inner: Components, chances: jax.Array, rows: Rows) -> list[PyTree]:
        """Sums of rows by their chances, divided by the number of rows."""
        total = jnp.sum(rows.weights)
        sums = sufficient_statistics(rows.data.all_rows().x, chances)[1]
        return list(sums / jnp.where(total > 0, total, 1.0))

    def gradient_losses(
        self, task: Task, components: Components, memory: Memory, data: ClientData, key: jax.Array
    ) -> jax.Array:
        """On as many rows of the mixture as the client has, drawn with its newest weights, or on its own."""
        if self.gradient == "data":
            return self.losses(task, components, data)
        drawn = draw_mixture_rows(key, jnp.stack(list(components)), memory["inner"], data.capacity)
        return component_losses(task, components, drawn, jnp.zeros(data.capacity))
