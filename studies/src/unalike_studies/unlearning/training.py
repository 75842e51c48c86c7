"""Claims on unlearning that need training, with one digit per client.

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024): three requests, each for all clients of one digit. Rounds are those of the retraining, and residual
accuracy is that on the rows of everybody who was forgotten; scratch is the yardstick of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import jax
import numpy as np

from unalike.experiments.unlearning_branch import Branch
from unalike.experiments.unlearning_schemes import (
    Forgetting,
    Scheme,
    UnlearningProblem,
    forget_in_sequence,
    prefixes,
    train_branch,
)
from unalike.trust.unlearning.calibration import Budget
from unalike.trust.unlearning.sensitivity import Mode

from ..study import Claim, at_least, at_most, average, in_order
from .data import CLASSES, REQUESTS, has_mnist, small
from .races import DELTA, EPSILON, UNDERCOUNTS, make_private_rule

SIGMA = 0.01
SIGMAS = (0.002, 0.005, 0.01, 0.02)
CLIPS = (0.05, 0.1, 0.2, 0.5, 1.0)


class Trials:
    """Trainings of all seeds, each done once."""

    def __init__(self, problems: Sequence[UnlearningProblem]) -> None:
        self.problems = list(problems)
        self.first: list[Branch] = [
            train_branch(one, one.start(), replays=prefixes(REQUESTS)) for one in self.problems
        ]
        self._known: dict[tuple[str, float, str], list[list[Forgetting]]] = {}

    def __call__(
        self, scheme: Scheme, sigma: float = SIGMA, mode: Mode = "reference"
    ) -> list[list[Forgetting]]:
        """What every request of every seed came to."""
        asked = (scheme, sigma if scheme == "sifu" else 0.0, mode if scheme in ("sifu", "last") else "")
        if asked not in self._known:
            budget = Budget(EPSILON, DELTA, sigma, "classic")
            self._known[asked] = [
                forget_in_sequence(problem, scheme, REQUESTS, first, budget, mode)
                for problem, first in zip(self.problems, self.first, strict=True)
            ]
        return self._known[asked]

    def rounds(self, *asked: object) -> list[float]:
        """Rounds of all requests together, for every seed."""
        return [float(sum(one.rounds for one in seed)) for seed in self(*asked)]  # type: ignore[arg-type]

    def residual(self, *asked: object) -> float:
        """Mean residual accuracy over requests and seeds, in percent."""
        return 100 * float(np.mean([[one.residual for one in seed] for seed in self(*asked)]))  # type: ignore[arg-type]


def training_claims(quick: bool) -> Iterator[Claim]:
    """U1 to U9."""
    trials, hard = Trials([small(seed) for seed in range(1 if quick else 3)]), has_mnist() and not quick
    claims = (
        *(residual_claims, cost_claims, sweep_claims, last_claims, accumulated_claims, sequence_claims),
        honest_claims,
    )
    for claim in claims:
        yield from (one if hard else _soften(one) for one in claim(trials))
    yield from (one if hard else _soften(one) for one in private_claims(trials, quick))
    yield traffic_claim(trials.problems[0])
    yield from small_watermark_claims(quick)
    yield from small_class_claims(trials.problems[0])


def small_watermark_claims(quick: bool) -> Iterator[Claim]:
    """U10: clients that differ by their watermarks."""
    trials = Trials([small(seed, watermarked=True) for seed in range(1 if quick else 3)])
    left = {s: trials.residual(s) for s in ("scratch", "sifu", "fine-tuning")}
    shown = ", ".join(f"{scheme} {value:.1f}" for scheme, value in left.items())
    yield Claim(
        "U10",
        "accuracy of SIFU on forgotten watermarked rows, %",
        "similar to scratch",
        "nearer to scratch than to fine-tuning",
        round(left["sifu"], 2),
        left["sifu"] - left["scratch"] < left["fine-tuning"] - left["sifu"],
        hard=False,
        note=f"{shown}; {UNDERCOUNTS}",
        place="Figure D.1",
    )
    ratio = float(np.mean(trials.rounds("sifu")) / np.mean(trials.rounds("scratch")))
    yield at_most(
        "U10",
        "rounds of SIFU over scratch's, with watermarks",
        [ratio],
        0.9,
        hard=False,
        published="significantly less",
        place="Figure D.1",
        note=UNDERCOUNTS,
    )


def small_class_claims(problem: UnlearningProblem) -> Iterator[Claim]:
    """U11: one request, for each class in turn."""
    groups = [list(range(digit, len(problem.federation), CLASSES)) for digit in range(CLASSES)]
    first, budget = train_branch(problem, problem.start()), Budget(EPSILON, DELTA, SIGMA, "classic")
    compared: tuple[Scheme, ...] = ("scratch", "fine-tuning", "sifu")
    found = {
        scheme: [
            forget_in_sequence(problem, scheme, [group], first, budget, "reference")[0] for group in groups
        ]
        for scheme in compared
    }
    left = {scheme: 100 * np.array([one.residual for one in ones]) for scheme, ones in found.items()}
    rounds = {scheme: np.array([one.rounds for one in ones]) for scheme, ones in found.items()}
    near = left["sifu"] - left["scratch"] < left["fine-tuning"] - left["sifu"]
    for words, verdicts, values in (
        ("SIFU's residual accuracy is nearer to scratch's than to fine-tuning's", near, left),
        ("SIFU takes fewer rounds than scratch", rounds["sifu"] < rounds["scratch"], rounds),
    ):
        yield at_least(
            "U11",
            f"classes of ten for which {words}",
            [float(verdicts.sum())],
            float(CLASSES),
            hard=False,
            published="for each class",
            place="Figure D.3",
            note="; ".join(f"{s} {'/'.join(f'{v:.0f}' for v in values[s])}" for s in compared),
        )


def _soften(claim: Claim) -> Claim:
    """A claim whose limit was measured on MNIST over several seeds."""
    words = "one seed" if has_mnist() else "8x8 digits, the limit is MNIST's"
    return replace(claim, hard=False, note="; ".join(filter(None, (claim.note, words))))


def residual_claims(trials: Trials) -> Iterator[Claim]:
    """U1: what is left of the forgotten digits."""
    sifu, tuned, scratch = (trials.residual(s) for s in ("sifu", "fine-tuning", "scratch"))
    yield at_most("U1", "residual accuracy of SIFU, %", [sifu], 20.0, note=UNDERCOUNTS)
    yield at_least("U1", "residual accuracy of fine-tuning, %", [tuned], 25.0)
    yield at_most("U1", "residual accuracy of scratch, %", [scratch], 1.0)


def cost_claims(trials: Trials) -> Iterator[Claim]:
    """U2 and U3: rounds of all three requests."""
    order = [float(np.mean(trials.rounds(s))) for s in ("fine-tuning", "sifu", "scratch")]
    yield in_order("U2", "rounds of fine-tuning, SIFU, scratch", order, note=UNDERCOUNTS)
    ratio = order[1] / order[2]
    holds = 0.4 <= ratio <= 0.75
    yield Claim(
        "U3",
        "rounds of SIFU over scratch's",
        "roughly half",
        "0.4 to 0.75",
        round(ratio, 3),
        holds,
        note=UNDERCOUNTS,
        place="section 5.5.2",
    )


def sweep_claims(trials: Trials) -> Iterator[Claim]:
    """U4: more noise restarts later, costs less and leaves more."""
    restarts = [
        float(np.mean([seed[0].restart.round for seed in trials("sifu", s) if seed[0].restart]))
        for s in SIGMAS
    ]
    yield in_order("U4", "first restart with sigma 0.002, 0.005, 0.01, 0.02", restarts)
    small_noise = np.mean(trials.rounds("sifu", SIGMAS[0])) / np.mean(trials.rounds("scratch"))
    yield at_most(
        "U4", "rounds at the least noise against scratch, apart by", [abs(float(small_noise) - 1)], 0.1
    )
    gap = abs(trials.residual("sifu", SIGMAS[-1]) - trials.residual("fine-tuning"))
    yield at_most("U4", "residual accuracy at the most noise against fine-tuning, points", [gap], 10.0)


def last_claims(trials: Trials) -> Iterator[Claim]:
    """U5: noise on the last model, by the ledger of what was averaged."""
    last, scratch = trials("last", SIGMA, "realized"), trials("scratch")
    for r in (0, 1):
        ratio = np.mean([seed[r].rounds for seed in last]) / np.mean([seed[r].rounds for seed in scratch])
        yield at_least("U5", f"rounds of last over scratch's, request {r + 1}", [float(ratio)], 0.85)
    gap = trials.residual("last", SIGMA, "realized") - trials.residual("sifu", 0.05, "realized")
    yield at_least("U5", "residual accuracy of last above SIFU's, points", [gap], 3.0)


def accumulated_claims(trials: Trials) -> Iterator[Claim]:
    """U6: stored updates added up again, without any guarantee."""
    ratio = np.mean(trials.rounds("fedaccum")) / np.mean(trials.rounds("scratch"))
    yield at_most("U6", "rounds of FedAccum (replay) over scratch's", [float(ratio)], 0.6)
    residual, tuned = trials.residual("fedaccum"), trials.residual("fine-tuning")
    gap = abs(trials.residual("fedaccum-reference") - tuned)
    words = "residual accuracy of FedAccum as published against fine-tuning, points"
    yield at_most("U6", words, [gap], 15.0, note="it never loads the replayed model")
    yield Claim(
        "U6",
        "residual accuracy of FedAccum (replay), %",
        "similar to fine-tuning",
        f"within 15 of {tuned:.1f}",
        round(residual, 2),
        abs(residual - tuned) <= 15,
        hard=False,
        note="the published variant never loads the replayed model, which makes it fine-tuning; replayed, "
        "the updates forget single digits well, but nothing is proven of it",
        place="section 5.5.2",
    )


def private_claims(trials: Trials, quick: bool) -> Iterator[Claim]:
    """U7: training with noise from the start forgets no better than fine-tuning."""
    problem = replace(trials.problems[0], rounds=400 if quick else 1500)
    grid = (0.2, 0.5, 1.0) if quick else CLIPS
    first = {
        clip: train_branch(problem, problem.start(), aggregator=make_private_rule(clip)) for clip in grid
    }
    best = min(grid, key=lambda clip: first[clip].rounds)
    words = ", ".join(f"{clip:g}: {branch.rounds}" for clip, branch in first.items())
    yield Claim(
        "U7",
        "clip that trains fastest (rounds)",
        "0.5",
        "0.5 or a neighbor",
        words,
        best in (0.2, 0.5, 1.0),
        place="Table D.1, MNIST",
    )
    budget = Budget(EPSILON, DELTA, SIGMA, "classic")
    private = forget_in_sequence(
        problem, "fine-tuning", REQUESTS, first[best], budget, aggregator=make_private_rule(best)
    )
    tuned = trials("fine-tuning")[0]
    gap = 100 * abs(float(np.mean([p.residual for p in private]) - np.mean([t.residual for t in tuned])))
    yield at_most(
        "U7",
        "residual accuracy of DP against fine-tuning, points",
        [gap],
        15.0,
        note=_compose_noise(best, first[best]),
    )
    ratio = sum(p.rounds for p in private) / sum(t.rounds for t in tuned)
    yield at_most("U7", "rounds of DP over fine-tuning's", [ratio], 1.3)


def _compose_noise(clip: float, branch: Branch) -> str:
    """What all rounds of the training with noise really spend, by zero-concentrated accounting."""
    noise = make_private_rule(clip).noise
    times = float(np.count_nonzero(branch.weights, axis=0).max())
    rho = times / (2 * noise**2)
    spent = rho + 2 * np.sqrt(rho * np.log(1 / DELTA))
    return f"its budget holds for one round; all rounds of the most drawn client spend epsilon {spent:,.0f}"


def sequence_claims(trials: Trials) -> Iterator[Claim]:
    """U8: digits that were forgotten stay so."""
    values = [100 * seed[-1].first for seed in trials("sifu")]
    yield average(
        "U8",
        "accuracy on the first digit after the third request, %",
        values,
        15.0,
        most=True,
        note=UNDERCOUNTS,
    )


def honest_claims(trials: Trials) -> Iterator[Claim]:
    """With the ledger of what was averaged, half the cost does not appear."""
    ratio = np.mean(trials.rounds("sifu", 0.05, "realized")) / np.mean(trials.rounds("scratch"))
    yield Claim(
        "U3",
        "rounds of SIFU over scratch's, realized ledger",
        "roughly half",
        "0.4 to 0.75",
        round(float(ratio), 3),
        bool(0.4 <= ratio <= 0.75),
        hard=False,
        note="the bound for the models that were averaged; expected not to hold",
        place="section 5.5.2",
    )


def traffic_claim(problem: UnlearningProblem) -> Claim:
    """U9: the ledger asks nothing of clients."""
    from unalike.aggregation.base import WeightedSum

    short = replace(problem, rounds=5)
    plain, measured = (train_branch(short, short.start(), aggregator=a) for a in (WeightedSum(), None))
    gap = abs(plain.bytes_sent - measured.bytes_sent)
    leaves = zip(*(jax.tree.leaves(branch.last) for branch in (plain, measured)), strict=True)
    same = all(np.array_equal(one, other) for one, other in leaves)
    return at_most("U9", "bytes more with the ledger than without", [gap], 0.0, note=f"equal models: {same}")
