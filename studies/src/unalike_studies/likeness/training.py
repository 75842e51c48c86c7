"""Claims on homogeneity of clients with digits, measured on embedded data.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), chapter 3, on
scikit-learn's digits with 20 clients. Nothing is trained; expected values are means of ten seeds of an
independent implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from unalike.core.random import generator
from unalike.data.similarity import Similarity, similarity_of
from unalike.data.similarity.principal_direction import directions_of
from unalike.typing import Array, Float64s

from ..study import Claim, at_least, at_most, in_order, matches
from .data import (
    ALL_ROWS,
    DIGITS,
    DIGITS_CLIENTS,
    INDEPENDENT,
    KNOBS,
    compare,
    digits,
    equal_pieces,
    measure,
)

Change = Callable[[Array], Array]


def training_claims(quick: bool) -> Iterator[Claim]:
    """L3, L4, L7 to L9, L11 and L12."""
    seeds = 4 if quick else 10
    yield from knob_claims(seeds)
    yield from fit_claims(seeds)
    yield from sign_claims(seeds)
    yield from size_claims(seeds)
    yield from feature_claims()


def curves(data_imbalance: float, seeds: int) -> Float64s:
    """Homogeneity for every seed and class imbalance."""
    return np.array(
        [
            [measure(digits(), DIGITS_CLIENTS, knob, data_imbalance, seed).homogeneity for knob in KNOBS]
            for seed in range(seeds)
        ]
    )


def knob_claims(seeds: int) -> Iterator[Claim]:
    """L3, L4 and L7: what the two knobs do."""
    even, uneven = curves(0.0, seeds), curves(1.0, seeds)
    for name, found, expected in (("0", even, DIGITS[0.0]), ("1", uneven, DIGITS[1.0])):
        gaps = -np.diff(found, axis=1)
        words = f"digits, data imbalance {name}: smallest fall from class imbalance 0 to 1, 10, 100"
        yield at_least("L3", words, gaps.min(axis=1).tolist(), 0.0)
        for knob, value, known in zip(KNOBS, found.mean(axis=0), expected, strict=True):
            words = f"digits, class imbalance {knob:g}, data imbalance {name}: homogeneity"
            yield matches("L3", words, float(value), known, 0.04 * known, derivation=INDEPENDENT)
    ratio = float(even[:, 0].mean() / even[:, 2].mean())
    words = "digits: homogeneity at class imbalance 0 over that at 10"
    yield matches("L4", words, ratio, 1.88, 0.05 * 1.88, derivation=INDEPENDENT)
    drop = (even - uneven).mean(axis=0)
    words = "digits: data imbalance lowers homogeneity of clients with like labels"
    yield matches("L7", words, float(drop[0]), 0.363, 0.15, derivation=INDEPENDENT)
    words = "digits: ... and less of clients with unlike labels (class imbalance 1, then 0)"
    yield in_order("L7", words, drop[[1, 0]].tolist())


def fit_claims(seeds: int) -> Iterator[Claim]:
    """L8: the log-normal law moves and widens."""
    fits = np.array(
        [
            [measure(digits(), DIGITS_CLIENTS, knob, 0.0, seed).fit[:2] for knob in KNOBS[:3]]
            for seed in range(seeds)
        ]
    ).mean(axis=0)
    yield in_order("L8", "digits: theta falls with class imbalance (10, 1, 0)", fits[::-1, 0].tolist())
    yield in_order("L8", "digits: phi grows with class imbalance (0, 1, 10)", fits[:, 1].tolist())


def sign_claims(seeds: int) -> Iterator[Claim]:
    """L9: signs that mean nothing halve homogeneity, and are noticed."""
    right, wrong, alarms = [], [], []
    for seed in range(seeds):
        found = equal_pieces(len(digits()[0]), DIGITS_CLIENTS, 89, seed)
        messages = directions_of(digits()[0], found)[1]
        flips = generator(seed, "flips").choice([-1.0, 1.0], len(messages))
        turned = similarity_of(flips[:, None] * messages, sign_alarm=True)
        right.append(similarity_of(messages, sign_alarm=True).homogeneity)
        wrong.append(turned.homogeneity)
        alarms.append(float(any("signs" in words for words in turned.warnings)))
    ratio = float(np.mean(wrong) / np.mean(right))
    words = "digits: homogeneity after random flips, over before"
    yield matches("L9", words, ratio, 1.69 / 3.26, 0.05, derivation=INDEPENDENT)
    yield at_least("L9", "digits: wrong signs are noticed", alarms, 1.0)


def size_claims(seeds: int) -> Iterator[Claim]:
    """L11: it does not depend on the number of clients, but on their rows."""
    x, _ = digits()

    def mean_over_seeds(clients: int, each: int) -> float:
        found = [compare(x, equal_pieces(len(x), clients, each, seed)).homogeneity for seed in range(seeds)]
        return float(np.mean(found))

    fixed = [mean_over_seeds(clients, 40) for clients in (5, 10, 20, 40)]
    words = "digits, 40 rows each: range of homogeneity over 5 to 40 clients"
    yield at_most("L11", words, [float(np.ptp(fixed))], 0.12, note="independently made: 2.58 to 2.64")
    shared = []
    for clients, known in ALL_ROWS.items():
        found = [measure(digits(), clients, 0.0, 0.0, seed).homogeneity for seed in range(10)]
        shared.append(float(np.mean(found)))
        words = f"digits, all rows dealt to {clients} clients: homogeneity"
        yield matches("L11", words, shared[-1], known, 0.04 * known, derivation=INDEPENDENT)
    slope = float(np.polyfit(np.log(len(x) / np.array(list(ALL_ROWS))), shared, 1)[0])
    words, derived = "digits, all rows dealt: slope against ln(rows)", "misalignment is one over the rows"
    yield matches("L11", words, slope, 0.5, 0.06, derivation=derived)


def feature_claims() -> Iterator[Claim]:
    """L12: what is done to the pictures of every second client."""
    plain = _every_second(lambda x: x)
    turned = _every_second(lambda x: np.rot90(x, axes=(1, 2)))
    sides = turned.spectrum.fiedler > 0
    kinds = np.arange(DIGITS_CLIENTS) % 2 == 1
    right = float(max((sides == kinds).mean(), (sides != kinds).mean()))
    yield at_least("L12", "turned by 90 degrees: clients that the Fiedler vector puts right", [right], 1.0)
    yield matches(
        "L12", "turned by 90 degrees: homogeneity", turned.homogeneity, 1.84, 0.1, derivation=INDEPENDENT
    )
    pale = abs(_every_second(lambda x: 0.5 * x).homogeneity - plain.homogeneity)
    yield at_most("L12", "half the contrast changes homogeneity by", [pale], 1e-6)
    inverted = _every_second(lambda x: 1 - x)
    for words, found, known, tolerance, hard in (
        ("inverted: homogeneity", inverted, 1.93, 0.1, True),
        ("unchanged: homogeneity", plain, 3.03, 0.25, False),
    ):
        value = found.homogeneity
        yield matches("L12", words, value, known, tolerance, hard=hard, derivation=INDEPENDENT)


def _every_second(change: Change) -> Similarity:
    x = digits()[0].reshape(-1, 8, 8)
    pieces = equal_pieces(len(x), DIGITS_CLIENTS, 89, 0)
    rows = np.concatenate([change(x[mine]) if k % 2 else x[mine] for k, mine in enumerate(pieces)])
    return compare(rows, np.split(np.arange(len(rows)), DIGITS_CLIENTS))
