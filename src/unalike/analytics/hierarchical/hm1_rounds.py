"""HM1: rounds that learn a joint prior of devices with related linear models.

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
algorithm 3.1: coefficients of all devices have a matrix normal prior with a covariance between devices. Minus
twice the log posterior is

    L  =  sum_k |y_k - X_k theta_k|^2 / noise_k  +  tr(Theta' Omega^-1 Theta)  +  d log|Omega|

    device k:   T steps   theta <- theta + 2 rate X'(y - X theta) / b;    theta <- theta - 2 prior_rate s_k
    server:     s = Omega^-1 Theta;     Omega <- (1 - damping) Omega + damping / d Theta Theta'

A device hears its coefficients and s_k and says its coefficients: it never sees Omega or another device.

for batches of b rows. With prior_rate = rate * T * noise_k / n_k ("map") a round with one full step moves
along the gradient of L. As printed, the data step is the sum over the batch, without the division by b, and
prior_rate = rate ("printed"): that lacks the noise that the data step was multiplied with, and the T.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms import Algorithm, LocalWork, Reply
from ...algorithms.base import Aggregate
from ...algorithms.needs import Needs
from ...algorithms.shared.client_data import ClientData
from ...data import Federation
from ...errors import ConfigError, unknown
from ...models import Batch, Task
from ...typing import Event, Int64s, Memory, Message, Predictor, State, Upload
from ..serialization import shareable
from .device_covariance import (
    LowRank,
    floor_of,
    identity,
    pull_of,
    pull_of_low_rank,
    update_covariance,
    update_low_rank,
)
from .moments import Moments, moments_of, noise_or, residual_variance

SHRINKAGES = ("map", "printed", "tuned")
STARTS = ("random", "zeros")


class _Prior(NamedTuple):
    """What the server says of the other devices."""

    pull: jax.Array
    own: jax.Array
    """The part of the pull that multiplies this device's own coefficients."""
    at: jax.Array
    """The coefficients at which the pull was computed."""

    def now(self, model: jax.Array, shrunk: jax.Array) -> jax.Array:
        """The pull with the device's own term fresh."""
        return self.pull + self.own * shrunk * (model - self.at)


