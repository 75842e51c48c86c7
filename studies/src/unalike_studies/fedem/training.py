"""Training runs of FedEM: what is a mixture of models worth to clients?

Marfoq, Neglia, Bellet, Kameni and Vidal, "Federated Multi-Task Learning under a Mixture of Distributions"
(2021). The synthetic mixture is that of the paper as far as it is known; learning rates are chosen on
held-out training rows of a seed that is used for nothing else. Published numbers are theirs, expected ones
say how large a margin must be here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from unalike.advice.mixtures import entropy, mixture_weights, recovery
from unalike.algorithms import FedEM, LocalWork, Optimizer, algorithm_registry
from unalike.algorithms.d_fedem import DFedEM
from unalike.data import Federation
from unalike.topology import disagreement
from unalike.topology.gossip import Gossip
from unalike.training.run import Run
from unalike_studies.theory.mixtures.em_oracle import Logistic, MixtureProblem

from ..shared.summaries import Score, printed_difference, score
from ..study import Claim, at_least, at_most
from .data import (
    BATCH,
    Problem,
    best_possible,
    digits,
    mnist,
    scores,
    small_synthetic,
    synthetic,
    tune_setting,
)
from .real_data import PICTURE_RATES, picture_claims, real_claims

TUNING_SEED = 100
GRIDS = {
    "fedem": (1.5, 4.0, 10.0, 25.0),
    "fedavg": (0.15, 0.5, 1.5),
    "local": (0.05, 0.15, 0.5),
    "tune": (0.1, 0.3, 1.0, 3.0),
}
RATES = {"fedem": 10.0, "fedavg": 0.5, "local": 0.5, "tune": 1.0}
"""What the grids gave for the small mixture of that seed, over 60 rounds."""
LARGE, SMALL = (1.5, 4.0), (0.5, 1.5)
"""Rates for other numbers of components, and without a server, where large clients take longer steps."""
OTHERS = {"apfl": 69.1, "clustered-fl": 69.1, "fedprox": 68.2, "pfedme-simple": 69.2}
"""More baselines, with the accuracy that was published."""
TABLE, UNSEEN = "Table 3.2", "Table 3.3"
DECENTRALIZED, SHORT, SAMPLED = (f"Table {number} of appendix E" for number in (5, 6, 7))
"""Where averages and deciles are printed, those of clients that join later, without a server, of a third of
the rounds, and of 20 % of the clients at a time."""


def training_claims(quick: bool) -> Iterator[Claim]:
    """R1 to R12, and real digits."""
    if quick:
        yield from small_claims(range(11, 12))
        yield from newcomer_claims(small_synthetic(13), RATES)
        yield from picture_claims("digits", digits(0), PICTURE_RATES)
        return
    yield from small_claims(range(11, 13))
    yield from synthetic_claims()
    yield from cluster_claims()
    yield from picture_claims("digits", digits(0))
    images = mnist(0)
    if images is not None:
        yield from picture_claims("MNIST", images)
    yield from real_claims()


def choose_rates(problem: Problem, rounds: int) -> dict[str, float]:
    """A learning rate for every method, by held-out rows."""
    names = ("fedem", "fedavg", "local")
    made = {name: partial(problem.algorithm, name, rounds=rounds) for name in names}
    rates = {name: tune_setting(problem, made[name], GRIDS[name], rounds) for name in names}
    validated = problem.held_out()
    state = validated.learn(problem.algorithm("fedavg", rates["fedavg"], rounds), rounds).state
    ends = {rate: score(fine_tuned(validated, state, rate), "validation").mean for rate in GRIDS["tune"]}
    return {**rates, "tune": max(ends, key=lambda rate: ends[rate])}


def fine_tuned(problem: Problem, state: Any, rate: float) -> Run:
    """FedAvg+: one pass over each client's rows from FedAvg's model."""
    return problem.learn(problem.algorithm("fedavg+", rate, schedule="constant"), 0, initial=state)


def compare_methods(problem: Problem, rates: dict[str, float]) -> dict[str, Run]:
    """FedEM and the baselines that every table has."""
    runs = {
        name: problem.learn(problem.algorithm(name, rates[name])) for name in ("fedem", "fedavg", "local")
    }
    return {**runs, "fedavg+": fine_tuned(problem, runs["fedavg"].state, rates["tune"])}


# Small and quick ------------------------------------------------------------------------------------------


def small_claims(seeds: range) -> Iterator[Claim]:
    """R3: a hundred clients in thirty dimensions."""
    problems = [small_synthetic(seed) for seed in seeds]
    found = [
        {
            **{name: score(run) for name, run in compare_methods(one, RATES).items()},
            "fedem": score(best_start(one, RATES["fedem"], 3, 3)),
        }
        for one in problems
    ]
    room = [best_possible(one).mean - s["fedem"].mean for one, s in zip(problems, found, strict=True)]
    yield at_least(
        "R3",
        "FedEM minus FedAvg, small mixture, points",
        _margins(found, "fedavg"),
        3,
        note="the best of 3 starts by training loss",
    )
    yield at_least("R3", "FedEM minus FedAvg+", _margins(found, "fedavg+"), 2, hard=False)
    yield at_least("R3", "FedEM minus Local", _margins(found, "local"), 1)
    decile = [s["fedem"].decile - s["local"].decile for s in found]
    yield at_least("R3", "bottom decile, FedEM minus Local", decile, 5)
    yield at_most("R3", "what the best possible predictor has on FedEM", room, 4, hard=False)


def _margins(found: list[dict[str, Score]], other: str) -> list[float]:
    return [s["fedem"].mean - s[other].mean for s in found]


# The synthetic table --------------------------------------------------------------------------------------


def synthetic_claims() -> Iterator[Claim]:
    """R1, R2, R4 to R10 and R12, on one federation of 300 clients in 150 dimensions."""
    tuning, problem = synthetic(TUNING_SEED), synthetic(11)
    rates = choose_rates(tuning, 100)
    runs = compare_methods(problem, rates)
    found = {name: score(run) for name, run in runs.items()}
    found.update(other_baselines(problem, rates["fedavg"]))
    chosen = ", ".join(f"{name} {rate:g}" for name, rate in rates.items())
    yield from table_claims(problem, found, f"rates by validation: {chosen}")
    yield from component_claims(tuning, problem, found)
    yield from short_claims(problem, found, rates["fedem"])
    yield from gossip_claims(tuning, problem, found)
    yield from sampling_claims(problem, found, rates["fedem"])
    yield from newcomer_claims(synthetic(12), rates)
    yield from mocha_claims(problem, found)


def other_baselines(problem: Problem, rate: float) -> dict[str, Score]:
    """Those that are there, with FedAvg's learning rate and their own defaults."""
    return {name: score(problem.learn(problem.algorithm(name, rate))) for name in OTHERS}


