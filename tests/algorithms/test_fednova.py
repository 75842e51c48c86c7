"""Does FedNova average changes per step, so that its fixed point is the objective's?"""

import numpy as np

from unalike.algorithms import FedAvg, FedNova, LocalWork, Optimizer

from . import naive

SIZES = [5, 8, 3]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)
IMPORTANCE = np.array(SIZES) / 16


def naive_fednova(federation, cohorts, rate=0.1):
    """Wang et al. (2020) for plain SGD, with effective steps the weighted mean of everyone's."""
    theta = naive.zeros()
    for cohort in cohorts:
        weights = IMPORTANCE[cohort] / IMPORTANCE[cohort].sum()
        batches = [naive.in_order(SIZES[i], 3, 2) for i in cohort]
        ends = [
            naive.descend(theta, *federation.train.client(i), b, rate)
            for i, b in zip(cohort, batches, strict=True)
        ]
        steps = np.array([len(b) for b in batches])
        gradients = [(theta - end) / (rate * k) for end, k in zip(ends, steps, strict=True)]
        theta = theta - rate * (weights @ steps) * np.tensordot(weights, gradients, axes=1)
    return theta


def test_three_rounds_with_partial_participation_equal_the_paper(federation, task):
    cohorts = ([0, 2], [1, 2], [0, 1])
    run = naive.train(federation, task, FedNova(work=WORK), 3, participation=naive.Fixed(*cohorts))
    expected = naive_fednova(federation, cohorts)
    assert np.allclose(naive.flat(run.state["params"]), expected, atol=2e-5)
    plain = naive.train(federation, task, FedAvg(work=WORK), 3, participation=naive.Fixed(*cohorts))
    assert not np.allclose(naive.flat(plain.state["params"]), expected, atol=1e-3)


def test_with_equal_steps_it_is_federated_averaging(federation, task):
    work = LocalWork(steps=4, batch_size=3, shuffle=False)
    nova, plain = (naive.train(federation, task, make(work=work), 3) for make in (FedNova, FedAvg))
    assert np.allclose(naive.flat(nova.state["params"]), naive.flat(plain.state["params"]), atol=1e-6)


def test_clients_with_more_steps_do_not_pull_the_answer_to_themselves(task):
    """Small steps and many rounds: the mean gradient vanishes under FedNova, not under FedAvg."""
    federation = naive.federation(SIZES)
    work = LocalWork(epochs=1, batch_size=1)
    norms = {}
    for make in (FedNova, FedAvg):
        run = naive.train(federation, task, make(work=work, optimizer=Optimizer("sgd", 0.02)), 300)
        theta = naive.flat(run.state["params"])
        norms[make] = np.linalg.norm(naive.gradient(theta, federation.train.x, federation.train.y))
    assert norms[FedNova] < 0.5 * norms[FedAvg]
