"""Expectation propagation in rounds: the posterior of all data, which no one has in one place.

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
algorithms 3.2 and 3.3; see also Vehtari et al., Expectation Propagation as a Way of Life, 2020.
Hyper-parameters phi have a normal posterior q = prior * prod_k site_k;

    device k:   cavity = q / site_k;     new = approximation(f_k * cavity) / cavity
                sends  change = damping * (new - site_k)
    server:     q  <-  q * (product of changes) ^ s

The server halves s until q is proper and its mean moves by at most one. Devices must apply the same s to
their sites: a device learns the s of the round of its last change when it next hears from the server. All is
computed with 64 bits, so q and its sites do not drift apart and are not rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...algorithms import Algorithm, LocalWork, Reply
from ...algorithms.base import Aggregate
from ...algorithms.needs import Needs
from ...algorithms.shared.client_data import ClientData
from ...core.pytrees import nbytes, where
from ...data import Federation
from ...errors import ConfigError, unknown
from ...models import Task
from ...typing import Event, Int64s, Memory, Message, Predictor, State, Upload
from ..design import check_equal_importance
from ..serialization import shareable
from .moments import Moments, moments_of, residual_variance
from .natural_parameters import Natural
from .sites import SiteModel
from .tilted_laplace import laplace_site
from .tilted_sampling import sample_site

TILTED = ("laplace", "mcmc")
HALVINGS = 40
"""How often the server's step is halved at most."""


