"""The problem that tests of personalized methods share, and a naive server around naive clients.

Client 0 takes part in the first round, client 3 in the second, client 1 in both, and client 2 never does.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np

from unalike.algorithms import LocalWork

from . import naive

SIZES, TEST = [5, 8, 7, 6], [4, 2, 3, 3]
COHORTS = ([0, 1], [1, 3])
IMPORTANCE = np.array(SIZES) / sum(SIZES)
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)
RATE = 0.1


@cache
def federation():
    return naive.federation(SIZES, TEST)


@cache
def trained(algorithm, seed=0):
    """Two rounds of a method; one run for all tests that look at it."""
    cohorts = naive.Fixed(*COHORTS)
    return naive.train(federation(), naive.task(), algorithm, 2, participation=cohorts, seed=seed)


def rows(client):
    return federation().train.client(client)


def batches(client, epochs=2):
    """A client's mini-batches, as (x, y)."""
    x, y = rows(client)
    return [(x[b], y[b]) for b in naive.in_order(len(x), 3, epochs)]


def descend(theta, batches, rate=RATE, anchor=None, mu=0.0, moving=1.0):
    """Mini-batch descent; `moving` is 0 for the parameters that stay."""
    anchor = theta if anchor is None else anchor
    for x, y in batches:
        theta = theta - rate * moving * (naive.gradient(theta, x, y) + mu * (theta - anchor))
    return theta


def average(theta, uploads, cohort):
    return np.average(uploads, axis=0, weights=IMPORTANCE[cohort])


def simulate(client, newcomer, predictor=lambda theta, memory: memory, first=None, server=average):
    """The rounds of :func:`trained` written naively: the server's model after each, what clients remember,
    and each client's test loss."""
    theta, memories, history = naive.zeros(), {}, []
    for cohort in COHORTS:
        uploads = []
        for i in cohort:
            start = memories.get(i, first(theta) if first else theta)
            upload, memories[i] = client(theta, start, batches(i))
            uploads.append(upload)
        theta = server(theta, uploads, cohort)
        history.append(theta)
    models = [
        predictor(theta, memories[i] if i in memories else newcomer(theta, batches(i, 1))) for i in range(4)
    ]
    losses = [naive.loss(model, *federation().test.client(i)) for i, model in enumerate(models)]
    return SimpleNamespace(history=history, memories=memories, losses=losses)


def assert_agrees(run, expected, model=lambda message: message, atol=1e-5):
    """The library's run and the naive one: server, predictions of old clients and of the newcomer."""
    for number, theta in enumerate(expected.history):
        assert np.allclose(naive.flat(model(run.history.state(number + 1)["params"])), theta, atol=atol)
    assert np.abs(expected.history[-1]).max() > 0.01
    assert np.allclose(run.evaluate("test")["loss"], expected.losses, atol=atol)


def memory_of(run, client):
    """What a client remembers; None where it has nothing."""
    found, fresh = run.memories.gather(np.array([client]))
    return None if fresh[0] else {name: _first(leaf) for name, leaf in found.items()}


def _first(leaf):
    return {key: value[0] for key, value in leaf.items()} if isinstance(leaf, dict) else leaf[0]


def same_model(one, other, atol=0.0):
    return np.allclose(naive.flat(one), naive.flat(other), rtol=0, atol=atol)
