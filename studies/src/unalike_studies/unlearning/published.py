"""A long study: the published column for MNIST, unscaled.

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024): a hundred clients of a hundred images, one digit each, ten of them a round, ten full-batch steps of
0.01, noise of 0.05 for epsilon 10 and delta 0.01 by the classic calibration, until 93 percent, three
requests, ten seeds. The results were published in words and figures only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unalike.experiments.unlearning_schemes import Forgetting, Scheme, forget_in_sequence, train_branch
from unalike.trust.unlearning.calibration import Budget
from unalike.trust.unlearning.sensitivity import Mode

from ..study import Claim
from .data import REQUESTS, has_mnist, published
from .training import UNDERCOUNTS

BUDGET = Budget(10.0, 0.01, 0.05, "classic")
COMPARED: tuple[Scheme, ...] = ("scratch", "sifu", "fine-tuning")
MODES: tuple[Mode, ...] = ("reference", "realized")
MOST_LAST = 10_000
"""Rounds after which the scheme `last` is given up."""

Results = dict[str, list[list[Forgetting]]]


def real_claims(quick: bool, last_rounds: int = MOST_LAST) -> Iterator[Claim]:
    """Claims A to C of the text, where MNIST is there; about five minutes for each of ten seeds."""
    if not has_mnist():
        return
    results: Results = {scheme: [] for scheme in COMPARED}
    for seed in range(1 if quick else 10):
        lesson = published(seed)
        first = train_branch(lesson, lesson.start())
        for scheme in COMPARED:
            found = forget_in_sequence(lesson, scheme, REQUESTS, first, BUDGET, "reference")
            results[scheme].append(found)
        if seed == 0:
            short = replace(lesson, rounds=last_rounds)
            last = {
                mode: forget_in_sequence(short, "last", REQUESTS[:1], first, BUDGET, mode)[0]
                for mode in MODES
            }
    yield from compared_claims(results)
    yield from (last_claim(last[mode], mode, last_rounds) for mode in MODES)


def compared_claims(results: Results) -> Iterator[Claim]:
    """Rounds and residual accuracies of SIFU, between scratch and fine-tuning."""
    rounds = {s: np.array([[one.rounds for one in seed] for seed in r]) for s, r in results.items()}
    left = {s: 100 * np.array([[one.residual for one in seed] for seed in r]) for s, r in results.items()}
    each = rounds["sifu"].sum(axis=1) / rounds["scratch"].sum(axis=1)
    ratio = float(each.mean())
    yield Claim(
        "B",
        "MNIST: rounds of SIFU over scratch's",
        "roughly half",
        "0.4 to 0.75",
        round(ratio, 3),
        0.4 <= ratio <= 0.75,
        spread=float(np.ptp(each)) / 2,
        note=f"mean rounds {_words(rounds, 0)}; {UNDERCOUNTS}",
        place="section 5.5.2",
    )
    means = {scheme: float(values.mean()) for scheme, values in left.items()}
    nearer = means["sifu"] - means["scratch"] < means["fine-tuning"] - means["sifu"]
    yield Claim(
        "B",
        "MNIST: residual accuracy of SIFU, %",
        "similar to scratch, slightly higher",
        "nearer to scratch than to fine-tuning",
        round(means["sifu"], 2),
        nearer,
        note=_words(left, 1),
        place="section 5.5.2",
    )
    gap = means["fine-tuning"] - means["scratch"]
    yield Claim(
        "A",
        "MNIST: residual accuracy of fine-tuning above scratch, points",
        "significantly higher",
        ">= 20",
        round(gap, 2),
        gap >= 20,
        place="section 5.5.2",
    )


def last_claim(last: Forgetting, mode: Mode, most: int) -> Claim:
    """Whether noise on the last model can be trained away; how much it is follows from the ledger."""
    return Claim(
        "C",
        f"MNIST: rounds of last, first request, {mode} ledger",
        "not reached in 10,000",
        f">= {most}",
        float(last.rounds),
        last.rounds >= most,
        hard=False,
        note=f"noise of {last.noise:.3g}; utility {100 * last.utility:.1f} %, "
        f"residual accuracy {100 * last.residual:.1f} %",
        place="section 5.5.2",
    )


def _words(values: dict[str, np.ndarray], digits: int) -> str:
    """The means of every request, scheme by scheme."""
    means = {scheme: table.mean(axis=0) for scheme, table in values.items()}
    return ", ".join(f"{s} {'/'.join(f'{v:.{digits}f}' for v in row)}" for s, row in means.items())