@shareable
@dataclass(frozen=True, kw_only=True)
class HM1Rounds(Algorithm):
    """The algorithm of the estimator `HM1`."""

    work: LocalWork = field(default_factory=lambda: LocalWork(steps=20, batch_size=32))
    damping: float = 0.1
    learning_rate: float | None = None
    """The step of the data, of a mean over the batch, or of its sum where shrinkage is as printed; each
    device's own, half of what is stable, when not given."""
    shrinkage: str = "map"
    strength: float = 1.0
    """What multiplies the learning rate of the prior where it is tuned."""
    in_loop: bool | None = None
    """Whether the prior is felt in every local step instead of once per round; None lets devices with few
    rows (at most two per coefficient) feel it in every step."""
    noise: float | None = None
    """The variance of all devices' noise, where it is known."""
    start: str = "random"
    rank: int | None = None
    """The rank of the covariance's factor, for many devices; None for the whole table."""
    shrunk: tuple[bool, ...] = ()
    """Which coefficients have the prior (all when empty); an intercept has none."""
    clients: int = 0
    """How many devices there are; found when training starts, and told to nodes that see one."""

    name: ClassVar[str] = "hm1"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(uploads=True, float64=True, rounds=True)

    def __post_init__(self) -> None:
        if not 0 < self.damping <= 1:
            raise ConfigError(f"damping must be above 0 and at most 1, but is {self.damping}.")
        if self.shrinkage not in SHRINKAGES:
            raise unknown("shrinkage", self.shrinkage, SHRINKAGES)
        if self.start not in STARTS:
            raise unknown("start", self.start, STARTS)
        if self.learning_rate is not None and not self.learning_rate > 0:
            raise ConfigError(f"learning_rate must be positive, but is {self.learning_rate}.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        return replace(self, clients=self.clients or len(federation))

    def init(self, task: Task, key: jax.Array) -> State:
        shape = (self.clients, *task.init(key).shape)
        models = jnp.zeros(shape) if self.start == "zeros" else jax.random.normal(key, shape)
        covariance = identity(self.clients, self.rank) if self.rank else jnp.eye(self.clients)
        return State({"models": models, "covariance": covariance, "noise": jnp.nan * jnp.ones(self.clients)})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"capped": jnp.zeros(()), "took_part": jnp.ones(())})

    def broadcast(self, task: Task, state: State) -> Message:
        models, covariance = state["models"], state["covariance"]
        held = models * self._mask(models)
        if isinstance(covariance, LowRank):
            pull, own = pull_of_low_rank(covariance, held)
        else:
            pull, own = pull_of(covariance, held, floor_of(self.damping))
        typical = jnp.nan_to_num(jnp.nanmedian(state["noise"]), nan=1.0)
        return Message({"models": models, "pull": pull, "own": own, "typical_noise": typical})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        """A device is sent its own rows of the tables, with two numbers, and sends one row and one number."""
        width = message["models"].shape[1]
        return 8 * (2 * width + 2), 8 * (width + 1)

    def own_message(self, message: Message, client: int | None) -> Message:
        """A device's rows of the tables, and zeros in place of those of the others."""
        mine = np.arange(self.clients) == (-1 if client is None else client)
        tables = {name: np.where(mine[:, None], message[name], 0.0) for name in ("models", "pull")}
        return Message({**message, **tables, "own": np.where(mine, message["own"], 0.0)})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        k, moments = data.client, moments_of(data)
        prior = _Prior(message["pull"][k], message["own"][k], message["models"][k])
        rate = self._rate(moments)
        steps = jnp.maximum(data.steps, 1)
        noise = self._noise(moments, message["typical_noise"])
        prior_rate = self._prior_rate(rate, steps, noise, moments.rows)
        mask = self._mask(prior.at)
        always = moments.rows <= 2 * mask.sum() if self.in_loop is None else jnp.asarray(self.in_loop)

        def step(model: jax.Array, batch: Batch) -> jax.Array:
            residual = batch.weight * (batch.y - batch.x @ model)
            rows = 1.0 if self.shrinkage == "printed" else batch.size
            moved = model + 2 * rate * batch.x.T @ residual / rows
            pulled = self._capped(2 * prior_rate / steps * prior.now(model, mask), moved)[0]
            return jnp.where(always, moved - pulled, moved)

        model = data.fold(step, prior.at)
        change, capped = self._capped(2 * prior_rate * prior.pull, model)
        model, capped = jnp.where(always, model, model - change), jnp.where(always, 0.0, capped)
        remembered = {"capped": memory["capped"] + capped, "took_part": jnp.ones(())}
        reported = jnp.asarray(residual_variance(moments), jnp.float64)
        return Reply(Upload({"model": model, "noise": reported}), Memory(remembered), {"capped": capped})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.uploads is not None and mixed.weights is not None  # noqa: PT018 - this method asks
        heard = (mixed.weights > 0)[:, None]
        who = mixed.clients
        models = state["models"].at[who].set(jnp.where(heard, mixed.uploads["model"], state["models"][who]))
        noise = (
            state["noise"].at[who].set(jnp.where(heard[:, 0], mixed.uploads["noise"], state["noise"][who]))
        )
        held = models[:, np.flatnonzero(self.shrunk)] if self.shrunk else models
        old = state["covariance"]
        if isinstance(old, LowRank):
            covariance: Any = update_low_rank(old, held, self.damping, floor_of(self.damping))
        else:
            covariance = update_covariance(old, held, self.damping)
        return State({"models": models, "covariance": covariance, "noise": noise})

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        capped = int(np.sum(np.asarray(memories["capped"]) > 0))
        return [{"kind": "shrinkage capped", "clients": capped}] if capped else []

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return Memory({**self.init_client(task, message, key), "took_part": jnp.zeros(())})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        """The device's own coefficients; the mean of everyone's for one that never took part."""
        mine, mean = message["models"][data.client], message["models"].mean(0)
        return jnp.where(memory["took_part"] > 0, mine, mean)

    def _mask(self, models: jax.Array) -> jax.Array:
        return jnp.asarray(self.shrunk or (True,) * models.shape[-1], models.dtype)

    def _rate(self, moments: Moments) -> jax.Array:
        if self.learning_rate is not None:
            return jnp.asarray(self.learning_rate)
        stable = 0.5 / jnp.linalg.eigvalsh(moments.gram / moments.rows)[-1]
        if self.shrinkage != "printed":
            return stable
        most = moments.rows if self.work.batch_size == 0 else float(self.work.batch_size)
        return stable / jnp.minimum(most, moments.rows)

    def _noise(self, moments: Moments, typical: jax.Array) -> jax.Array:
        return noise_or(moments, typical) if self.noise is None else jnp.asarray(self.noise)

    def _prior_rate(self, rate: jax.Array, steps: jax.Array, noise: jax.Array, rows: jax.Array) -> jax.Array:
        if self.shrinkage == "map":
            return rate * steps * noise / rows
        return rate if self.shrinkage == "printed" else self.strength * rate

    def _capped(self, change: jax.Array, model: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The prior's change, no longer than the coefficients themselves, and whether it would have been."""
        change = change * self._mask(change)
        length, most = jnp.linalg.norm(change), jnp.linalg.norm(model)
        factor = jnp.where(length > most, most / jnp.where(length > 0, length, 1), 1.0)
        return factor * change, (length > most).astype(change.dtype)
