"""A small federation, and runs with and without dishonest clients in it."""

import numpy as np

import unalike
from unalike import FedAvg, LocalWork, Optimizer
from unalike.trust.behaviors import SimulatedAttack

from ...engine import toys

SIZES = [3, 6, 2, 4, 5, 4]
LAST_TWO = np.array([4, 5])
FEDERATION = toys.federation(SIZES, [2] * 6)
METHOD = FedAvg(work=LocalWork(steps=3, batch_size=2), optimizer=Optimizer("sgd", 0.3))


def attacked(behavior, who="2", method=METHOD, aggregator=None, federation=FEDERATION, **options):
    """Train with dishonest clients; the last two, when not said otherwise."""
    attack = SimulatedAttack.of(behavior, who, federation)
    mixer = attack.aggregator(aggregator or unalike.aggregation.base.WeightedSum())
    options = {"rounds": 4, "seed": 3, "evaluate_every": 0, **options}
    changed = attack.federation(federation)
    return unalike.train(changed, toys.logistic_task(), attack.algorithm(method), aggregator=mixer, **options)


def honest(method=METHOD, federation=FEDERATION, **options):
    """The same with honest clients only."""
    options = {"rounds": 4, "seed": 3, "evaluate_every": 0, **options}
    return unalike.train(federation, toys.logistic_task(), method, **options)


def flat(tree):
    """All entries of a model."""
    import jax

    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(tree)])
