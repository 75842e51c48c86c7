"""Claims on sampling schemes that need training; runs differ only in who is drawn.

Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning" (2021) and "A General Theory for Client Sampling in Federated
Learning" (2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from unalike.algorithms import FedProx, Optimizer

from ..shared.summaries import mean_of
from ..study import Claim, at_least, at_most, matches
from .data import UNBALANCED, Curve, Problem, clouds, learn, one_class_each, unbalanced_problem

ONE_CLASS = ("md", "clustered-size", "clustered-similarity", "target")


def training_claims(quick: bool) -> Iterator[Claim]:
    """CS-12 to CS-17."""
    problems = [one_class_each(seed, quick) for seed in range(1 if quick else 8)]
    yield from one_class_claims(problems, quick)
    yield from unbalanced_claims(quick)
    yield from uniform_claims(quick)
    yield from proximal_claims(problems)
    yield from measure_claims(problems)


def curves(problems: list[Problem], names: tuple[str, ...], **options: object) -> dict[str, list[Curve]]:
    """Every scheme on every problem, ten clients a round; the problem's place is the seed."""
    return {
        name: [learn(problem, name, 10, seed, **options) for seed, problem in enumerate(problems)]  # type: ignore[arg-type]
        for name in names
    }


def one_class_claims(problems: list[Problem], quick: bool) -> Iterator[Claim]:
    """One class per client: which classes a round sees, where the loss ends, how much it jumps."""
    learned, size_note = curves(problems, ONE_CLASS), effort(problems)
    for name, reference, source in (
        ("md", 6.5, {"derivation": "closed form; section 3.6 says 6 to 8"}),
        ("clustered-size", 6.6952, {"derivation": "closed form of uniform sampling"}),
        ("clustered-similarity", 10, {"place": "section 3.6"}),
        ("target", 10, {"place": "section 3.6"}),
    ):
        seen = mean_of(learned[name], "classes_at_end")
        words, slack = f"classes a round at the end, {name}", 0.4 if reference < 10 else 0.05
        yield matches("CS-12", words, seen, reference, slack, note=size_note, **source)
    reached = [int(np.argmax(curve.classes == 10)) for curve in learned["clustered-similarity"]]
    words = "rounds until similarity first sees all classes"
    yield at_most("CS-12", words, reached, 50, published="quickly", place="section 3.6")
    md, size, similar, oracle = (mean_of(learned[name], "end") for name in ONE_CLASS)
    words, derivation = "final loss of similarity over the oracle's", "the same performance, section 3.6"
    yield matches("CS-12", words, similar / oracle, 1.0, 0.02, note=size_note, derivation=derivation)
    words = "final loss of the oracle over clustered-size's"
    yield at_most("CS-12", words, [oracle / size], 1.0, note=size_note)
    yield at_most(
        "CS-12",
        "final loss of clustered-size over md's",
        [size / md],
        1.0,
        note=f"{_per_seed(learned['clustered-size'], learned['md'])}; {size_note}",
        hard=not quick,
    )
    jumps = mean_of(learned["md"], "jitter") / mean_of(learned["clustered-similarity"], "jitter")
    yield at_least("CS-12", "how many times less the loss jumps with similarity than with md", [jumps], 5.0)


def effort(problems: list[Problem], all_rows: int = 50_000, all_rounds: int = 600) -> str:
    """How large a comparison was, beside the published one."""
    rows, rounds = int(problems[0].federation.train.sizes.sum()), problems[0].rounds
    return f"{rows:,} of {all_rows:,} rows, {rounds} of {all_rounds:,} rounds, seeds: {len(problems)}"


def pictures_effort(problems: list[Problem]) -> str:
    """The same where CIFAR-10 with Dirichlet labels was published."""
    scale = effort(problems, int(UNBALANCED.sum()), 1000)
    return f"one class per client where CIFAR-10 with Dirichlet labels was published, {scale}"


