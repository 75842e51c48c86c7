"""Claims on perturbed gradients that need training: rounds saved, and the role of client similarity.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino): on unlike clients of unequal
sizes, a smaller beta reaches an accuracy in fewer rounds, 50 instead of 80 on FEMNIST's digits. The ablation
sends every client the model of all, or a mean that was made for another one, and finds the same curves. All
rounds are counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from unalike.algorithms import (
    AnchoredGradient,
    FedAvg,
    FedProx,
    LocalWork,
    PermutedGradient,
    PerturbedGradient,
)
from unalike.core.pytrees import largest_difference, nbytes, subtract
from unalike.typing import Float64s, Params

from ..study import Claim, at_least, at_most, in_order
from .data import CLASSES, CONTENDERS, L2, Images, Problem, digits, images, rounds_to, zigzag

UNLIKE, ALIKE = (10.0, 1.0), (0.0, 0.0)
"""(ci, di) of the imbalanced and the balanced clients."""
TABLE = {
    "CIFAR-10 balanced, convex": (38.70, 11, 38.67, 11),
    "CIFAR-10 imbalanced, convex": (36.53, 20, 37.49, 15),
    "CIFAR-10 balanced, 128 units": (36.14, 68, 36.13, 68),
    "CIFAR-10 imbalanced, 128 units": (34.04, 74, 35.37, 63),
    "FEMNIST balanced, convex": (84.42, 28, 84.57, 23),
    "FEMNIST imbalanced, convex": (80.20, 80, 81.24, 50),
    "FEMNIST balanced, 128 units": (86.07, 44, 86.26, 39),
    "FEMNIST imbalanced, 128 units": (80.94, 94, 81.43, 80),
}
"""Table 4.2: accuracy and rounds of FedAvg, and the same of beta 0.5."""
FEMNIST_EPOCHS = {1: "27.4, 35.7, 42.4", 5: "61.7, 65.7, 68.3", 20: "74.9, 76.2, 76.8"}
"""Accuracy on FEMNIST after 50 rounds, by local epochs: FedAvg, beta 0.7, beta 0.5; read from figure 4.3."""
FEMNIST_CLIPPED = {"FedAvg": (70.2, 64.4, 33.3), "beta 0.5": (73.7, 69.1, 36.1)}
"""The same without clipping, clipped at 10 and at 1; read from figure 4.5."""
STIFF = 1.0
"""Steps on the small digits, a hundred times their usual ones; they are hardly stiff even so."""
FEMNIST, FEMNIST_PLACE = "50, 67, 79, 80", "Table 4.2, FEMNIST imbalanced, convex; it has no FedProx"
SMALL = "pilot of the specification: 46, 52, 61, 66, 84"


def training_claims(quick: bool) -> Iterator[Claim]:
    """PG-1, PG-2, PG-6 to PG-14."""
    problems = [Problem(data, *UNLIKE, seed) for seed, data in enumerate(draws(quick))]
    first = problems[0]
    rounds = 120 if first.data.name == "MNIST" else 60
    race = {name: [curve_of(problem, name, rounds) for problem in problems] for name in CONTENDERS}
    yield from identity_claims(Problem(digits(0), *UNLIKE))
    yield from unlike_claims(first.data, race)
    yield from ablation_claims(first, race["beta 0.5"][0])
    yield from alike_claims(first.data, rounds)
    yield from hidden_layer_claims(1 if quick else 3)
    yield from zigzag_claims(quick)
    yield from step_claims(first, race["beta 0.5"][0])
    yield from local_work_claims(first.data)
    yield from clipping_claims(first.data)
    yield from traffic_claims()


def draws(quick: bool) -> list[Images]:
    """MNIST once, or three draws of the small digits, where a test row is 0.28 points."""
    first = images(quick)
    return [first] if first.name == "MNIST" else [first, digits(1), digits(2)]


def identity_claims(problem: Problem) -> Iterator[Claim]:
    """What must be equal is equal."""
    plain = problem.learn(problem.method(FedAvg), 5, evaluate_every=0).state["params"]
    for words, method in (
        ("FedProx with alpha 0", problem.method(FedProx, mu=0.0)),
        ("perturbed with beta 1", problem.method(PerturbedGradient, beta=1.0)),
        ("anchored with beta 1", problem.method(AnchoredGradient, beta=1.0)),
    ):
        other = problem.learn(method, 5, evaluate_every=0).state["params"]
        yield at_most("PG-1", f"{words} minus FedAvg, 5 rounds", [largest_difference(plain, other)], 0)
    yield at_most(
        "PG-2", "sum_i p_i u_i minus the model, relative, every round", list(mean_errors(problem, 5)), 1e-6
    )
    still = replace(problem.method(AnchoredGradient, beta=0.0), work=LocalWork(steps=5, batch_size=0))
    once = problem.learn(still, 1, evaluate_every=0, keep_history=True)
    start = once.history.state(0)["params"]
    gap = largest_difference(subtract(start, _sum_step(problem, start, 5)), once.state["params"])
    yield at_most("PG-14", "beta 0 minus one summed gradient step at the start", [gap], 1e-6)


def mean_errors(problem: Problem, rounds: int) -> Iterator[float]:
    """How far the weighted mean of all clients' means is from the model of all, round by round."""
    run = problem.learn(
        problem.method(PerturbedGradient, beta=0.5), rounds, evaluate_every=0, keep_history=True
    )
    share = problem.similarity.importance
    for number in range(rounds + 1):
        message = run.setting.algorithm.broadcast(problem.task, run.history.state(number))
        for name, model in message["params"].items():
            mean = np.tensordot(share, np.asarray(message["similar"][name], np.float64), axes=1)
            yield float(np.abs(mean - model).max() / np.abs(model).max())


