"""A small federation whose clients differ, for tests of unlearning."""

import numpy as np

import unalike
from unalike.algorithms import FedAvg, LocalWork, Optimizer
from unalike.participation import Full, Renormalized


def federation(clients=6, rows=8, features=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(clients) % 3
    centers = rng.normal(size=(3, features))
    data = {
        f"c{i}": (
            (centers[labels[i]] + rng.normal(size=(rows, features))).astype(np.float32),
            np.where(rng.random(rows) < 0.8, labels[i], (labels[i] + 1) % 3),
        )
        for i in range(clients)
    }
    return unalike.Federation.from_clients(data, test_fraction=0.0, classes=3)


def task(given):
    model = unalike.models.linear(input_shape=given.input_shape, outputs=3)
    return unalike.Task.classification(model, classes=3)


def method(rate=0.05, steps=2, **rest):
    return FedAvg(work=LocalWork(steps=steps, batch_size=0), optimizer=Optimizer("sgd", rate), **rest)


def train(given, rounds=6, per_round=None, **rest):
    who = Full() if per_round is None else Renormalized(per_round=per_round)
    rest = {"algorithm": method(), "participation": who, **rest}
    return unalike.train(given, task(given), rest.pop("algorithm"), rounds=rounds, seed=3, **rest)
