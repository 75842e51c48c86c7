"""The membership attacker of adversarial regularization: a small network that tells training rows from
reference rows by a model's predictions (Nasr, Shokri and Houmansadr, 2018).

    summary    five numbers of a prediction: the logarithm of the label's probability, the three largest
               probabilities, and the entropy
    vector     these, the whole vector of probabilities, and the label, one-hot

h, the probability that a row is one of training, is what it says. It learns by cross-entropy ("log"), or by
squared errors ("square"), in which both sets weigh the same.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ...errors import ConfigError
from ...models import Batch
from ...typing import Params

SUMMARY, VECTOR = VIEWS = ("summary", "vector")
"""What an attacker sees."""
LOG, SQUARE = PENALTIES = ("log", "square")
CLUES, MOST_CLASSES = 5, 128
HIDDEN = {SUMMARY: 16, VECTOR: 64}
"""Units of the hidden layer."""


def clues(outputs: jax.Array, y: jax.Array, view: str = SUMMARY) -> jax.Array:
    """What the attacker sees of each prediction.

    Args:
        outputs: the logits of every row.
        y: the labels.
        view: "summary" or "vector".
    """
    logs = jax.nn.log_softmax(outputs)
    chances = jnp.exp(logs)
    own = jnp.take_along_axis(logs, y.astype(jnp.int32)[:, None], axis=1)
    padded = jnp.pad(chances, ((0, 0), (0, max(0, 3 - chances.shape[1]))))
    largest = -jnp.sort(-padded, axis=1)[:, :3]
    entropy = -jnp.sum(chances * logs, axis=1, keepdims=True)
    summary = [own, largest, entropy]
    if view == SUMMARY:
        return jnp.concatenate(summary, axis=1)
    if chances.shape[1] > MOST_CLASSES:
        raise ConfigError(
            f"an attacker that sees the whole vector takes up to {MOST_CLASSES} classes, but there are "
            f"{chances.shape[1]}; take attacker={SUMMARY}."
        )
    whole = jnp.pad(chances, ((0, 0), (0, MOST_CLASSES - chances.shape[1])))
    return jnp.concatenate([*summary, whole, jax.nn.one_hot(y, MOST_CLASSES)], axis=1)


def first_attacker(view: str = SUMMARY) -> dict[str, jax.Array]:
    """An attacker that knows nothing, the same for all clients: it calls everything a member with probability
    one half."""
    seen, hidden = CLUES + (2 * MOST_CLASSES if view == VECTOR else 0), HIDDEN[view]
    inner = jax.random.normal(jax.random.key(0), (seen, hidden)) / jnp.sqrt(CLUES)
    return {"inner": inner, "bias": jnp.zeros(hidden), "outer": jnp.zeros(hidden), "shift": jnp.zeros(())}


def suspicion(attacker: Params, seen: jax.Array) -> jax.Array:
    """The log odds that each prediction is of a training row."""
    hidden = jax.nn.relu(seen @ attacker["inner"] + attacker["bias"])
    return hidden @ attacker["outer"] + attacker["shift"]


def attack_loss(attacker: Params, seen: jax.Array, batch: Batch, penalty: str = LOG) -> jax.Array:
    """The attacker's loss, in which both sets weigh the same.

    Args:
        attacker: its parameters.
        seen: what it sees of the rows of a mini-batch.
        batch: the rows, with a weight as training row and one as reference row.
        penalty: "log" for cross-entropy, "square" for squared errors.
    """
    odds = suspicion(attacker, seen)
    wrong = batch.weight[:, 0] * missed(odds, penalty) + batch.weight[:, 1] * missed(-odds, penalty)
    return jnp.sum(wrong) / jnp.maximum(batch.size, 1.0)


def missed(odds: jax.Array, penalty: str) -> jax.Array:
    """What the attacker loses by these log odds of the truth: -log h, or (1 - h)^2."""
    return jax.nn.softplus(-odds) if penalty == LOG else jax.nn.sigmoid(-odds) ** 2


def certainty(odds: jax.Array, penalty: str) -> jax.Array:
    """How certain the attacker is, which a client lowers: log h, or h^2."""
    return -jax.nn.softplus(-odds) if penalty == LOG else jax.nn.sigmoid(odds) ** 2