def table_claims(problem: Problem, found: dict[str, Score], note: str) -> Iterator[Claim]:
    """R1 and R2: averages and bottom deciles."""
    published = {"fedem": 74.7, "fedavg": 68.2, "fedavg+": 68.9, "local": 65.7, **OTHERS}
    best = best_possible(problem).mean
    for name, one in found.items():
        place = f"{SAMPLED}, 20 % of the clients at a time" if name == "apfl" else TABLE
        yield Claim(
            "R1",
            f"accuracy of {name}",
            published[name],
            "reported",
            one.mean,
            True,
            hard=False,
            note=note,
            place=place,
        )
        note = ""
    ours = found["fedem"]
    for name, words, least in (
        ("fedavg", "FedEM minus FedAvg, points", 5),
        ("fedavg+", "FedEM minus FedAvg+", 4),
    ):
        theirs = printed_difference(published["fedem"], published[name])
        yield at_least("R1", words, [ours.mean - found[name].mean], least, published=theirs, place=TABLE)
    yield at_most("R1", "what the best possible predictor has on FedEM", [best - ours.mean], 2.5)
    order = found["local"].mean < found["fedavg"].mean < found["fedavg+"].mean
    yield Claim(
        "R1",
        "Local < FedAvg < FedAvg+",
        "65.7 < 68.2 < 68.9",
        "yes",
        "yes" if order else "no",
        order,
        hard=False,
        place=TABLE,
    )
    others = max(one.decile for name, one in found.items() if name != "fedem")
    yield at_least(
        "R2",
        "bottom decile, FedEM minus the best other",
        [ours.decile - others],
        3,
        published=printed_difference(66.7, 61.2),
        place=TABLE,
    )


def component_claims(tuning: Problem, problem: Problem, found: dict[str, Score]) -> Iterator[Claim]:
    """R4: two components help, three are right, more change little; each number has its own rate."""
    by_count, rates = {}, {}
    for m in (2, 4):
        made = partial(tuning.algorithm, "fedem", rounds=100, components=m)
        rates[m] = tune_setting(tuning, made, LARGE, 100)
        by_count[m] = score(best_start(problem, rates[m], m)).mean
    one, three = found["fedavg"].mean, found["fedem"].mean
    note = (
        ", ".join(f"rate {rate:g} for {m}" for m, rate in rates.items())
        + ", the better of 2 starts by training loss"
    )
    yield at_least("R4", "2 components minus 1, points", [by_count[2] - one], 3, note=note)
    yield at_least("R4", "3 components minus 2", [three - by_count[2]], 2)
    yield at_most("R4", "4 components and 3 differ by", [abs(by_count[4] - three)], 1)


