"""Federated logistic regression written the slow way, with NumPy and loops: the oracle of these tests."""

from functools import cache

import numpy as np

import unalike
from unalike.data import Federation, Split
from unalike.models import Task, linear
from unalike.participation import Cohort, Participation

FEATURES, CLASSES = 4, 3


def split(sizes, seed):
    """Rows of clients that differ: each has its own favorite class and its own mean."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=(offsets[-1], FEATURES)) + np.sin(owners)[:, None]
    y = np.where(rng.random(offsets[-1]) < 0.5, owners % CLASSES, rng.integers(0, CLASSES, offsets[-1]))
    return Split(x.astype(np.float32), y.astype(np.int32), offsets)


def federation(sizes, test=None):
    """Clients with these numbers of training rows; without test rows a run does not evaluate."""
    nothing = split([0] * len(sizes), 0)
    return Federation(split(sizes, 1), nothing, nothing if test is None else split(test, 2), CLASSES)


@cache
def task():
    """Logistic regression that starts at zero; one object, so programs are compiled once for all tests."""
    return Task.classification(linear(input_shape=(FEATURES,), outputs=CLASSES), CLASSES)


class Fixed(Participation):
    """Cohorts that are known beforehand, weighted by importance within the cohort."""

    def __init__(self, *cohorts, weights=None):
        self.cohorts, self.weights = [np.array(cohort) for cohort in cohorts], weights

    def cohort(self, turn):
        clients, importance = self.cohorts[turn.number], turn.importance
        weights = importance[clients] / importance[clients].sum() if self.weights is None else self.weights
        return Cohort(clients, np.asarray(weights, np.float64))


def train(federation, task, algorithm, rounds, **options):
    """A run that keeps all its states, on one device because that compiles sooner."""
    settings = {"rounds": rounds, "keep_history": True, "devices": 1, "evaluate_every": 0, **options}
    return unalike.train(federation, task, algorithm, **settings)


def zeros():
    """Where every model starts: weights and intercepts in one matrix, the intercepts last."""
    return np.zeros((FEATURES + 1, CLASSES))


def flat(params):
    """A model of the library as one matrix."""
    return np.vstack([np.asarray(params["w"], np.float64).T, np.asarray(params["b"], np.float64)])


def gradient(theta, x, y):
    """Of the mean cross-entropy."""
    rows = np.hstack([x.astype(np.float64), np.ones((len(x), 1))])
    scores = np.exp(rows @ theta)
    return rows.T @ (scores / scores.sum(1, keepdims=True) - np.eye(CLASSES)[y]) / len(x)


def loss(theta, x, y):
    """Mean cross-entropy."""
    rows = np.hstack([x.astype(np.float64), np.ones((len(x), 1))])
    scores = np.exp(rows @ theta)
    return -np.log((scores / scores.sum(1, keepdims=True))[np.arange(len(y)), y]).mean()


def in_order(size, batch_size, epochs=1):
    """The mini-batches of passes that are not shuffled."""
    rows = np.arange(size)
    width = batch_size or size
    return [rows[i : i + width] for i in range(0, size, width)] * epochs


def descend(theta, x, y, batches, rate, *, mu=0.0, correction=0.0, clip=None):
    """Plain mini-batch descent, with every extra term of the methods tested here."""
    anchor = theta.copy()
    for rows in batches:
        step = gradient(theta, x[rows], y[rows])
        if clip is not None:
            step = step * min(1.0, clip / np.linalg.norm(step))
        theta = theta - rate * (step + mu * (theta - anchor) + correction)
    return theta
