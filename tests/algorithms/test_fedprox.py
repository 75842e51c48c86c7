"""Does FedProx descend on f_i(v) + mu/2 |v - w|^2?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import FedAvg, FedProx, LocalWork, Optimizer

from . import naive

SIZES = [5, 8, 3]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)


def test_the_pull_towards_the_global_model_is_part_of_every_step(federation, task):
    run = naive.train(federation, task, FedProx(work=WORK, mu=0.7), 2)
    theta = naive.zeros()
    for _ in range(2):
        ends = []
        for client, size in enumerate(SIZES):
            x, y = federation.train.client(client)
            ends.append(naive.descend(theta, x, y, naive.in_order(size, 3, 2), 0.1, mu=0.7))
        theta = np.average(ends, axis=0, weights=SIZES)
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


def test_without_a_pull_it_is_federated_averaging(federation, task):
    prox, plain = (
        naive.train(federation, task, algorithm, 2).state["params"]
        for algorithm in (FedProx(work=WORK, mu=0.0), FedAvg(work=WORK))
    )
    assert np.allclose(naive.flat(prox), naive.flat(plain), atol=1e-6)


def test_after_many_steps_the_proximal_point_is_reached(federation, task):
    """At the minimum of the proximal problem, gradient f(v) = mu (w - v)."""
    alone = federation.subset([1])
    work = LocalWork(steps=400, batch_size=0)
    run = naive.train(alone, task, FedProx(work=work, mu=2.0, optimizer=Optimizer("sgd", 0.2)), 1)
    theta = naive.flat(run.state["params"])
    assert np.allclose(naive.gradient(theta, *alone.train.client(0)), -2.0 * theta, atol=1e-4)


def test_a_pull_past_the_global_model_is_refused_and_the_largest_below_is_not():
    with pytest.raises(ConfigError, match="smaller mu or learning rate"):
        FedProx(mu=10.0, optimizer=Optimizer("sgd", 0.1))
    assert FedProx(mu=9.9, optimizer=Optimizer("sgd", 0.1)).mu == 9.9
    assert FedProx(mu=10.0, optimizer=Optimizer("adam", 0.1)).mu == 10.0, "its steps have another length"
