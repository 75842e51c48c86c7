"""Is the smoothness that step sizes are checked against a bound?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.experiments.assumptions import softmax_smoothness, training_assumptions
from unalike.experiments.config import make_experiment
from unalike.models.task import Batch

FEDERATION = unalike.load("digits", clients=3, partition="classes:2", samples=60, seed=0, test_fraction=0.0)


@pytest.mark.parametrize("full_batches", [True, False])
def test_no_loss_curves_more_than_the_bound(full_batches):
    """Against the largest eigenvalue of the Hessian, at a few models."""
    train = FEDERATION.train
    pixels = train.x.reshape(len(train.x), -1)[:, 20:26]
    small = unalike.Federation.from_owners(pixels, train.y, train.owners)
    model = unalike.models.linear(input_shape=(6,), outputs=10)
    task = unalike.Task.classification(model, classes=10)
    first = task.init(jax.random.key(0))
    flat, back = jax.flatten_util.ravel_pytree(first)
    bound = softmax_smoothness(small, full_batches)
    for client in range(3):
        x, y = small.train.client(client)
        rows = (x, y) if full_batches else (x[:1], y[:1])
        hessian = jax.hessian(lambda p, rows=rows: task.loss(back(p), Batch.of(*rows)))
        for seed in range(3):
            point = flat + jnp.asarray(np.random.default_rng(seed).normal(size=flat.shape) * 0.1)
            assert float(jnp.linalg.eigvalsh(hessian(point)).max()) <= bound * (1 + 1e-4)


def test_what_cannot_be_seen_is_assumed():
    served = make_experiment({"model": "linear", "engine": "flower", "unlearning": "full", "batch_size": 0})
    steps = [a for a in training_assumptions(served, FEDERATION, "full") if "step sizes" in a.what]
    assert [a.holds for a in steps] == [None]
