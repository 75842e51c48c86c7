"""MOCHA: multi-task learning of linear models with a learned relation between clients (Smith, Chiang,
Sanjabi, Talwalkar, Federated Multi-Task Learning, 2017).

    minimize   sum_t (1/n_t) sum_i hinge(y_i w_t' x_i)  +  lambda/2 tr(W Omega W'),      Sigma = Omega^-1

    client t:  one pass of dual coordinate ascent on its alpha,
               sends  db_t = sum_i (change of alpha_i) x_i / n_t
    server:    W  <-  W + dB Sigma / lambda
               every `inner` rounds:   Sigma  <-  (W' W)^(1/2) / trace,      W  <-  B Sigma / lambda

For linear models with two classes, or one against the rest where there are more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from ..core.pytrees import nbytes
from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .needs import Needs
from .shared.client_data import ClientData


@algorithm_registry.add("mocha")
@dataclass(frozen=True, kw_only=True)
class Mocha(Algorithm):
    """Support vector machines of all clients and a learned relation between them (Smith et al., 2017)."""

    lam: float = 1.0
    """Weight of the relation between clients."""
    inner: int = 10
    """Rounds between two updates of the relation."""
    clients: int = 0
    rows: int = 0
    machines: int = 1
    """How many clients, rows and separating planes there are; found when training starts."""

    name: ClassVar[str] = "mocha"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(uploads=True)
    grid: ClassVar = {"lam": (10.0, 1.0, 0.1, 0.01, 0.001)}

    def __post_init__(self) -> None:
        if not self.lam > 0:
            raise ConfigError(f"lam must be positive, but is {self.lam}.")
        if self.inner < 1:
            raise ConfigError(f"inner must be at least 1 round, but is {self.inner}.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        params = jax.eval_shape(task.init, jax.random.key(0))
        if not isinstance(params, dict) or "w" not in params or not federation.classes:
            raise ConfigError("mocha is for classification with a linear model; choose --model linear.")
        machines = 1 if federation.classes == 2 else federation.classes
        rows = int(federation.train.sizes.max())
        return replace(self, clients=len(federation), rows=rows, machines=machines)

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return nbytes(upload), nbytes(upload)

    def init(self, task: Task, key: jax.Array) -> State:
        shape = (self.clients, self.machines, 1 + task.init(key)["w"].shape[1])
        sigma = jnp.tile(jnp.eye(self.clients) / self.clients, (self.machines, 1, 1))
        zeros, rho = jnp.zeros(shape), jnp.ones(self.machines)
        return State({"models": zeros, "dual": zeros, "sigma": sigma, "rho": rho})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"alpha": jnp.zeros((self.machines, self.rows)), "took_part": jnp.asarray(1.0)})

    def broadcast(self, task: Task, state: State) -> Message:
        own = jnp.diagonal(state["sigma"], axis1=1, axis2=2).T
        return Message({"models": state["models"], "own": own, "rho": state["rho"]})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        model, own = message["models"][data.client], message["own"][data.client]
        batch = data.all_rows()
        x = _with_one(batch.x)[: self.rows]
        signs = _signs(batch.y[: self.rows], self.machines)
        order = jnp.argsort(jnp.where(jnp.arange(self.rows) < data.size, _draw(key, self.rows), jnp.inf))

        def ascend(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            alpha, change = carry
            row, sign, old = x[order[i]], signs[:, order[i]], alpha[:, order[i]]
            scale = self.lam * data.size / (own * jnp.maximum(row @ row, 1e-12) * message["rho"])
            here = model + message["rho"][:, None] * (own / self.lam)[:, None] * change
            new = sign * jnp.clip(scale * (1.0 - sign * (here @ row)) + old * sign, 0.0, 1.0)
            return alpha.at[:, order[i]].set(new), change + jnp.outer(new - old, row) / data.size

        start = (memory["alpha"], jnp.zeros_like(model))
        alpha, change = lax.fori_loop(0, data.size, ascend, start)
        hinge = jnp.maximum(0.0, 1.0 - signs * (model @ x.T)).mean(0)
        loss = jnp.sum(jnp.where(jnp.arange(self.rows) < data.size, hinge, 0.0)) / data.size
        return Reply(change, Memory({**memory, "alpha": alpha}), {"train_loss": loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        dual = state["dual"].at[mixed.clients].add(mixed.uploads)
        due = (jnp.asarray(mixed.round) + 1) % self.inner == 0
        models = self._models(dual, state["sigma"])
        relation = lax.cond(due, _relation, lambda m: (state["sigma"], state["rho"]), models)
        return State(
            {
                "models": self._models(dual, relation[0]),
                "dual": dual,
                "sigma": relation[0],
                "rho": relation[1],
            }
        )

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return Memory({**self.init_client(task, message, key), "took_part": jnp.asarray(0.0)})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        """The client's own machines; the mean of everyone's for a client that never took part."""
        mine, mean = message["models"][data.client], message["models"].mean(0)
        return jnp.where(memory["took_part"] > 0, mine, mean)

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        scores = _with_one(x) @ predictor.T
        return jnp.concatenate([-scores, scores], axis=1) if self.machines == 1 else scores

    def _models(self, dual: jax.Array, sigma: jax.Array) -> jax.Array:
        return jnp.einsum("smd,mst->tmd", dual, sigma) / self.lam


def _relation(models: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sigma = (W'W)^(1/2) / trace for every machine, and rho = max_t sum_s |Sigma_ts| / Sigma_tt."""
    values, vectors = jnp.linalg.eigh(jnp.einsum("smd,tmd->mst", models, models))
    roots = jnp.sqrt(jnp.maximum(values, 0.0))
    sigma = jnp.einsum("msk,mk,mtk->mst", vectors, roots, vectors)
    sigma = sigma / jnp.maximum(jnp.trace(sigma, axis1=1, axis2=2), 1e-12)[:, None, None]
    sigma = sigma + 1e-6 * jnp.eye(len(models)) / len(models)
    own = jnp.diagonal(sigma, axis1=1, axis2=2)
    return sigma, jnp.max(jnp.abs(sigma).sum(2) / own, axis=1)


def _with_one(x: jax.Array) -> jax.Array:
    """Flat rows with a constant 1 at the end."""
    flat = x.reshape(len(x), -1)
    return jnp.concatenate([flat, jnp.ones((len(x), 1), flat.dtype)], axis=1)


def _signs(y: jax.Array, machines: int) -> jax.Array:
    """+1 where a row belongs to a machine's class, else -1, as (machines, rows)."""
    classes = jnp.array([1]) if machines == 1 else jnp.arange(machines)
    return jnp.where(y[None, :] == classes[:, None], 1.0, -1.0)


def _draw(key: jax.Array, rows: int) -> jax.Array:
    return jax.random.uniform(key, (rows,))
