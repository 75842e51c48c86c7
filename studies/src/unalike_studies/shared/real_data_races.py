"""Personalized methods on real images and roles: CIFAR-10 and Shakespeare.

The tables of Marfoq, Neglia, Bellet, Kameni and Vidal, "Federated Multi-Task Learning under a Mixture of
Distributions" (2021), and of Marfoq, Neglia, Kameni and Vidal, "Personalized Federated Learning through Local
Memorization" (2022), at a size for two cores, where UNALIKE_DATA has the files. A fifth of the clients joins
after training. Every method gets as many trials, judged by validation rows of clients of another seed:

    settings of a method  =  the best of 4 on the tuning clients' validation rows
    its marks             =  test accuracy of clients that trained, their bottom decile, and of newcomers
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np

from unalike.algorithms import LocalWork, Optimizer, algorithm_registry
from unalike.core.random import generator
from unalike.data import Federation, load
from unalike.data.loader import deal
from unalike.data.sources.source import Source
from unalike.models import Model, Task, mlp
from unalike.models.dense import dense, dense_init
from unalike.training.newcomers import newcomer_summary, set_apart
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Params, PyTree, State

from ..fixtures import load_rows
from ..study import Claim, average
from .image_features import Encoder
from .summaries import printed_difference, score

Setting = dict[str, float]
SEEDS, TUNING_SEED = (31, 32), 100
UNSEEN = 0.2
RATES = (0.03, 0.1, 0.3, 1.0)
FACTORS = {"fedem": 3.0, "local": 0.3}
"""How the grid is moved: FedEM's steps are weighted by chances below one, and who is alone over-fits."""
PUBLIC, TUNED_ON, LEARNED_ON = 1_000, 8_000, 8_000
"""Images that make the filters, and as many for tuning clients as for the others: rates depend on sizes."""
SETTLED = ("fedavg+", "knnper")
"""Methods that add something to FedAvg's model when it is trained."""


class Scores(NamedTuple):
    """Accuracy in per cent: over clients that trained, their bottom decile, and over newcomers."""

    mean: float
    decile: float
    unseen: float = np.nan


Table = dict[str, Scores]
PICTURES = {
    "dirichlet-groups:0.4,3": {
        "local": Scores(70.2, 48.7),
        "fedavg": Scores(78.2, 72.4, 77.3),
        "fedavg+": Scores(82.3, 70.6, 80.4),
        "fedem": Scores(84.3, 78.1, 85.9),
    },
    "dirichlet-class:0.3": {
        "local": Scores(57.6, 41.1),
        "fedavg": Scores(72.8, 59.6, 72.9),
        "fedavg+": Scores(75.2, 62.3, 75.3),
        "ditto": Scores(80.0, 66.5, 79.7),
        "fedrep": Scores(77.7, 65.2, 76.4),
        "knnper": Scores(83.0, 71.4, 82.4),
    },
    "classes:2": {
        "local": Scores(82.4, 71.3),
        "fedavg": Scores(67.9, 60.1, 67.5),
        "fedavg+": Scores(85.0, 79.6, 85.1),
        "ditto": Scores(86.3, 80.6, 85.9),
        "fedrep": Scores(89.1, 85.3, 89.0),
        "knnper": Scores(93.8, 88.2, 93.0),
    },
}
"""What was published for CIFAR-10, by the way its images are dealt."""
ROLES_FEDEM = {
    "local": Scores(32.0, 16.6),
    "fedavg": Scores(46.7, 42.8, 46.7),
    "fedavg+": Scores(40.0, 25.5, 40.2),
    "fedem": Scores(46.7, 43.0, 46.7),
}
ROLES_KNNPER = {
    "local": Scores(32.0, 16.0),
    "fedavg": Scores(48.1, 43.1, 49.0),
    "fedavg+": Scores(47.0, 42.2, 49.3),
    "knnper": Scores(51.4, 45.4, 50.7),
}
"""What was published for Shakespeare, in the two papers."""
FEDEM_TABLES, KNNPER_TABLES = ("Table 3.2", "Table 3.3"), ("Table 3.5", "Table 3.6")
"""Where Marfoq's doctoral thesis (2023) prints accuracies of clients that trained, and of newcomers."""


class Comparison(NamedTuple):
    """One method's lead over another, and how large it must be here."""

    ours: str
    other: str
    part: str
    least: float = 0.0
    most: bool = False
    """Whether the two must be as near as `least` instead."""
    note: str = ""


