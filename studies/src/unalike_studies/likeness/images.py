"""Claims on homogeneity of real images: MNIST and CIFAR-10.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), figure 3.5: 100 clients,
means over seeds and both data imbalances. A file with fewer rows per client has more noise of sampling; what
was published is moved by that before it is compared. Without a file there is no claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from unalike.typing import Array

from ..study import Claim, at_least, in_order, matches
from .data import (
    CIFAR,
    CIFAR_ROWS,
    INDEPENDENT,
    MNIST,
    PICTURE_CLIENTS,
    measure,
    pictures,
    with_fewer_rows,
)

SEEDS = (0, 1)
Curve = dict[float, tuple[float, float]]
"""By class imbalance: homogeneity at data imbalance 0 and 1."""


def picture_claims(quick: bool) -> Iterator[Claim]:
    """L3 to L8, on the files that are there, unless there is little time."""
    if quick:
        return
    if (mnist := pictures("mnist.npz")) is not None:
        yield from mnist_claims(curve(mnist, tuple(MNIST)))
    if (cifar := pictures("cifar10.npz")) is not None:
        yield from cifar_claims(curve(cifar, tuple(CIFAR)), len(cifar[0]))


def curve(data: tuple[Array, Array], knobs: tuple[float, ...]) -> Curve:
    """Means over seeds."""
    found: Curve = {}
    for knob in knobs:
        means = [
            float(np.mean([measure(data, PICTURE_CLIENTS, knob, d, seed).homogeneity for seed in SEEDS]))
            for d in (0.0, 1.0)
        ]
        found[knob] = (means[0], means[1])
    return found


def mnist_claims(found: Curve) -> Iterator[Claim]:
    """Dark pictures: the stand-in for handwritten digits of many writers."""
    yield from _falling("MNIST", found)
    for knob, known in MNIST.items():
        for d, (value, expected) in enumerate(zip(found[knob], known, strict=True)):
            words = f"MNIST, class imbalance {knob:g}, data imbalance {d}: homogeneity"
            yield matches("L6", words, value, expected, 0.04 * expected, hard=False, derivation=INDEPENDENT)
    ratio = found[0.0][0] / found[10.0][0]
    words = "MNIST: homogeneity at class imbalance 0 over that at 10"
    yield matches("L4", words, ratio, 2.26, 0.05 * 2.26, derivation=INDEPENDENT)
    yield at_least("L7", "MNIST: data imbalance lowers homogeneity by", [found[0.0][0] - found[0.0][1]], 0.1)


def cifar_claims(found: Curve, rows: int) -> Iterator[Claim]:
    """Figure 3.5, moved to the rows of the file."""
    yield from _falling("CIFAR-10", found)
    mean = {knob: float(np.mean(values)) for knob, values in found.items()}
    kept = rows / CIFAR_ROWS
    for knob, published in CIFAR.items():
        expected = with_fewer_rows(published, CIFAR[0.0], kept)
        holds = abs(mean[knob] - expected) <= 0.03 * expected
        words = f"CIFAR-10, class imbalance {knob:g}: homogeneity"
        tolerance = f"{expected:.4g} ± {0.03 * expected:.2g}"
        place = "Figure 3.5, read from the figure"
        derivation = "" if kept == 1 else f"Figure 3.5, moved to {rows:,} of {CIFAR_ROWS:,} rows"
        yield Claim(
            "L6",
            words,
            published,
            tolerance,
            mean[knob],
            holds,
            hard=kept == 1,
            place=place,
            derivation=derivation,
        )
    ratio = found[0.0][0] / found[10.0][0]
    yield matches(
        "L4",
        "CIFAR-10: homogeneity at class imbalance 0 over that at 10",
        ratio,
        1.37,
        0.05 * 1.37,
        hard=kept == 1,
        note="" if kept == 1 else "fewer rows lower the first only",
        derivation=INDEPENDENT,
    )
    saturated = (mean[0.0] - mean[10.0]) / (mean[0.0] - mean[250.0])
    words = "CIFAR-10: part of the whole fall that class imbalance 10 has seen"
    yield at_least(
        "L5",
        words,
        [saturated],
        0.80,
        published="the highest drop is from 0 to 10, over 10 the change is almost negligible",
        place="section 3.4.3",
        derivation="0.84 from Figure 3.5, read from the figure",
        hard=kept == 1,
    )
    drops = [found[knob][0] - found[knob][1] for knob in (10.0, 1.0, 0.0)]
    words = "CIFAR-10: data imbalance costs less, the more labels differ (class imbalance 10, 1, 0)"
    yield in_order("L7", words, drops)


def _falling(name: str, found: Curve) -> Iterator[Claim]:
    knobs = [knob for knob in found if knob in (0.0, 1.0, 10.0, 100.0, 250.0)]
    falls = [found[a][d] - found[b][d] for a, b in pairwise(knobs) for d in (0, 1)]
    words = f"{name}: smallest fall over class imbalances {', '.join(f'{knob:g}' for knob in knobs)}"
    yield at_least("L3", words, [min(falls)], 0.0, note="mean of two seeds")
