"""MemGuard: predictions with noise that hides membership.

    r = argmin |r|   with   h(s + r) = 1/2,   the same largest entry,   s + r probabilities
    s  ->  s + r  with probability  min(1, budget / |r|),   s otherwise       (|r|: sum of absolute values)

s are the probabilities that a model predicts for a row, and h is a surrogate attack: how likely it is, by
such probabilities, that the row was trained on. Jia, Salem, Backes, Zhang and Gong, "MemGuard: Defending
against Black-Box Membership Inference Attacks via Adversarial Examples", 2019. Reference rows, as rows that
were not trained on, teach the surrogate. The model stays as it is, and so do the labels that it predicts: an
attack that looks at labels alone sees what it saw before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..errors import ConfigError
from ..typing import Array, Params

HIDDEN, LEARNING_RATE = 32, 0.01
STEPS, STEP, KEEP_LABEL = 300, 0.1, 10.0
"""Descent to the smallest perturbation: its steps, their length, and the weight of keeping the label."""


@dataclass(frozen=True)
class SurrogateAttack:
    """A small network that tells members by a prediction's probabilities, sorted."""

    params: Params

    def log_odds(self, chances: Any) -> jax.Array:
        """The log odds of membership of every row of probabilities."""
        return _log_odds(self.params, jnp.asarray(chances))


class Guarded(NamedTuple):
    """Predictions as they are given away."""

    chances: Array
    changed: Array
    """Which rows were changed."""


def fit_attack(members: Any, others: Any, steps: int = 500, seed: int = 0) -> SurrogateAttack:
    """Learn to tell the predictions for members from those for others, which weigh the same."""
    inside, outside = jnp.asarray(members), jnp.asarray(others)
    if not len(inside) or not len(outside):
        raise ConfigError(
            "a surrogate attack learns from predictions for members and for others; one is empty."
        )
    first = jax.random.normal(jax.random.key(seed), (inside.shape[1], HIDDEN)) / jnp.sqrt(inside.shape[1])
    start = {"inner": first, "bias": jnp.zeros(HIDDEN), "outer": jnp.zeros(HIDDEN), "shift": jnp.zeros(())}
    optimizer = optax.adam(LEARNING_RATE)

    def loss(params: Params) -> jax.Array:
        wrong = jax.nn.softplus(-_log_odds(params, inside)).mean()
        return wrong + jax.nn.softplus(_log_odds(params, outside)).mean()

    def step(_: int, carry: tuple[Params, Any]) -> tuple[Params, Any]:
        params, state = carry
        updates, state = optimizer.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    params, _ = jax.lax.fori_loop(0, steps, step, (start, optimizer.init(start)))
    return SurrogateAttack(params)


def guard(chances: Any, attack: SurrogateAttack, budget: float, seed: int = 0) -> Guarded:
    """Probabilities that the surrogate cannot tell members by; on average no row's change is larger than the
    budget (between 0, which changes nothing, and 2)."""
    if not 0 <= budget <= 2:
        raise ConfigError(f"the budget of distortion must lie between 0 and 2, but is {budget:g}.")
    given = jnp.asarray(chances)
    new = perturb_probabilities(given, attack)
    length = jnp.abs(new - given).sum(1)
    same_label = new.argmax(1) == given.argmax(1)
    better = jnp.abs(attack.log_odds(new)) < jnp.abs(attack.log_odds(given))
    probability = jnp.where(same_label & better, jnp.minimum(1.0, budget / jnp.maximum(length, 1e-12)), 0.0)
    drawn = jax.random.uniform(jax.random.key(seed), probability.shape) < probability
    return Guarded(np.asarray(jnp.where(drawn[:, None], new, given)), np.asarray(drawn))


def perturb_probabilities(chances: jax.Array, attack: SurrogateAttack) -> jax.Array:
    """For every row, nearby probabilities with the same largest entry of which the surrogate is unsure: the
    nearest one to an even guess that a descent on logits comes by."""
    start = jnp.log(jnp.maximum(chances, 1e-9))
    label = chances.argmax(1)

    def cost(logits: jax.Array) -> jax.Array:
        new = jax.nn.softmax(logits)
        own = jnp.take_along_axis(logits, label[:, None], 1)[:, 0]
        rest = jnp.where(jnp.arange(logits.shape[1]) == label[:, None], -jnp.inf, logits).max(1)
        moved = jnp.abs(new - chances).sum(1)
        return jnp.sum(
            jnp.abs(attack.log_odds(new)) + KEEP_LABEL * jax.nn.relu(rest - own + 1e-3) + 0.1 * moved
        )

    def step(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        logits, best = carry
        slope = jax.grad(cost)(logits)
        logits = logits - STEP * slope / jnp.maximum(jnp.linalg.norm(slope, axis=1, keepdims=True), 1e-9)
        return logits, jnp.where(_is_preferred(logits, best, label, attack)[:, None], logits, best)

    return jax.nn.softmax(jax.lax.fori_loop(0, STEPS, step, (start, start))[1])


def _is_preferred(new: jax.Array, best: jax.Array, label: jax.Array, attack: SurrogateAttack) -> jax.Array:
    """Rows whose new logits keep the label and leave the surrogate less sure than the best so far."""
    now, before = (jnp.abs(attack.log_odds(jax.nn.softmax(one))) for one in (new, best))
    return (new.argmax(1) == label) & (now < before)


def _log_odds(params: Params, chances: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(-jnp.sort(-chances, axis=1) @ params["inner"] + params["bias"])
    return hidden @ params["outer"] + params["shift"]
