"""Memorization against further training: claims that need training.

They are on personal labels, real digits, and real pictures and roles: K1, K12 to K14, K16 and K18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from unalike.algorithms import FedAvg, FedEM, LocalWork, Optimizer
from unalike.algorithms.knn_per import KNNPer
from unalike.data import load
from unalike.data.sources.files import local
from unalike.data.sources.shakespeare import FILE
from unalike.memorization import Personal, memorize
from unalike.models import Task, mlp
from unalike_studies.knnper.shift import overall
from unalike_studies.theory.memorization_bound import Bound

from ..shared.real_data_races import (
    KNNPER_TABLES,
    PICTURES,
    ROLES_KNNPER,
    Comparison,
    claims,
    pictures_raced,
    roles_raced,
)
from ..shared.summaries import printed_difference
from ..study import Claim, at_most, average, in_order, matches
from .data import (
    FULL,
    QUICK,
    TUNING_RATES,
    Problem,
    global_model,
    head_percent,
    local_percent,
    percent,
    renamed_problem,
    skewed_problem,
    tuned_percent,
)
from .training import SEEDS

TWO_CLASSES = "Table 3.5, CIFAR-10 (v2)"
"""Where accuracies with two classes each are printed."""


def rival_claims(quick: bool) -> Iterator[Claim]:
    """K12 to K14, K16 and K18."""
    scale, seeds = (QUICK, SEEDS[:1]) if quick else (FULL, SEEDS[:2])
    yield from personal_claims([renamed_problem(seed, scale) for seed in seeds], quick)
    small = skewed_problem(0.3, SEEDS[0], QUICK)
    yield from traffic_claims(small)
    yield from exact_claims(small)
    yield from bound_claims()
    yield from digit_claims(quick)


def personal_claims(problems: Sequence[Problem], quick: bool) -> Iterator[Claim]:
    """Where labels mean different things to different clients."""
    rates = TUNING_RATES[1:3] if quick else TUNING_RATES
    common = float(np.mean([percent(global_model(problem.remembered)) for problem in problems]))
    memory = float(np.mean([percent(problem.remembered) for problem in problems]))
    tuned = float(np.mean([tuned_percent(problem, 1, rates) for problem in problems]))
    theirs = "67.9 / 85.0 / 93.8"
    words = "global model, tuned for one epoch, kNN-Per: accuracy with personal labels"
    yield in_order("K12", words, [common, tuned, memory], published=theirs, place=TWO_CLASSES)
    words = "points of kNN-Per over a tuned model (one epoch)"
    theirs = printed_difference(93.8, 85.0)
    yield average("K12", words, [memory - tuned], 3, published=theirs, place=TWO_CLASSES)
    alone = float(np.mean([local_percent(problem) for problem in problems]))
    words = "global model, training alone"
    yield in_order("K13", words, [common, alone], published="67.9 / 82.4", place=TWO_CLASSES)
    if not quick:
        yield from head_claims(problems, common, memory, tuned)


def head_claims(problems: Sequence[Problem], common: float, memory: float, tuned: float) -> Iterator[Claim]:
    """Tuning the last layer alone, and tuning everything for long."""
    head = float(np.mean([head_percent(problem, 10) for problem in problems]))
    words = "global model, head tuned for ten epochs, kNN-Per"
    place = f"{TWO_CLASSES}, FedRep for the head"
    yield in_order("K12", words, [common, head, memory], published="67.9 / 89.1 / 93.8", place=place)
    note = "with rates chosen by validation for both"
    words = "tuned for one epoch, head tuned for ten epochs"
    yield in_order("K12", words, [tuned, head], published="85.0 / 89.1", place=place, hard=False, note=note)
    longer = tuned_percent(problems[0], 10) - percent(problems[0].remembered)
    note = "beyond what was published: enough passes of descent overtake memory"
    words = "points of ten epochs of tuning over kNN-Per"
    yield average("K12", words, [longer], 0, hard=False, note=note)


def traffic_claims(problem: Problem) -> Iterator[Claim]:
    """Nothing more is sent than in FedAvg."""
    runs = [problem.run, problem.train(_remembering(problem), 2)]
    for name in ("bytes_up", "bytes_down"):
        plain, personal = (run.metrics()[name][1:3] for run in runs)
        more = float(np.abs(personal - plain).max())
        yield at_most("K14", f"{name.replace('_', ' ')} beyond FedAvg's", [more], 0)


def _remembering(problem: Problem) -> KNNPer:
    return KNNPer(work=problem.algorithm.work, optimizer=problem.algorithm.optimizer)


def exact_claims(problem: Problem) -> Iterator[Claim]:
    """What is an identity: no memory, one neighbor, duplicates, and the compiled method."""
    memory = problem.remembered
    plain = problem.run.evaluate()
    gap = np.abs(memory.changed(shares=0.0).evaluate()["accuracy"] - plain["accuracy"])
    yield at_most("K16", "lambda = 0 against FedAvg, accuracy of every client", [float(gap.max())], 0)
    nearest = memory.changed(shares=1.0, k=1)
    wrong = [_disagreements(nearest, client) for client in range(min(10, len(nearest.stores)))]
    yield at_most("K16", "lambda = 1, k = 1 against scikit-learn's nearest neighbor, rows", [max(wrong)], 0)
    doubled = replace(nearest, stores=[s.add(s.keys, s.labels) for s in nearest.stores])
    gap = np.abs(doubled.evaluate()["accuracy"] - nearest.evaluate()["accuracy"])
    yield at_most("K16", "the same with every row remembered twice", [float(gap.max())], 0)
    compiled = problem.train(_remembering(problem), 0, problem.run.state).evaluate()
    gap = np.abs(compiled["loss"] - memory.evaluate()["loss"])
    words = "the compiled method against this one, loss of every client"
    yield at_most("K16", words, [float(gap.max())], 1e-4)


def _disagreements(memory: Personal, client: int) -> float:
    store, test = memory.stores[client], memory.embedded("test").client(client)
    x, _ = memory.federation.test.client(client)
    other = KNeighborsClassifier(1, algorithm="brute").fit(store.keys, store.labels).predict(test.keys)
    return float((memory.predict(client, x).argmax(axis=1) != other).sum())


def bound_claims() -> Iterator[Claim]:
    """The published bound prefers memory for clients with many rows, and for unlike ones."""
    ends = [Bound(rows, 20_000, 2, 30, discrepancy=0.5).preferred for rows in (1, 10, 100, 1000, 10_000)]
    words, place = "the bound's end of lambda for 1, 10, ..., 10,000 rows", "section 3.6.2"
    yield in_order("K18", words, ends, published="above 1/2 from some number on", place=place)
    rows = [Bound(1, 20_000, 2, 30, discrepancy=d).enough_rows for d in (1.0, 0.5, 0.25, 0.0)]
    words = "rows from which on it prefers memory, for clients ever more like the others"
    said, place = "memory is worth more to unlike clients", "section 3.6.3"
    yield in_order("K18", words, rows, published=said, place=place)
    radius = Bound(250, 20_000, 1280, 30).radius
    words = "r of 250 rows and keys of 1,280 numbers: above 1, no information"
    yield matches("K18", words, radius, 35.6, 0.05, derivation="sqrt(p) n^(-1 / (p + 1))")


def digit_claims(quick: bool) -> Iterator[Claim]:
    """Real digits, by Dirichlet labels and with two classes each; and FedEM on the same clients."""
    real = not quick and local("mnist.npz") is not None
    name, samples = ("mnist", 10_000) if real else ("digits", None)
    for partition, theirs, place in (
        ("dirichlet:0.3", "72.9 / 82.4", "Table 3.6, CIFAR-10"),
        ("classes:2", "67.5 / 93.0", "Table 3.6, CIFAR-10 (v2)"),
    ):
        federation = load(name, partition=partition, clients=50, samples=samples, seed=SEEDS[0])
        model = mlp(64, 32, input_shape=federation.input_shape, outputs=10)
        work, optimizer = LocalWork(epochs=1 if real else 5, batch_size=32), Optimizer("sgd", 0.1)
        task, rounds = Task.classification(model, 10), 20 if quick else 50
        problem = Problem(federation, task, FedAvg(work=work, optimizer=optimizer), rounds, SEEDS[0])
        scores = [percent(global_model(problem.new)), percent(problem.new)]
        words = f"global model, kNN-Per: accuracy of new clients, {name}, {partition}"
        yield in_order("K1", words, scores, published=theirs, place=place, hard=False)
        if not quick:
            yield from _against_fedem(problem, f"{name}, {partition}")


def _against_fedem(problem: Problem, words: str) -> Iterator[Claim]:
    method = FedEM(work=problem.algorithm.work, optimizer=problem.algorithm.optimizer, components=3)
    run = problem.train(method)
    ratio = run.metrics()["bytes_up"][1:].sum() / problem.run.metrics()["bytes_up"][1:].sum()
    note = f"FedEM with three components sends {ratio:.1f} times as much"
    scores = [100 * overall(run.evaluate()), percent(memorize(problem.run))]
    yield in_order("K18", f"FedEM, kNN-Per: accuracy of old clients, {words}", scores, hard=False, note=note)


def real_claims() -> Iterator[Claim]:
    """kNN-Per's rows for CIFAR-10 (two ways of dealing) and Shakespeare, as far as the files are there."""
    if local("cifar10.npz") is not None:
        for partition in ("dirichlet-class:0.3", "classes:2"):
            leads = [
                Comparison("knnper", other, "mean") for other in PICTURES[partition] if other != "knnper"
            ]
            leads += [Comparison("knnper", "fedavg", part) for part in ("decile", "unseen")]
            if partition == "classes:2":
                leads.append(Comparison("local", "fedavg", "mean"))
            name = f"CIFAR-10, {partition}"
            raced = pictures_raced(partition)
            yield from claims("K1", name, raced, PICTURES[partition], leads, KNNPER_TABLES)
    if local(FILE) is not None:
        leads = [Comparison("knnper", other, "mean") for other in ("fedavg", "fedavg+", "local")]
        leads += [Comparison("knnper", "fedavg", part) for part in ("decile", "unseen")]
        yield from claims("K1", "Shakespeare", roles_raced(), ROLES_KNNPER, leads, KNNPER_TABLES)
