"""Clients that have not trained, in a few lines each, and a federation to put them in."""

from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp

import unalike
from unalike import FedAvg, LocalWork, Optimizer
from unalike.trust.monitor import Monitor, MonitorState

CLIENTS = 6
WORK = {"work": LocalWork(epochs=2, batch_size=16), "optimizer": Optimizer("sgd", 0.1)}


@dataclass(frozen=True, kw_only=True)
class FreeRider(FedAvg):
    """The last client sends what `lie` says: nothing new, noise that falls with the round, or fair work."""

    lie: str = "plain"
    amplitude: float = 0.02
    decay: float = 1.0

    def client(self, task, message, memory, data, key):
        reply = super().client(task, message, memory, data, key)
        leaves, structure = jax.tree.flatten(message)
        keys = jax.random.split(jax.random.fold_in(key, 1), len(leaves))
        size = self.amplitude * jnp.maximum(data.round, 1.0) ** -self.decay * (self.lie == "noise")
        noisy = [leaf + size * jax.random.normal(k, leaf.shape) for leaf, k in zip(leaves, keys, strict=True)]
        lies = jax.tree.unflatten(structure, noisy)
        is_liar = data.client == (CLIENTS - 1)
        upload = jax.tree.map(lambda a, b: jnp.where(is_liar, a, b), lies, reply.upload)
        return reply if self.lie == "none" else reply._replace(upload=upload)


@cache
def digits(partition="dirichlet:0.5", seed=1):
    """Handwritten digits; softmax regression of them has 650 parameters."""
    federation = unalike.load("digits", clients=CLIENTS, partition=partition, seed=seed)
    model = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
    return federation, unalike.Task.classification(model, classes=10)


def monitored(algorithm, rounds=8, rule=None, partition="dirichlet:0.5", seed=1, holdout=None, **options):
    """A training with a monitor, and the monitor."""
    federation, task = digits(partition, seed)
    rules = {} if rule is None else {"rule": rule}
    monitor = Monitor(MonitorState(CLIENTS), holdout=holdout, **rules)
    options = {"evaluate_every": 0, **options}
    run = unalike.train(federation, task, algorithm, rounds=rounds, seed=seed, aggregator=monitor, **options)
    return run, monitor
