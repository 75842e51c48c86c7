"""Clients and published numbers of the study of fairness.

Yue, "Federated Data Analytics: Theory and Application" (doctoral thesis, 2023), chapter 2 (GIFAIR-FL). Three
small problems stand for the published ones, all with linear labels y = argmax(x W_g + noise) that differ
between groups g:

- `three_groups`: 12, 20 and 8 clients; the middle group has the common W, the others stray from it;
- `three_unequal_groups`: they stray further, and the middle group also has the most rows;
- `two_groups`: 25 clients with 200 rows and 10 with 80 whose W strays.

Tables are in per cent: (mean over clients, standard deviation over clients), or groups' accuracies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from unalike.core.random import generator
from unalike.data import Federation
from unalike.models import Task, linear

INPUTS, CLASSES, NOISE, TESTED = 20, 5, 0.5, 200

SKEWED = {
    "fedavg": (79.2, 22.3),
    "q-ffl": (84.6, 18.5),
    "term": (84.2, 13.8),
    "fedmgda": (85.0, 14.9),
    "ditto": (92.5, 14.3),
    "gifair": (87.9, 5.7),
    "gifair-per": (93.0, 6.2),
}
"""FEMNIST letters a to j, 100 clients with five of them each (table 2.2)."""
THREE_GROUPS = {
    "fedavg": (79.72, 90.93, 80.21),
    "q-ffl": (81.15, 88.24, 80.93),
    "term": (81.29, 88.08, 81.84),
    "fedmgda": (81.03, 89.12, 81.33),
    "ditto": (82.37, 92.05, 83.03),
    "term-group": (82.01, 89.13, 81.75),
    "gifair": (83.41, 88.29, 84.37),
    "gifair-per": (83.96, 91.05, 84.98),
}
"""FEMNIST in three groups of devices (table 2.4)."""
PRINTED_DISCREPANCY = {"ditto": 9.02, "gifair": 6.07}
"""Those of table 2.4 that do not follow from its accuracies."""
ORIGINAL = {
    "fedavg": (80.4, 11.1),
    "q-ffl": (80.9, 10.6),
    "term": (81.0, 10.3),
    "afl": (82.4, 9.85),
    "ditto": (83.7, 10.1),
    "gifair": (83.2, 5.2),
    "gifair-per": (84.1, 4.5),
}
"""FEMNIST's writers, 500 of them (table 2.3)."""
PLAYS = {
    "fedavg": (53.21, 9.25),
    "q-ffl": (53.90, 7.52),
    "afl": (54.58, 8.44),
    "ditto": (60.74, 8.32),
    "gifair": (57.04, 3.14),
    "gifair-per": (61.58, 4.33),
}
"""Shakespeare's roles, 31 of them (table 2.5)."""
GENDER = {
    "fedavg": (72.95, 40.39),
    "q-ffl": (67.14, 43.26),
    "fedmgda": (67.07, 43.85),
    "ditto": (74.19, 45.73),
    "term-group": (72.87, 44.31),
    "gifair": (67.42, 52.04),
    "gifair-per": (73.95, 54.88),
}
"""Shakespeare's roles, men and women (table 2.6)."""


@cache
def task() -> Task:
    """Logistic regression that starts at zero; one object, so that programs are compiled once."""
    return Task.classification(linear(input_shape=(INPUTS,), outputs=CLASSES), CLASSES)


def linear_groups(
    seed: int, clients: Sequence[int], stray: Sequence[float], rows: Sequence[int]
) -> Federation:
    """Groups of so many clients whose rule strays from the common one, with so many rows each, times a number
    from 0.6 to 1.4. Sizes are the same for all seeds, so that programs are compiled once."""
    rng, lucky = generator(seed, "fair groups"), generator(0, "fair sizes")
    common = rng.normal(size=(INPUTS, CLASSES))
    made, groups = {}, {}
    for g, (count, far, size) in enumerate(zip(clients, stray, rows, strict=True)):
        rule = common + far * rng.normal(size=common.shape)
        for k in range(count):
            many = int(size * lucky.uniform(0.6, 1.4))
            x = rng.normal(size=(many + TESTED, INPUTS)).astype(np.float32)
            y = np.argmax(x @ rule + NOISE * rng.normal(size=(len(x), CLASSES)), axis=1)
            name = f"{g}-{k}"
            made[name] = {"train": (x[:many], y[:many]), "test": (x[many:], y[many:])}
            groups[name] = f"group {g + 1}"
    return Federation.from_clients(made, classes=CLASSES).with_groups(groups)


def three_groups(seed: int) -> Federation:
    """12, 20 and 8 clients of about 150 rows; the first and the last group stray by 0.7."""
    return linear_groups(seed, (12, 20, 8), (0.7, 0.0, 0.7), (150, 150, 150))


def three_unequal_groups(seed: int) -> Federation:
    """The same groups of about 120, 240 and 90 rows, which stray by 1.2."""
    return linear_groups(seed, (12, 20, 8), (1.2, 0.0, 1.2), (120, 240, 90))


def two_groups(seed: int) -> Federation:
    """25 clients of about 200 rows, and 10 of about 80 that stray by 1."""
    return linear_groups(seed, (25, 10), (0.0, 1.0), (200, 80))