@dataclass(frozen=True)
class Problem:
    """Clients that train, clients that join later, a model, and how long and in which batches they train."""

    seen: Federation
    unseen: Federation
    task: Task
    rounds: int
    batch_size: int = 32

    def learn(self, name: str, start: PyTree | None = None, *, rate: float, **own: Any) -> Run:
        """Train a method with steps that are cut to a tenth twice, or take a trained start as it is."""
        schedule = f"steps:{self.rounds // 2},{3 * self.rounds // 4}"
        work = LocalWork(epochs=1, batch_size=self.batch_size)
        made = algorithm_registry.make(name, work=work, optimizer=Optimizer("sgd", rate, schedule))
        rounds = self.rounds if start is None else 0
        method = replace(made, **own)
        return train(self.seen, self.task, method, rounds=rounds, seed=1, initial=start, evaluate_every=0)


# Claims -----------------------------------------------------------------------------------------------------


class Race(NamedTuple):
    """Every method's marks for each seed, its settings, and what differs from what was published."""

    marks: dict[str, list[Scores]]
    settings: dict[str, Setting]
    note: str


def claims(
    id: str,
    data: str,
    race: Race,
    published: Table,
    comparisons: Sequence[Comparison],
    tables: tuple[str, str],
) -> Iterator[Claim]:
    """A line for every method of two published tables, and one for every comparison."""
    place = " and ".join(tables)
    for number, (name, theirs) in enumerate(published.items()):
        ours = Scores(*np.mean(race.marks[name], axis=0))
        words = ", ".join(f"{key} {value:.3g}" for key, value in race.settings[name].items())
        note = f"{words}; {race.note}" if number == 0 else words
        line = f"{data}: {name}, accuracy / bottom decile / of new clients"
        yield Claim(
            id,
            line,
            format_marks(theirs),
            "reported",
            format_marks(ours),
            True,
            hard=False,
            note=note,
            place=place,
        )
    for one in comparisons:
        yield compare_claim(id, data, race.marks, published, one, tables[one.part == "unseen"])


def compare_claim(
    id: str, data: str, marks: dict[str, list[Scores]], published: Table, one: Comparison, place: str
) -> Claim:
    """How far a method leads another, beside how far it did in the published table."""
    values = [lead(*pair, one.part) for pair in zip(marks[one.ours], marks[one.other], strict=True)]
    theirs = printed_difference(*(getattr(published[name], one.part) for name in (one.ours, one.other)))
    what = {"mean": "", "decile": "bottom decile, ", "unseen": "new clients, "}[one.part]
    words = f"{data}: {what}{one.ours} minus {one.other}, points"
    if one.most:
        words, values = f"{words}, either way", [abs(float(np.mean(values)))]
    rest: dict[str, Any] = {"most": one.most, "hard": False, "note": one.note}
    return average(id, words, values, one.least, published=theirs, place=place, **rest)


def lead(ours: Scores, other: Scores, part: str) -> float:
    """The difference of one mark.

    >>> lead(Scores(80.0, 60.0), Scores(75.0, 63.0), "decile")
    -3.0
    """
    return float(getattr(ours, part) - getattr(other, part))


def format_marks(marks: Scores) -> str:
    """Marks for people; what there is none of is a dash.

    >>> format_marks(Scores(80.04, 60.0))
    '80.0 / 60.0 / -'
    """
    return " / ".join("-" if np.isnan(value) else f"{value:.1f}" for value in marks)


# Races ------------------------------------------------------------------------------------------------------


def trials(name: str, rate: float, rates: Sequence[float] = RATES) -> list[Setting]:
    """Four settings of a method: learning rates, or what it adds to FedAvg at FedAvg's best `rate`.

    >>> trials("ditto", 0.1)[0]
    {'rate': 0.1, 'lam': 1.0}
    """
    own: dict[str, list[Setting]] = {
        "fedavg+": [{"tune_learning_rate": factor * rate} for factor in (0.1, 0.3, 1.0, 3.0)],
        "ditto": [{"lam": lam} for lam in (1.0, 0.3, 0.1, 0.01)],
        "knnper": [{"k": k, "sigma": sigma} for k in (10, 20) for sigma in (1.0, 10.0)],
    }
    if name in own:
        return [{"rate": rate, **setting} for setting in own[name]]
    return [{"rate": FACTORS.get(name, 1.0) * one} for one in rates]


def choose_settings(
    problem: Problem, methods: Sequence[str], rates: Sequence[float] = RATES
) -> dict[str, Setting]:
    """The best of every method's trials by validation rows; FedAvg is tried first."""
    settings: dict[str, Setting] = {}
    state: State | None = None
    for name in ("fedavg", *(name for name in methods if name != "fedavg")):
        best = -np.inf
        for setting in trials(name, settings.get("fedavg", {}).get("rate", 0.0), rates):
            run = problem.learn(name, state if name in SETTLED else None, **setting)
            found = score(run, "validation").mean
            if found > best:
                best, settings[name] = found, setting
                state = run.state if name == "fedavg" else state
    return settings