def unlike_claims(data: Images, race: Mapping[str, Sequence[Float64s]]) -> Iterator[Claim]:
    """Fewer rounds with a smaller beta."""
    most = sum(len(curve) for curve in race["FedAvg"])
    words = f"{data.name}, imbalanced: rounds to {data.target:g}, summed over {len(race['FedAvg'])} draws,"
    needed = {name: _sum([rounds_to(c, data.target) for c in some]) for name, some in race.items()}
    yield arrival_order("PG-6", words, needed, most, published=FEMNIST, place=FEMNIST_PLACE)
    stays = {name: _sum([rounds_to(c, data.target, 3) for c in some]) for name, some in race.items()}
    yield arrival_order("PG-6", "the same, to stay there for 3 rounds,", stays, most, hard=False)
    words, place = f"{data.name}, imbalanced: speed-up of beta 0.5", "Table 4.2, FEMNIST"
    yield speed_up(words, needed, published=1.6, place=place)
    ours, plain = needed["beta 0.5"], needed["FedAvg"]
    runs = len(race["FedAvg"])  # rounds are counted from 0
    ratio = np.inf if ours is None or plain is None else 1.5 * (ours + runs) / (plain + runs)
    words = f"{data.name}, imbalanced: bytes to the target over FedAvg's, beta 0.5"
    yield at_most("PG-13", words, [ratio], 1.0, hard=False, derivation="0.94 from Table 4.2, FEMNIST")


def ablation_claims(problem: Problem, graph: Float64s) -> Iterator[Claim]:
    """The graph is not the cause: the model of all, or a mean for somebody else, do the same."""
    name = problem.data.name
    for words, kind in (("the model of all", AnchoredGradient), ("another's mean", PermutedGradient)):
        gaps = 100 * np.abs(graph - problem.curve(kind, len(graph), beta=0.5))[9::10]
        said = f"{name}: points between graph and {words}, every 10th round"
        yield at_most("PG-8", said, gaps.tolist(), 0.5, hard=name == "MNIST", note=_one_row(problem.data))


def alike_claims(data: Images, rounds: int) -> Iterator[Claim]:
    """Nothing to gain where clients are alike."""
    problem = Problem(data, *ALIKE)
    plain = problem.curve(FedAvg, rounds)
    slack = 1 if data.name == "MNIST" else 2
    for beta in (0.5, 0.7, 0.9):
        curve = problem.curve(PerturbedGradient, rounds, beta=beta)
        counts = [rounds_to(c, data.target) for c in (curve, plain)]
        away = np.inf if None in counts else abs(counts[0] - counts[1])  # type: ignore[operator]
        yield at_most("PG-7", f"{data.name}, balanced: rounds from FedAvg, beta {beta:g}", [away], slack)
        points = 100 * abs(float(curve[-1] - plain[-1]))
        yield at_most("PG-7", f"points from FedAvg at the end, beta {beta:g}", [points], 0.2, hard=slack == 1)


