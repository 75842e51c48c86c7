"""Memorization written the slow way: one query, one neighbor and one class at a time."""

import math

import numpy as np


def exponent(kernel, distance, dimension):
    return {"euclid": distance, "sq_over_p": distance**2 / dimension, "uniform": 0.0}[kernel]


def vote(keys, labels, query, k, classes, kernel="euclid", sigma=1.0):
    """The class probabilities of the k nearest, or None where nobody is there."""
    distances = [math.dist(key, query) for key in keys]
    order = sorted(range(len(keys)), key=lambda i: (round(distances[i], 6), i))[:k]
    if not order:
        return None
    first = min(exponent(kernel, distances[i], len(query)) for i in order)
    raw = {i: math.exp((first - exponent(kernel, distances[i], len(query))) / sigma) for i in order}
    total = sum(raw.values())
    return np.array([sum(raw[i] for i in order if labels[i] == c) / total for c in range(classes)])


def mixed(keys, labels, queries, common, share, k, **kernel):
    """lambda * vote + (1 - lambda) * global model for each query."""
    said = []
    for query, one in zip(queries.astype(float), common.astype(float), strict=True):
        near = vote(keys.astype(float), labels, query, k, len(one), **kernel)
        said.append(one if near is None else share * near + (1 - share) * one)
    return np.array(said)
