"""The perturbed gradient method: gradients are taken between a client's model and where similar clients ended
(Buttaci, Does Perturbation Aid Convergence?, MSc thesis, Politecnico di Torino).

    client:   w_i <- w_i - rate * gradient_i( beta w_i + (1 - beta) u_i ),    from w;     sends  w_i
    server:   w   <- as FedAvg,        u_i <- sum_j P_ij w_j      with P_ij the similarity of i and j

Clients count by their part of all similarities, p_i = sum_j A_ij / sum_kj A_kj, so that sum_i p_i u_i is the
model of all (algorithm 2): that is what `unalike run` does with `perturbed` and `perturbed-permuted` unless
`--importance` says something else; in Python, give the federation these importances.

With beta = 1 this is FedAvg, for any u_i. Three choices of u_i tell what helps: the mean over similar clients
(`perturbed`), the model that everyone starts from (`perturbed-anchor`, which sends nothing more than FedAvg),
and the mean that was made for somebody else (`perturbed-permuted`). With beta at or below 1/2, stiff
directions zigzag from round to round; `unalike.theory.perturbed_gradient.stability` says when. In Python,
`iterate` is an own choice of u_i.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..core import pytrees
from ..core.pytrees import add, nbytes, scale
from ..core.random import generator
from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Batch, Task
from ..typing import Float64s, Memory, Message, Params, Predictor, PyTree, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import LocalResult
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.optimizers import Optimizer
from .shared.similarity_weights import SimilarityWeights, similarity_weights

MOST_CLIENTS = 5000
"""The graph has a weight for every pair of clients, and the server keeps everyone's last model."""


@algorithm_registry.add("perturbed-anchor")
@dataclass(frozen=True, kw_only=True)
class AnchoredGradient(FedAvg):
    """FedAvg with gradients between the client's model and the one that it started from (beta -> 0: one long
    step of gradients that are all taken at the start)."""

    beta: float = 0.7
    """How much of the point where gradients are taken is the client's own model."""

    name: ClassVar[str] = "perturbed-anchor"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"beta": (0.9, 0.7, 0.5)}

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 1:
            raise ConfigError(f"beta must be between 0 and 1, but is {self.beta}.")

    @property
    def equals_local_training(self) -> bool:
        return self.beta == 1 and super().equals_local_training

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        if self.beta <= 0.5:
            warnings.warn(
                f"with beta {self.beta:g}, at or below 0.5, stiff directions may zigzag from round to round; "
                "`unalike advise constants` says where rounds grow.",
                stacklevel=2,
            )
        return self

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = perturbed_sgd(task, message, message, data, self.optimizer, self.beta)
        return Reply(trained.params, memory, {"train_loss": trained.loss})