def hidden_layer_claims(seeds: int) -> Iterator[Claim]:
    """A layer of ReLU units on the small digits: all five methods in order, over seeds."""
    curves: dict[str, list[Float64s]] = {name: [] for name in CONTENDERS}
    for seed in range(seeds):
        problem = Problem(digits(seed), *UNLIKE, seed, hidden=32, rate=2e-2)
        for name, (kind, settings) in CONTENDERS.items():
            curves[name].append(problem.curve(kind, 60, **settings))
    words = f"digits, 32 ReLU units, imbalanced: summed rounds to 0.8 of {seeds} seeds"
    summed = {name: _sum([rounds_to(curve, 0.8) for curve in some]) for name, some in curves.items()}
    yield arrival_order("PG-7", words, summed, 60 * seeds, hard=seeds > 1, derivation=SMALL)
    ends = [100 * float(np.mean([curve[-1] for curve in some])) for some in curves.values()]
    yield in_order("PG-7", "their final accuracies, the other way round", ends[::-1], hard=seeds > 1)


def zigzag_claims(quick: bool) -> Iterator[Claim]:
    """With longer steps, accuracy turns around in every round below beta 1/2, and not well above."""
    data = images(quick)
    hard = data.name == "MNIST"
    if hard:
        x, y = data.train
        data = data._replace(train=(x[:6000], y[:6000]), clients=20)
    problem = Problem(data, *UNLIKE, rate=1e-2 if hard else STIFF)
    words = f"{data.name}, steps of {problem.rate:g}: part of turns after round 9"
    for beta, limit in ((0.3, 0.9), (0.4, 0.9), (0.7, 0.0), (0.9, 0.0)):
        turns, size = zigzag(problem.curve(PerturbedGradient, 20, beta=beta))
        check = at_least if limit else at_most
        note = f"mean change {size:.3f}"
        yield check("PG-9", f"{words}, beta {beta:g}", [turns], limit, hard=hard, note=note)


def step_claims(slow: Problem, perturbed: Float64s) -> Iterator[Claim]:
    """Choosing the step helps more than choosing beta."""
    data, fast = slow.data, replace(slow, rate=10 * slow.data.rate)
    plain = rounds_to(fast.curve(FedAvg, 60), data.target)
    ours = rounds_to(perturbed, data.target)
    yield Claim(
        "PG-10",
        f"{data.name}: FedAvg with a ten times longer step needs fewer rounds than beta 0.5",
        "33 < 50",
        "fewer",
        f"{plain}, {ours}",
        plain is not None and (ours is None or plain < ours),
        place="Figure 4.7, read from the figure, and Table 4.2, FEMNIST",
    )
    longest = replace(slow, rate=100 * data.rate)
    ends = {name: float(curve_of(longest, name, 30)[-1]) for name in ("FedAvg", "beta 0.7", "beta 0.5")}
    words = f"{data.name}, a hundred times longer steps: final accuracy of beta 0.5 below FedAvg's"
    yield Claim(
        "PG-10",
        words,
        None,
        "below",
        f"{ends['beta 0.5']:.3f}, {ends['FedAvg']:.3f}",
        ends["beta 0.5"] < ends["FedAvg"],
        hard=data.name == "MNIST",
        derivation="pilot of the specification: 0.813 < 0.862 on MNIST",
    )
    gain = 100 * (ends["beta 0.7"] - ends["FedAvg"])
    yield at_least("PG-10", "and of beta 0.7 not: its points above FedAvg's", [gain], 0.0, hard=False)


def local_work_claims(data: Images) -> Iterator[Claim]:
    """More local work makes every method faster and keeps their order."""
    ends: dict[int, list[float]] = {}
    for epochs in (1, 5, 20):
        problem = Problem(data, *UNLIKE, epochs=epochs)
        ends[epochs] = [
            100 * float(curve_of(problem, name, 20)[-1]) for name in ("FedAvg", "beta 0.7", "beta 0.5")
        ]
        words = f"{data.name}: accuracy at round 20 of FedAvg, beta 0.7 and 0.5, {epochs} epochs"
        slack = 100.01 / len(data.test[1])  # a row, and rounding
        told = FEMNIST_EPOCHS[epochs]
        note = "hardly trained yet" if epochs == 1 else _one_row(data)
        place = "Figure 4.3, read from the figure, FEMNIST after 50 rounds"
        hard = epochs > 1
        yield in_order("PG-11", words, ends[epochs], slack, published=told, place=place, note=note, hard=hard)
    gains = [float(np.diff(column).min()) for column in np.transpose(list(ends.values()))]
    yield at_least("PG-11", "points won by more epochs, of any method", gains, 0.0)


