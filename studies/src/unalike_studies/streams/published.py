"""Long studies: the f-split of CIFAR-10 and CIFAR-100 with the published CNN, and writers of FEMNIST.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), Tables 4.3 to 4.5, by the
published procedure: a share f of the rows is partitioned into 25 historical clients, the other rows into 25
fresh ones, each by Dirichlet(0.4) over labels (CIFAR-100: Pachinko allocation); the rate of the published
grid is chosen on validation rows, and training begins anew on training and validation rows; accuracies are
means over clients. The effort is what two cores do in about an hour for CIFAR-10: fewer images and rounds,
and rates chosen on the first seed for all. Numbers of rounds and of local steps were not published; the
curves have 800 rounds. Data that are not in the folder of UNALIKE_DATA are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from unalike.data import load
from unalike.data.sources.files import local
from unalike.data.sources.source import Source
from unalike.models import Task
from unalike.typing import Float64s

from ..fixtures import load_rows
from ..shared.summaries import printed_difference
from ..study import Claim, Effort, at_published_effort, average
from ..trainings import Trainings, describe_training
from .data import CELLS, FRACTIONS, TABLES
from .problems import ROLE_WORK, Problem, mean_accuracy, pictures
from .sweeps import GRID, Marks, sweep_claims
from .tuning import RATES, Make, Score, Tuned, choose_rate, format_tuned

RUNS = 3
IMAGES, ROUNDS, CURVES = 2_500, 40, 800
"""Images and rounds of an hour, and the rounds of the published curves."""
WRITERS, WRITER_ROUNDS = 60, 60
"""Of 3,597 writers, and in how many rounds those who are not permanent come one after the other."""
FEMNIST_FILES = ("femnist", "fed_emnist_train.h5")
STRATEGIES = 3 + len(GRID) + 1


@at_published_effort("streams", "DS-21")
def cifar10_claims(effort: Effort) -> Iterator[Claim]:
    """CIFAR-10 with the published CNN, where its file is there."""
    if local("cifar10.npz") is not None:
        yield from image_claims("DS-21", "CIFAR-10", "dirichlet-class:0.4", effort)


@at_published_effort("streams", "DS-22")
def cifar100_claims(effort: Effort) -> Iterator[Claim]:
    """CIFAR-100 by Pachinko allocation, where one of its files is there."""
    if local("cifar100.npz") is not None or local("cifar-100-binary.tar.gz") is not None:
        yield from image_claims("DS-22", "CIFAR-100", "pachinko:0.4,10", effort)


@at_published_effort("streams", "DS-23")
def femnist_claims(effort: Effort) -> Iterator[Claim]:
    """Writers of FEMNIST, where their files are there: what stays should count alone, as published."""
    if not any(local(name) is not None for name in FEMNIST_FILES):
        return
    runs, rounds, note = _effort(effort, WRITER_ROUNDS)
    names = ("fresh", "uniform", *GRID, "historical")
    effort.trainings.expect(len(FRACTIONS) * len(names) * (len(RATES) + runs))
    score = keep_scores(effort.trainings)
    for fraction, cell, table in zip(FRACTIONS, CELLS["FEMNIST"], TABLES, strict=True):
        marks = tuned_marks(partial(writers, fraction, rounds), names, runs, score)
        more = f"{format_tuned(marks)}; {WRITERS} of 3,597 writers, {note}"
        about: dict[str, Any] = {"place": f"{table}, FEMNIST", "hard": False, "note": more}
        for other, theirs in (("uniform", cell.uniform), ("fresh", cell.fresh)):
            values = [a.accuracy - b.accuracy for a, b in zip(marks["historical"], marks[other], strict=True)]
            line = f"FEMNIST, {fraction:.0%} of writers permanent: historical above {other}, points"
            theirs_apart = printed_difference(cell.only_historical, theirs)
            yield average("DS-23", line, values, 0.0, published=theirs_apart, **about)


def image_claims(
    id: str, data: str, partition: str, effort: Effort, source: Source | None = None
) -> Iterator[Claim]:
    """Every strategy at the three shares of historical rows, with the published CNN.

    Args:
        id: of the claims.
        data: which images, and the table beside which they stand.
        partition: how historical and fresh rows are partitioned.
        effort: how many seeds, and which share of the rounds.
        source: the images, where they are read already.
    """
    runs, rounds, note = _effort(effort, ROUNDS)
    effort.trainings.expect(len(FRACTIONS) * STRATEGIES * (len(RATES) + runs))
    read = cache(lambda: load_rows(data.lower().replace("-", "")) if source is None else source)
    score = keep_scores(effort.trainings)

    def make(fraction: float, seed: int, validation: float) -> Problem:
        chosen: dict[str, Any] = {"model": "cnn-wide", "partition": partition, "validation": validation}
        return pictures(read(), fraction, seed, IMAGES, rounds, **chosen)

    def marks_of(fraction: float, names: Sequence[str]) -> tuple[Marks, str]:
        found = tuned_marks(partial(make, fraction), names, runs, score)
        about = f"{format_tuned(found)}; {IMAGES:,} of 60,000 images, {note}"
        return {name: [one.accuracy for one in of] for name, of in found.items()}, about

    yield from sweep_claims(id, f"{data}, CNN", data, marks_of)


def tuned_marks(make: Make, names: Sequence[str], runs: int, score: Score) -> dict[str, list[Tuned]]:
    """Every strategy on every seed, with the rate that validates best on the first.

    Args:
        make: the problem.
        names: the strategies.
        runs: how many seeds.
        score: how a training is judged.
    """
    found: dict[str, list[Tuned]] = {}
    for name in names:
        rate = choose_rate(make, name, RATES, 0, score)
        tests = [score(make(seed, 0.0), name, rate, seed, "test") for seed in range(runs)]
        found[name] = [Tuned(rate, test) for test in tests]
    return found


def keep_scores(trainings: Trainings) -> Score:
    """What trainings come to, of which finished ones are not repeated."""

    def score(problem: Problem, weights: str, rate: float, seed: int, part: str) -> float:
        def train() -> Float64s:
            return np.array([mean_accuracy(problem.learn(weights, rate, seed), part)])

        chosen = {"weights": weights, "rate": rate, "seed": seed, "part": part}
        stream = {"arrivals": problem.arrivals, "rounds": problem.rounds, "work": repr(problem.work)}
        decides = {**describe_training(problem.federation, problem.task), **chosen, **stream}
        return float(trainings.numbers(decides, train)[0])

    return score


def writers(fraction: float, rounds: int, seed: int, validation: float) -> Problem:
    """Writers of FEMNIST, of whom some stay and the others come one after the other, for one round each."""
    federation = load("femnist", clients=WRITERS, seed=seed, validation_fraction=validation)
    task = Task.of(federation, "mlp:1024")
    return Problem(federation, task, f"intermittent:{rounds},1,{fraction}", rounds, ROLE_WORK)


def _effort(effort: Effort, rounds: int) -> tuple[int, int, str]:
    """Runs and rounds, and what there is less of than was published."""
    runs, few = effort.runs_of(RUNS)
    length = max(1, round(effort.share * rounds))
    short = f"{length} round{'s' * (length > 1)} where the curves have {CURVES}"
    return runs, length, f"{short}, {few}, rates chosen on the first"