@algorithm_registry.add("perturbed")
@dataclass(frozen=True, kw_only=True)
class PerturbedGradient(AnchoredGradient):
    """FedAvg with gradients between the client's model and the last models of similar clients (Buttaci)."""

    similarity: SimilarityWeights | None = None
    """How similar clients are; found from their rows when training starts, where it is not given."""
    iterate: Callable[[State], Params] | None = None
    """An own u_i, in Python: from the server's state, where `params` is the model of all, `previous` that of
    the round before, `models` everyone's last model and `mixing` the table P, to one model per client
    (leading axis). `neighbor_means` and `anchors` of this module are such functions."""

    name: ClassVar[str] = "perturbed"
    usual_importance: ClassVar[str] = "similarity"
    needs: ClassVar[Needs] = Needs(uploads=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta == 0:
            raise ConfigError("beta must be positive; only perturbed-anchor takes gradients at one point.")
        if self.iterate is not None and not callable(self.iterate):
            raise ConfigError(
                f"iterate must be a function of the server's state, but is {self.iterate!r}; "
                "give one in Python."
            )

    @property
    def equals_local_training(self) -> bool:
        return False

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        if len(federation) > MOST_CLIENTS:
            raise ConfigError(
                f"{self.name} compares every pair of at most {MOST_CLIENTS} clients, but there are "
                f"{len(federation)}; perturbed-anchor takes any number."
            )
        super().prepare(task, federation)
        found = similarity_weights(federation) if self.similarity is None else self.similarity
        if len(found) != len(federation):
            raise ConfigError(f"similarities are of {len(found)} clients, but there are {len(federation)}.")
        return replace(self, similarity=found)

    def mixing(self) -> Float64s:
        """Whose models each client is sent the mean of, row by row."""
        assert self.similarity is not None, "prepare comes first."
        return self.similarity.mixing

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        """Two models come down, one goes up; a simulation hands everyone's mean to everyone."""
        return 2 * nbytes(upload), nbytes(upload)

    def init(self, task: Task, key: jax.Array) -> State:
        state, mixing = super().init(task, key), jnp.asarray(self.mixing(), jnp.float32)
        models = pytrees.stack([state["params"]] * len(mixing))
        begun = State({**state, "models": models, "mixing": mixing})
        if self.iterate is None:
            return begun
        begun = State({**begun, "previous": state["params"]})
        check_iterate(self.iterate, begun)
        return begun

    def broadcast(self, task: Task, state: State) -> Message:
        perturbed = neighbor_means(state) if self.iterate is None else self.iterate(state)
        return Message({"params": state["params"], "similar": perturbed})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        towards = pytrees.row(message["similar"], data.client)
        trained = perturbed_sgd(task, message["params"], towards, data, self.optimizer, self.beta)
        return Reply(trained.params, memory, {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        assert mixed.weights is not None
        accepted = mixed.weights > 0
        stepped = self.server_step(state, mixed.total, mixed.start["params"], mixed.round)
        old = pytrees.row(state["models"], mixed.clients)
        last = jax.tree.map(lambda new, kept: _where(accepted, new, kept), mixed.uploads, old)
        models = jax.tree.map(lambda table, rows: table.at[mixed.clients].set(rows), state["models"], last)
        history = {} if self.iterate is None else {"previous": state["params"]}
        return State({**stepped, "models": models, **history})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["params"]


@algorithm_registry.add("perturbed-permuted")
@dataclass(frozen=True, kw_only=True)
class PermutedGradient(PerturbedGradient):
    """The perturbed gradient method where every client is sent the mean that was made for another one: an
    ablation, to see whether similarity matters."""

    name: ClassVar[str] = "perturbed-permuted"

    def mixing(self) -> Float64s:
        own = super().mixing()
        around = generator(0, "permuted neighbors").permutation(len(own))
        order = np.empty(len(own), np.int64)
        order[around] = np.roll(around, 1)  # one cycle through all clients, so that nobody keeps its own
        return own[order]


def perturbed_sgd(
    task: Task, start: Params, towards: Params, data: ClientData, optimizer: Optimizer, beta: float
) -> LocalResult:
    """Walk over the planned mini-batches with gradients at beta * model + (1 - beta) * towards."""
    descent = OptimizerSteps(optimizer, data.round)

    def step(carry: tuple[OptimizerState, jax.Array], batch: Batch) -> tuple[OptimizerState, jax.Array]:
        point, total = carry
        seen = point.params if beta == 1 else add(scale(beta, point.params), scale(1 - beta, towards))
        loss, gradient = task.loss_and_gradient(seen, batch)
        return descent.step(point, gradient), total + loss

    end, total = data.fold(step, (descent.start(start), jnp.zeros(())))
    return LocalResult(end.params, total / jnp.maximum(data.steps, 1))


def neighbor_means(state: State) -> Params:
    """u_i = sum_j P_ij w_j for every client; the model of all for one that is like nobody."""
    alone = state["mixing"].sum(axis=1) == 0

    def mean(models: jax.Array, model: jax.Array) -> jax.Array:
        return _where(alone, model[None], jnp.tensordot(state["mixing"], models, axes=1))

    return jax.tree.map(mean, state["models"], state["params"])


def anchors(state: State) -> Params:
    """The model of all, once for every client."""
    return jax.tree.map(
        lambda models, model: jnp.broadcast_to(model, models.shape), state["models"], state["params"]
    )


def check_iterate(iterate: Callable[[State], Params], state: State) -> None:
    """An own iterate has one model per client."""

    def shapes(tree: Params) -> PyTree:
        return jax.tree.map(jnp.shape, tree)

    found, wanted = shapes(jax.eval_shape(iterate, state)), shapes(state["models"])
    if found != wanted:
        raise ConfigError(f"iterate must return one model per client, of shapes {wanted}, but has {found}.")


def _where(rows: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """a in some rows, b in the others."""
    return jnp.where(rows.reshape(-1, *(1,) * (b.ndim - 1)), a, b)