def _per_seed(one: list[Curve], other: list[Curve]) -> str:
    """The ratio of final losses seed by seed."""
    ratios = np.array([a.end / b.end for a, b in zip(one, other, strict=True)])
    error = ratios.std(ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else float("nan")
    return f"seed by seed {ratios.mean():.4f}, standard error {error:.4f}"


def unbalanced_claims(quick: bool) -> Iterator[Claim]:
    """Unequal sizes: the area under the loss curve, for very unlike and for nearly alike clients."""
    gains = {}
    for alpha in (0.001, 10.0):
        problems = [unbalanced_problem(alpha, seed, quick) for seed in range(1 if quick else 3)]
        learned = curves(problems, ("md", "clustered-size", "clustered-similarity"))
        md, size, similar = (mean_of(learned[name], "area") for name in learned)
        gains[alpha], note = (md - similar) / md, unbalanced_effort(problems)
        words = f"loss of similarity over clustered-size's, Dirichlet({alpha:g})"
        yield at_most("CS-13", words, [similar / size], 1.01, note=note)
        words = f"loss of clustered-size over md's, Dirichlet({alpha:g})"
        yield at_most("CS-13", words, [size / md], 1.01, note=note)
    words, larger = "gain of similarity over md is larger for unlike clients", gains[0.001] - gains[10.0]
    yield at_least("CS-13", words, [larger], 0.0, note=note)


def unbalanced_effort(problems: list[Problem]) -> str:
    """How large a comparison was, beside that on CIFAR-10."""
    first = problems[0]
    rows, steps = int(first.federation.train.sizes.sum()), first.work.steps
    return (
        f"{rows:,} of {UNBALANCED.sum():,} rows, {first.rounds} of 1,000 rounds, {steps} of 100 local steps, "
        f"an MLP for a CNN, seeds: {len(problems)}"
    )


def uniform_claims(quick: bool) -> Iterator[Claim]:
    """Uniform, multinomial and clustered by size, half of the clients, over many draws of the data."""
    gaps, note = [], _clouds_effort(quick)
    for clients in (10, 20, 40) if quick else (10, 20, 40, 80):
        md, uniform, size = _tails(clients, None, quick)
        gaps.append((md - uniform) / md)
        yield at_most(
            "CS-14",
            f"loss of uniform over md's, {clients} equal clients",
            [uniform / md],
            1.0,
            hard=not quick,
            note=note,
        )
        yield at_most(
            "CS-14",
            f"loss of clustered-size over md's, {clients} equal clients",
            [size / md],
            1.0,
            hard=not quick,
            note=note,
        )
    shrinks = all(a >= b for a, b in pairwise(gaps))
    words = ", ".join(f"{gap:.1%}" for gap in gaps)
    yield Claim(
        "CS-14",
        "the gain of uniform over md shrinks with more clients",
        None,
        "shrinking",
        words,
        shrinks,
        hard=False,
        note=note,
    )
    for clients in (10, 20):
        md, uniform, size = _tails(clients, "lognormal:1", quick)
        yield at_most(
            "CS-15",
            f"loss of clustered-size over md's, {clients} unequal clients",
            [size / md],
            1.0,
            hard=not quick,
            note=note,
        )
        yield at_most(
            "CS-15",
            f"loss of md over uniform's, {clients} unequal clients",
            [md / uniform],
            1.0,
            hard=False,
            note=note,
        )


def _clouds_effort(quick: bool) -> str:
    """How large the comparisons on Gaussian classes are, beside those on Shakespeare."""
    draws, rounds = _draws_and_rounds(quick)
    return (
        f"Gaussian classes and an MLP, {draws} draws, {rounds} of 600 rounds, 20 of 50 local steps; it was "
        "published for Shakespeare, an LSTM and 30 seeds: --full --only CS-15"
    )


def _draws_and_rounds(quick: bool) -> tuple[int, int]:
    return (2, 20) if quick else (12, 60)


def _tails(clients: int, sizes: str | None, quick: bool) -> tuple[float, float, float]:
    """The mean final losses of md, uniform and clustered-size."""
    draws, rounds = _draws_and_rounds(quick)
    problems = [clouds(clients, sizes, seed, rounds) for seed in range(draws)]
    md, uniform, size = (
        float(np.mean([learn(problem, name, clients // 2, s).end for s, problem in enumerate(problems)]))
        for name in ("md", "uniform", "clustered-size")
    )
    return md, uniform, size


def proximal_claims(problems: list[Problem]) -> Iterator[Claim]:
    """The same order with a proximal term."""
    first = problems[0]
    proximal = FedProx(work=first.work, optimizer=Optimizer("sgd", first.learning_rate), mu=0.1)
    learned = curves(problems, ("md", "clustered-size", "clustered-similarity"), algorithm=proximal)
    md, size, similar = (mean_of(learned[name], "end") for name in learned)
    words, size_note = "FedProx: final loss of similarity over clustered-size's", pictures_effort(problems)
    yield at_most("CS-16", words, [similar / size], 1.0, note=size_note)
    yield at_most(
        "CS-16",
        "FedProx: final loss of clustered-size over md's",
        [size / md],
        1.0,
        hard=len(problems) > 1,
        note=f"{_per_seed(learned['clustered-size'], learned['md'])}; {size_note}",
    )


def measure_claims(problems: list[Problem]) -> Iterator[Claim]:
    """The choice of similarity hardly matters."""
    names = tuple(f"clustered-similarity:{measure}" for measure in ("arccos", "L2", "L1"))
    few = problems[:2]
    ends = [mean_of(learned, "end") for learned in curves(few, names).values()]
    spread, words = (max(ends) - min(ends)) / min(ends), "final losses with arccos, L2 and L1 differ by"
    yield at_most("CS-17", words, [spread], 0.05, note=pictures_effort(few))