def best_start(problem: Problem, rate: float, components: int, starts: int = 2) -> Run:
    """The run with the lowest training loss, because some starts end with two components merged."""
    algorithm = problem.algorithm("fedem", rate, components=components)
    runs = [problem.learn(algorithm, seed=seed) for seed in range(1, starts + 1)]
    sizes = problem.federation.train.sizes
    return min(runs, key=lambda run: float(np.average(run.evaluate("train")["loss"], weights=sizes)))


def short_claims(problem: Problem, found: dict[str, Score], rate: float) -> Iterator[Claim]:
    """R5: a third of the rounds, which costs as much as one model."""
    short = problem.rounds // 3
    ours = score(problem.learn(problem.algorithm("fedem", rate, short), short)).mean
    best = max(one.mean for name, one in found.items() if name not in ("fedem", "clustered-fl"))
    words = f"FedEM after {short} rounds minus the best that"
    claim, theirs = f"{words} has one model or one per client", printed_difference(73.2, 69.2)
    yield at_least("R5", claim, [ours - best], 3, published=theirs, place=SHORT)
    clusters = ours - found["clustered-fl"].mean
    note = "clustered FL finds the kinds of clients here, better than published (69.1)"
    claim, theirs = f"{words} has clusters", printed_difference(73.2, 69.1)
    yield at_least("R5", claim, [clusters], 3, published=theirs, place=SHORT, hard=False, note=note)


def gossip_claims(tuning: Problem, problem: Problem, found: dict[str, Score]) -> Iterator[Claim]:
    """R6: without a server, on a random graph with Metropolis weights, for half as many rounds."""
    half = problem.rounds // 2

    def without_server(rate: float) -> DFedEM:
        optimizer = Optimizer("sgd", rate, f"steps:{half // 2},{3 * half // 4}")
        return DFedEM(work=LocalWork(epochs=1, batch_size=BATCH), optimizer=optimizer)

    rate = tune_setting(tuning, without_server, SMALL, half, timing=Gossip("erdos-renyi:0.5"))
    run = problem.learn(without_server(rate), half, timing=Gossip("erdos-renyi:0.5"))
    mean, apart = score(run).mean, disagreement(run.state["params"])
    gap = found["fedem"].mean - mean
    note = f"rate {rate:g} by validation, {half} rounds against {problem.rounds}"
    claim, theirs = "FedEM minus D-FedEM, points", printed_difference(74.7, 73.8)
    yield at_most("R6", claim, [gap], 2, published=theirs, place=DECENTRALIZED, note=note)
    claim, theirs = "D-FedEM minus FedAvg", printed_difference(73.8, 68.2)
    yield at_least("R6", claim, [mean - found["fedavg"].mean], 3, published=theirs, place=DECENTRALIZED)
    yield at_most("R6", "disagreement of clients' models, of their length", [apart], 0.01)


def sampling_claims(problem: Problem, found: dict[str, Score], rate: float) -> Iterator[Claim]:
    """R7: a fifth of the clients takes part in each of twice as many rounds."""
    rounds, few = 2 * problem.rounds, len(problem.federation) // 5
    algorithm = problem.algorithm("fedem", rate, rounds, refresh=1)
    ours = score(problem.learn(algorithm, rounds, per_round=few)).mean
    lost = found["fedem"].mean - ours
    claim, theirs = f"what 20 % sampling loses, {rounds} rounds, points", printed_difference(74.7, 74.7)
    yield at_most("R7", claim, [lost], 1, published=theirs, place=f"{TABLE} and {SAMPLED}")


def mocha_claims(problem: Problem, found: dict[str, Score]) -> Iterator[Claim]:
    """R12: a relation between linear models, learned; its lambda is chosen on held-out rows."""
    if "mocha" not in algorithm_registry:
        return
    work = LocalWork(epochs=1, batch_size=BATCH)
    lam = tune_setting(
        problem, lambda value: algorithm_registry.make("mocha", work=work, lam=value), (1.0, 0.1, 0.01), 20
    )
    theirs = score(problem.learn(algorithm_registry.make("mocha", work=work, lam=lam), 20)).mean
    ours, tuned_average = found["fedem"].mean, found["fedavg+"].mean
    note = f"lambda = {lam:g} by held-out rows of the same clients, 20 rounds"
    claim, gap = "FedEM minus MOCHA, points", printed_difference(74.7, 73.4)
    yield at_least("R12", claim, [ours - theirs], 0, published=gap, place="section E.10", note=note)
    claim, gap, place = "MOCHA minus FedAvg+", printed_difference(73.4, 68.9), f"section E.10 and {TABLE}"
    yield at_least("R12", claim, [theirs - tuned_average], 0, published=gap, place=place, hard=False)


# Clients that come later ----------------------------------------------------------------------------------