@shareable
@dataclass(frozen=True, kw_only=True)
class ExpectationPropagation(Algorithm):
    """The algorithm of the estimators `HM2` and `PenalizedRegression`."""

    site: SiteModel
    prior_mean: tuple[float, ...]
    prior_variance: tuple[float, ...]
    rounds: int = 15
    """The most rounds there will be, of which the server remembers its steps."""
    damping: float = 0.5
    tilted: str = "laplace"
    draws: int = 1100
    burn_in: int = 400
    tolerance: float = 1e-6
    """How little the mean moves, in posterior standard deviations, when nothing is left to do."""
    noise: float | None = None
    patience: int = 1
    """Rounds in a row that must move so little; more where only some devices take part."""
    minimum_rows: int = 1
    """Devices with fewer rows learn and say nothing, for what they say would be about single rows."""
    farthest: float = 1.0
    """How far the posterior's mean may move in a round."""
    work: LocalWork = field(default_factory=lambda: LocalWork(steps=0))

    name: ClassVar[str] = "expectation-propagation"
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(float64=True, rounds=True)
    converges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.damping <= 1:
            raise ConfigError(f"damping must be above 0 and at most 1, but is {self.damping}.")
        if self.tilted not in TILTED:
            raise unknown("tilted", self.tilted, TILTED)
        if len(self.prior_mean) != self.site.size or len(self.prior_variance) != self.site.size:
            raise ConfigError(f"{self.site.size} hyper-parameters need as many prior means and variances.")

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        check_equal_importance(federation)
        return self

    @property
    def prior(self) -> Natural:
        """What is believed of the hyper-parameters before any data."""
        return Natural.of(jnp.asarray(self.prior_mean), jnp.diag(jnp.asarray(self.prior_variance)))

    def init(self, task: Task, key: jax.Array) -> State:
        nothing = jnp.zeros(())
        told = {"log_noise": nothing, "tellers": nothing}
        return State(
            {
                "posterior": self.prior,
                "steps": jnp.ones(self.rounds),
                "moved": jnp.inf * jnp.ones(()),
                "still": nothing,
                **told,
            }
        )

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        nothing = Natural.nothing(self.site.size)
        return Memory(
            {
                "site": nothing,
                "pending": nothing,
                "round": jnp.zeros((), jnp.int32),
                "damping": jnp.asarray(self.damping),
                "skipped": jnp.zeros(()),
                **self.keepsake(),
            }
        )

    def keepsake(self) -> dict[str, jax.Array]:
        """What a device remembers beside its site, before it has taken part."""
        return {}

    def broadcast(self, task: Task, state: State) -> Message:
        known = state["tellers"] > 0
        typical = jnp.exp(state["log_noise"] / jnp.where(known, state["tellers"], 1))
        # Nobody knows in the first round; after it, nobody has enough rows to tell.
        unknown_noise = jnp.where(jnp.isinf(state["moved"]), jnp.nan, 1.0)
        typical = jnp.where(known, typical, unknown_noise)
        return Message({"posterior": state["posterior"], "steps": state["steps"], "typical_noise": typical})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        """The precision is symmetric and sent as a triangle; of the server's steps only one is news."""
        triangle = self.site.size * (self.site.size + 1) // 2
        posterior = 8 * (self.site.size + triangle)
        return posterior + 16, posterior + nbytes(upload["told"])

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        moments = moments_of(data)
        noise, own_noise = self._noise(moments, message["typical_noise"])
        site = settle_site(memory, message)
        posterior = message["posterior"]
        cavity = posterior.over(site)
        proper = cavity.is_proper()
        sound = proper & ~jnp.isnan(noise) & (moments.rows >= self.minimum_rows)
        # A cavity that is no distribution would stop Newton's method; the prior stands in for the result
        # that is then thrown away.
        safe = where(sound, cavity, self.prior)
        new, kept = self.new_site(moments, jnp.where(jnp.isnan(noise), 1.0, noise), safe, posterior.mean, key)
        sound &= jnp.all(jnp.isfinite(new.precision)) & jnp.all(jnp.isfinite(new.shift))
        step = jnp.where(sound, memory["damping"], 0.0)
        change = where(sound, new.over(site).power(step), Natural.nothing(self.site.size))
        remembered = {
            "site": site,
            "pending": change,
            "round": data.round.astype(jnp.int32),
            "damping": jnp.where(proper, self.damping, memory["damping"] / 2),
            "skipped": memory["skipped"] + ~proper,
            **kept,
        }
        tells = ~jnp.isnan(own_noise) & (moments.rows >= self.minimum_rows)
        told = {"log_noise": jnp.where(tells, jnp.log(own_noise), 0.0), "tellers": tells * 1.0}
        return Reply(Upload({"change": change, "told": told}), Memory(remembered), {"skipped": ~sound * 1.0})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        total = mixed.plain_sum
        change, told = total["change"], total["told"]
        old = state["posterior"]
        step = longest_step(old, change, self.farthest)
        new = old.times(change.power(step)).symmetric()
        spread = jnp.sqrt(jnp.diagonal(new.covariance))
        moved = jnp.max(jnp.abs(new.mean - old.mean) / spread)
        quiet = (moved < self.tolerance) & (jnp.asarray(mixed.round) > 0)
        still = jnp.where(quiet, state["still"] + 1, 0.0)
        return State(
            {
                "posterior": new,
                "steps": state["steps"].at[mixed.round].set(step),
                "moved": moved,
                "still": still,
                "log_noise": state["log_noise"] + told["log_noise"],
                "tellers": state["tellers"] + told["tellers"],
            }
        )

    def finished(self, task: Task, state: State) -> bool:
        return float(state["still"]) >= self.patience

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        skipped = int(np.sum(np.asarray(memories["skipped"]) > 0))
        return [{"kind": "cavity not a distribution", "clients": skipped}] if skipped else []

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        """The device's posterior mean at the mean of the hyper-parameters; also for newcomers."""
        moments = moments_of(data)
        noise = self._noise(moments, message["typical_noise"])[0]
        noise = jnp.where(jnp.isnan(noise), 1.0, noise)
        return self.site.coefficients(moments, noise, self.site.limit(message["posterior"].mean))

    def new_site(
        self, moments: Moments, noise: jax.Array, cavity: Natural, start: jax.Array, key: jax.Array
    ) -> tuple[Natural, dict[str, jax.Array]]:
        """A device's new factor, and what it remembers beside."""
        if self.tilted == "laplace":
            return laplace_site(self.site, moments, noise, cavity, start), {}
        begin = self.site.limit(start)
        return sample_site(self.site, moments, noise, cavity, begin, key, self.draws, self.burn_in), {}

    def _noise(self, moments: Moments, typical: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The noise to compute with, and the device's own estimate (NaN where its rows cannot tell)."""
        if self.noise is not None:
            return jnp.asarray(self.noise), jnp.asarray(jnp.nan)
        own = residual_variance(moments)
        return jnp.where(jnp.isnan(own), typical, own), own


def settle_site(memory: Memory, message: Message) -> Natural:
    """A device's site after the server's step of the round of its last change."""
    site, pending = Natural(*memory["site"]), Natural(*memory["pending"])
    return site.times(pending.power(message["steps"][memory["round"]])).symmetric()


def longest_step(old: Natural, change: Natural, farthest: float = 1.0) -> jax.Array:
    """The largest of 1, 1/2, 1/4 ... that leaves a proper posterior whose mean has not moved far."""

    def is_too_long(now: tuple[jax.Array, jax.Array]) -> jax.Array:
        step, count = now
        new = old.times(change.power(step)).symmetric()
        near = jnp.max(jnp.abs(new.mean - old.mean)) <= farthest
        return ~(new.is_proper() & near) & (count < HALVINGS)

    first = (jnp.ones(()), jnp.zeros((), jnp.int32))
    step, count = lax.while_loop(is_too_long, lambda now: (now[0] / 2, now[1] + 1), first)
    return jnp.where(count < HALVINGS, step, 0.0)