def mark_methods(problem: Problem, settings: dict[str, Setting]) -> Table:
    """Every method's marks with its settings; FedAvg comes first."""
    runs: dict[str, Run] = {}
    for name, setting in settings.items():
        runs[name] = problem.learn(name, runs["fedavg"].state if name in SETTLED else None, **setting)
    return {
        name: Scores(*score(run), newcomer_accuracy(problem, name, run, settings[name]))
        for name, run in runs.items()
    }


def newcomer_accuracy(problem: Problem, name: str, run: Run, setting: Setting) -> float:
    """The accuracy of newcomers, whose steps are as long as the first ones were, not as the last ones; who
    trains alone has nothing for them."""
    start = problem.learn(name, run.state, **setting)
    return 100 * newcomer_summary(start, problem.unseen).get("unseen_accuracy", np.nan)


def race(problems: Sequence[Problem], settings: dict[str, Setting], note: str) -> Race:
    """All methods on all seeds."""
    found = [mark_methods(problem, settings) for problem in problems]
    return Race({name: [one[name] for one in found] for name in settings}, settings, note)


# Data -------------------------------------------------------------------------------------------------------


def apart(federation: Federation, task: Task, rounds: int, seed: int) -> Problem:
    """A problem that a fifth of the clients joins later."""
    return Problem(*set_apart(federation, UNSEEN, seed), task, rounds)


@cache
def pictures_raced(partition: str, clients: int = 40, rounds: int = 40) -> Race:
    """CIFAR-10 as fixed convolutional features, with one hidden layer that is trained."""
    tuning, learning = encode_images()
    methods = tuple(PICTURES[partition])

    def problem(source: Source, seed: int, validation: float = 0.0) -> Problem:
        dealt = deal(source, partition, clients, seed, validation_fraction=validation)
        model = mlp(64, input_shape=dealt.input_shape, outputs=10)
        return apart(dealt, Task.classification(model, 10), rounds, seed)

    settings = choose_settings(problem(tuning, TUNING_SEED, 0.2), methods)
    note = (
        f"{clients} clients, {len(learning.y)} images, fixed features of random patches under 64 hidden "
        f"units, {rounds} rounds; published: 80 or 200 clients, 60000 images, MobileNet-v2, 200 rounds"
    )
    return race([problem(learning, seed) for seed in SEEDS], settings, note)


@cache
def roles_raced(clients: int = 40, rounds: int = 30, length: int = 10) -> Race:
    """Shakespeare's roles, with a perceptron that reads the last characters."""
    methods = tuple({**ROLES_FEDEM, **ROLES_KNNPER})

    def problem(seed: int, validation: float = 0.0) -> Problem:
        source = f"shakespeare:{length},2,1000"
        federation = load(source, clients=clients, seed=seed, validation_fraction=validation)
        symbols = federation.classes or 1
        return apart(federation, Task.classification(reader(symbols, length), symbols), rounds, seed)

    settings = choose_settings(problem(TUNING_SEED, 0.2), methods, tuple(3 * rate for rate in RATES))
    note = (
        f"{clients} roles with at most 1000 windows of {length} characters, an embedding under 128 hidden "
        f"units, {rounds} rounds; published: 778 roles, stacked LSTM, 80 or 300 rounds"
    )
    return race([problem(seed) for seed in SEEDS], settings, note)


def reader(symbols: int, length: int, embedding: int = 16, hidden: int = 128) -> Model:
    """A character model that sees a short window at once: embedding, one hidden layer, next symbol."""

    def init(key: jax.Array) -> PyTree:
        keys = jax.random.split(key, 3)
        return {
            "embedding": jax.random.normal(keys[0], (symbols, embedding)),
            "hidden": dense_init(keys[1], length * embedding, hidden),
            "head": dense_init(keys[2], hidden, symbols),
        }

    def features(params: Params, x: jax.Array) -> jax.Array:
        return jax.nn.relu(dense(params["hidden"], params["embedding"][x].reshape(x.shape[0], -1)))

    return Model(init, lambda params, x: dense(params["head"], features(params, x)), features, head="head")


# Fixed features of pictures ---------------------------------------------------------------------------------


@cache
def encode_images() -> tuple[Source, Source]:
    """CIFAR-10 for tuning and for learning, as features whose filters come from images of neither."""
    source = load_rows("cifar10")
    x, y = source.pooled()
    ends = np.cumsum([PUBLIC, TUNED_ON, LEARNED_ON])
    public, *parts = np.split(generator(0, "public pictures").permutation(len(y))[: ends[-1]], ends[:-1])
    encode = Encoder.of(x[public])
    tuning, learning = (Source(encode(x[rows]), y[rows], 10, description="CIFAR-10") for rows in parts)
    return tuning, learning