def newcomer_claims(problem: Problem, rates: dict[str, float]) -> Iterator[Claim]:
    """R8 to R10: a fifth of the clients joins after training, and only fits mixture weights."""
    clients = np.arange(len(problem.federation))
    old, new = (
        replace(problem, federation=problem.federation.subset(clients[part]))
        for part in (clients % 5 > 0, clients % 5 == 0)
    )
    ours = old.learn(old.algorithm("fedem", rates["fedem"]))
    plain = old.learn(old.algorithm("fedavg", rates["fedavg"]))
    full = _newcomer_accuracy(new, ours, rates["fedem"], 20)
    shared = score(new.learn(new.algorithm("fedavg", rates["fedavg"]), 0, initial=plain.state)).mean
    tuned_average = score(fine_tuned(new, plain.state, rates["tune"])).mean
    claim, theirs = "new clients, FedEM minus FedAvg, points", printed_difference(73.0, 68.6)
    yield at_least("R8", claim, [full - shared], 3, published=theirs, place=UNSEEN)
    claim, theirs = "new clients, FedEM minus FedAvg+", printed_difference(73.0, 69.1)
    yield at_least("R8", claim, [full - tuned_average], 3, published=theirs, place=UNSEEN)
    nothing, once = (_newcomer_accuracy(new, ours, rates["fedem"], steps) for steps in (0, 1))
    fifth = _newcomer_accuracy(
        replace(new, federation=_first_rows(new.federation, 0.2)), ours, rates["fedem"], 20
    )
    part = (fifth - nothing) / (full - nothing)
    words = "part of the gain that 20 % of the local rows give"
    said, place = "a significant level of personalization", "section E.11, CIFAR-100"
    yield at_least("R9", words, [part], 0.8, published=said, place=place)
    yield at_least("R8", "what 20 EM steps give over one, points", [full - once], 0, hard=False)
    yield from entropy_claims(new, ours)


def entropy_claims(new: Problem, ours: Run) -> Iterator[Claim]:
    """R10: newcomers look more mixed after one EM step, and as mixed as the others after twenty."""
    problem = MixtureProblem.of(new.federation, Logistic())
    theta, equal = scores(ours.message), np.full((len(new.federation), 3), 1 / 3)
    before = float(entropy(mixture_weights(ours)).mean())
    one, many = (float(entropy(problem.fit_weights(theta, equal, steps)).mean()) for steps in (1, 20))
    claim, place = "mean entropy of old clients' weights", "section E.11"
    yield Claim("R10", claim, 0.27, "reported", before, True, hard=False, place=place)
    claim, theirs = "mean entropy of new clients after 1 EM step, minus old", printed_difference(0.92, 0.27)
    yield at_least("R10", claim, [one - before], 0.1, published=theirs, place=place)
    yield at_most(
        "R10",
        "the same after 20 EM steps",
        [abs(many - before)],
        0.15,
        hard=False,
        note="so the difference is unfinished fitting, not over-fitting of old clients",
    )


def _newcomer_accuracy(new: Problem, run: Run, rate: float, steps: int) -> float:
    """The accuracy of clients that never took part, after so many EM steps on their weights."""
    algorithm = new.algorithm("fedem", rate, em_steps=steps)
    return score(new.learn(algorithm, 0, initial=run.state)).mean


def _first_rows(federation: Federation, part: float) -> Federation:
    """Only a part of every client's training rows, at least one."""
    split = federation.train
    keep = np.maximum(1, (part * split.sizes).astype(int))
    rows = np.concatenate([split.offsets[t] + np.arange(n) for t, n in enumerate(keep)])
    offsets = np.concatenate([[0], np.cumsum(keep)])
    return replace(federation, train=replace(split, x=split.x[rows], y=split.y[rows], offsets=offsets))


# Clusters -------------------------------------------------------------------------------------------------


def cluster_claims() -> Iterator[Claim]:
    """R11: clients with one component each are found again, and so are the components."""
    for components in (2, 3):
        problem = synthetic(3, alpha=0.0, rule="threshold", components=components, rounds=150, test_rows=1)
        constant = Optimizer("sgd", 3.0)
        work = LocalWork(epochs=1, batch_size=BATCH)
        run = problem.learn(FedEM(components=components, work=work, optimizer=constant))
        truth = problem.truth
        assert truth is not None
        found = recovery(scores(run.message)[:, :-1], mixture_weights(run), truth.models, truth.shares)
        name, place = f"{components} clusters of 300 clients", "section E.12"
        claim = f"{name}: share of clients in the right one"
        yield at_least("R11", claim, [found.clusters], 1.0, published="100 %", place=place)
        claim = f"{name}: cosine distance of components"
        yield at_most("R11", claim, [found.components], 1e-2, published="<= 1e-2", place=place)
        claim = f"{name}: cosine distance of weights"
        yield at_most("R11", claim, [found.weights], 1e-8, published="<= 1e-8", place=place)