def clipping_claims(data: Images) -> Iterator[Claim]:
    """Short gradients slow every method down, those of length 10 by less."""
    bound = 1.0 if data.name == "MNIST" else 0.1
    problems = [Problem(data, *UNLIKE, clip=clip) for clip in (None, 10 * bound, bound)]
    place = "Figure 4.5, read from the figure, FEMNIST after 50 rounds"
    for name in ("FedAvg", "beta 0.5"):
        free, long, short = (100 * float(curve_of(p, name, 20)[-1]) for p in problems)
        words = f"{data.name}: points lost by clipping at {bound:g}, {name}, round 20"
        printed = FEMNIST_CLIPPED[name]
        said = f"from {printed[0]} to {printed[2]}"
        yield at_least("PG-12", words, [free - short], 10.0, published=said, place=place)
        words = f"{data.name}: points lost by clipping at {10 * bound:g}, then at {bound:g}, {name}"
        said = f"from {printed[0]} to {printed[1]}, then {printed[2]}"
        yield in_order("PG-12", words, [free - long, free - short], published=said, place=place)


def traffic_claims() -> Iterator[Claim]:
    """Bytes of a round, and of all rounds to the target."""
    problem = Problem(digits(0), *UNLIKE)
    ratios = {}
    for name in ("FedAvg", "beta 0.5"):
        kind, settings = CONTENDERS[name]
        ready = problem.method(kind, **settings).prepare(problem.task, problem.federation)
        run = problem.learn(ready, 1, evaluate_every=0)
        message, params = ready.broadcast(problem.task, run.state), run.state["params"]
        ratios[name] = sum(ready.traffic(message, params)) / nbytes(params)
    ratio = ratios["beta 0.5"] / ratios["FedAvg"]
    yield at_most("PG-13", "bytes of a round over FedAvg's, minus 1.5", [abs(ratio - 1.5)], 0)
    for cell, (_, plain, _, ours) in TABLE.items():
        bytes_to = 1.5 * (ours + 1) / (plain + 1)
        yield at_most(
            "PG-13",
            f"bytes to the target over FedAvg's, {cell}, from Table 4.2",
            [bytes_to],
            1.0,
            hard=False,
            note=f"{plain / ours:.1f} times fewer rounds",
        )


def curve_of(problem: Problem, name: str, rounds: int) -> Float64s:
    """Test accuracy of a contender after each round."""
    kind, settings = CONTENDERS[name]
    return problem.curve(kind, rounds, **settings)


def arrival_order(
    id: str,
    words: str,
    needed: Mapping[str, int | None],
    most: int,
    hard: bool = True,
    published: str | None = None,
    place: str = "",
    derivation: str = "",
) -> Claim:
    """The claim that methods arrive in the order of their names: perturbed ones strictly, the others at
    least; who does not arrive is last."""
    counts = [most if value is None else value for value in needed.values()]
    falls = [later - earlier for earlier, later in pairwise(counts)]
    holds = all(fall > 0 for fall in falls[:2]) and all(fall >= 0 for fall in falls[2:])
    said = ", ".join("not reached" if value is None else str(value) for value in needed.values())
    order = ", ".join(needed)
    words = f"{words} of {order}"
    return Claim(
        id,
        words,
        published,
        "in this order",
        said,
        holds,
        hard=hard,
        place=place,
        derivation=derivation,
    )


def speed_up(words: str, needed: Mapping[str, int | None], published: float, place: str) -> Claim:
    """How many times fewer rounds beta 0.5 needs than FedAvg."""
    ours, plain = needed["beta 0.5"], needed["FedAvg"]
    ratio = np.nan if not ours or plain is None else plain / ours
    holds = bool(1.2 <= ratio <= 1.7)
    return Claim("PG-6", words, published, "1.2 to 1.7", ratio, holds, hard=False, place=place)


def _sum(counts: Sequence[int | None]) -> int | None:
    """Of all, or None where one is missing."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _sum_step(problem: Problem, params: Params, steps: int) -> Params:
    """sum_i p_i K gamma gradient_i of softmax regression, by hand."""
    train, share = problem.federation.train, problem.federation.importance
    scores = np.exp(train.x @ np.asarray(params["w"]).T + np.asarray(params["b"]))
    weights = (share / train.sizes)[train.owners]
    errors = weights[:, None] * (scores / scores.sum(axis=1, keepdims=True) - np.eye(CLASSES)[train.y])
    gradient = {"w": errors.T @ train.x, "b": errors.sum(axis=0)}
    return {name: steps * problem.data.rate * (gradient[name] + L2 * params[name]) for name in gradient}


def _one_row(data: Images) -> str:
    """How coarse an accuracy is."""
    return f"a test row is {100 / len(data.test[1]):.2f} points"
