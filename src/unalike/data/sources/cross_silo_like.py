"""Generators like cross-silo benchmarks: a few hospitals with different patients, without shared files.

Two generated federations with the published numbers of patients per center (du Terrail et al., "FLamby:
Datasets and Benchmarks for Cross-Silo Federated Learning in Realistic Healthcare Settings", 2022):

    heart_like   four hospitals, 13 features:    P(ill) = sigmoid(a_k + x'b_k),   b_k near a shared b
    tcga_like    six groups of hospitals, 39 features, times t with hazard h_k exp(x'b), censored

Centers differ in the means of features, in how common the event is, and a little in the coefficients. The
numbers of patients are real; nothing else is.
"""

from __future__ import annotations

import numpy as np

from ...core.random import generator
from ...typing import Array, Float64s
from ..survival import signed_times
from .source import Source, source_registry, standardize

HEART_SIZES = (303, 261, 46, 130)
TCGA_SIZES = (311, 196, 206, 162, 162, 51)
TCGA_FEATURES = 39
_DAYS_A_MONTH = 30.0


@source_registry.add("heart_like")
def heart_like(difference: float = 1.0, *, seed: int = 0) -> Source:
    """740 generated patients of four hospitals with 13 features; in `heart_like:0` they are alike."""
    rng = generator(seed, "heart-like")
    shared = rng.normal(0, 0.6, 13)
    parts, labels = [], []
    for size in HEART_SIZES:
        mean = difference * rng.normal(0, 0.7, 13)
        own = shared + difference * rng.normal(0, 0.25, 13)
        shift = difference * rng.normal(0, 0.5) - mean @ own
        x = mean + rng.normal(size=(size, 13))
        ill = rng.random(size) < 1 / (1 + np.exp(-(shift + x @ own)))
        parts.append(x)
        labels.append(ill.astype(np.int32))
    return Source(
        standardize(np.concatenate(parts)),
        np.concatenate(labels),
        2,
        owners=np.repeat(np.arange(4), HEART_SIZES),
        owner_names=tuple(f"hospital {k + 1}" for k in range(4)),
        label_names=("healthy", "ill"),
        description="generated patients of four hospitals, as many as in UCI heart disease",
    )


@source_registry.add("tcga_like")
def tcga_like(difference: float = 1.0, *, seed: int = 0) -> Source:
    """1,088 generated patients of six centers with 39 features and signed survival times, in months."""
    rng = generator(seed, "tcga-like")
    coefficients = np.concatenate([[0.6], rng.normal(0, 0.5, TCGA_FEATURES - 1)])
    common = np.clip(rng.beta(1.0, 3.0, TCGA_FEATURES - 1), 0.05, 0.95)
    parts = [_center(rng, size, coefficients, common, difference) for size in TCGA_SIZES]
    x, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Source(
        x.astype(np.float32),
        y.astype(np.float32),
        None,
        owners=np.repeat(np.arange(6), TCGA_SIZES),
        owner_names=tuple(f"region {k + 1}" for k in range(6)),
        description="generated patients of six centers, as many as in TCGA-BRCA",
    )


def _center(
    rng: np.random.Generator, size: int, coefficients: Float64s, common: Float64s, difference: float
) -> tuple[Array, Float64s]:
    """A center's features (age, then yes or no) and signed times, rounded to days so that there are ties."""
    age = difference * rng.normal(0, 0.3) + rng.normal(size=size)
    own = np.clip(common + difference * rng.normal(0, 0.08, len(common)), 0.02, 0.98)
    x = np.column_stack([age, rng.random((size, len(own))) < own]).astype(np.float64)
    hazard = np.exp((x - [0.0, *common]) @ coefficients + difference * rng.normal(0, 0.3)) / 240.0
    until = rng.exponential(1 / hazard)
    followed = rng.gamma(1.2, 25.0, size)  # most are followed for a few years only
    days = np.maximum(np.round(np.minimum(until, followed) * _DAYS_A_MONTH), 1.0)
    return x, signed_times(days / _DAYS_A_MONTH, (until <= followed).astype(int))
