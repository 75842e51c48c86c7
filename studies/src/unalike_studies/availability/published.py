"""A long study: CA-Fed and its rivals at the published effort.

Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated Learning under Heterogeneous and Correlated Client
Availability", 2023: a hundred clients, 200 rounds, ten runs, mini-batches of 32 and every pair of a grid of
rates, judged by the accuracy in the end. Clients count by their rows, and so does their accuracy; the mean
over clients stands beside it. Pairs are chosen here on a draw of clients of their own.

How much clients do in a round was not printed: five plain steps are one contest, and two epochs with
momentum 0.9, as in the authors' program, the other (momentum begins anew in every round here). CA-Fed's
losses are those of all rows of a client, where the source took one mini-batch; LEAF's 1 / j^1.2 is a
variance; pixels of MNIST are between 0 and 1. A row of LEAF's data has a squared length of about 75, so that
a client's own loss has a curvature of up to 36 and more, and steps above 0.06 overshoot: rows of this length
do not explain the published rates of clients on Synthetic, 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from unalike.algorithms import LocalWork
from unalike.data import load
from unalike.data.sources.files import local
from unalike.typing import Float64s

from ..shared.summaries import mean_of
from ..study import Claim, Effort, Value, at_least, at_published_effort
from ..trainings import Trainings, describe_training
from .data import Accuracies, Problem, Rates, learn, make_problem

RUNS, ROUNDS, EVALUATIONS = 10, 200, 40
CLIENT_RATES = (2.0, 1.0, 0.3, 0.1, 0.03, 0.01)
TUNING_SEED = 1000
OURS, RIVALS = "ca-fed:1", ("adafed", "unbiased", "more-available", "f3ast")


@dataclass(frozen=True)
class Local:
    """What clients do in a round."""

    words: str
    work: LocalWork
    momentum: float = 0.0


STEPS = Local("5 steps", LocalWork(steps=5, batch_size=32))
EPOCHS = Local("2 epochs, momentum 0.9", LocalWork(epochs=2, batch_size=32), 0.9)


@dataclass(frozen=True)
class Contest:
    """Clients, the server's rates that were tried, and what was published."""

    name: str
    make: Callable[[int], Problem]
    server_rates: Sequence[float]
    gain: float
    """Of CA-Fed over AdaFed, in points."""
    chosen: dict[str, str]
    """The published rates of clients and server, by strategy."""
    local: Local = STEPS

    @property
    def title(self) -> str:
        """What lines begin with."""
        return f"{self.name}, {self.local.words}"

    @property
    def grid(self) -> list[Rates]:
        """Every pair of rates."""
        return [Rates(client, server) for client in CLIENT_RATES for server in self.server_rates]


SYNTHETIC = Contest(
    "Synthetic(0.5)",
    lambda seed: make_problem(load("synthetic:0.5,0.5", clients=100, seed=seed)),
    tuple(float(rate) for rate in range(8, 0, -1)),
    1.56,
    {"unbiased": "2/2", "more-available": "1/7", OURS: "2/3", "adafed": "1/1", "f3ast": "2/2"},
)
MNIST = Contest(
    "MNIST",
    lambda seed: make_problem(load("mnist", partition="dirichlet-class:0.5", clients=100, seed=seed)),
    (5.0, 4.0, 3.0, 2.0, 1.0, 0.3, 0.1),
    0.94,
    {"unbiased": "0.03/1", "more-available": "0.1/4", OURS: "0.1/1", "adafed": "0.03/1", "f3ast": "0.1/0.3"},
)


@at_published_effort("availability", "A15")
def gain_claims(effort: Effort) -> Iterator[Claim]:
    """CA-Fed and its rivals on LEAF's synthetic data, and on MNIST where it is there."""
    data = [SYNTHETIC] if local("mnist.npz") is None else [SYNTHETIC, MNIST]
    contests = [replace(one, local=work) for one in data for work in (STEPS, EPOCHS)]
    (runs, few), (rounds, short) = effort.runs_of(RUNS), effort.length_of(ROUNDS, "rounds")
    effort.trainings.expect(sum((1 + len(RIVALS)) * (len(one.grid) + runs) for one in contests))
    for contest in contests:
        yield from contest_claims(contest, runs, f"{few}, {short}", effort.trainings, rounds)


def contest_claims(
    contest: Contest,
    runs: int,
    note: str,
    trainings: Trainings,
    rounds: int = ROUNDS,
    grid: Sequence[Rates] | None = None,
) -> Iterator[Claim]:
    """Every strategy with its best rates, then CA-Fed against AdaFed and against the best of the others."""
    tuning, problems = contest.make(TUNING_SEED), [contest.make(seed) for seed in range(runs)]
    train = partial(outcome, trainings, contest, rounds=rounds)
    tried = contest.grid if grid is None else grid
    found: dict[str, list[Outcome]] = {}
    for name in (OURS, *RIVALS):
        ends = [train(tuning, name, rates, seed=TUNING_SEED).rows.end for rates in tried]
        best = tried[int(np.argmax(np.nan_to_num(ends, nan=-1.0)))]
        found[name] = [train(problem, name, best, seed=seed) for seed, problem in enumerate(problems)]
        chosen = f"best of {len(tried)} pairs{', at their edge' * at_edge(best, tried)}; {note}"
        yield _report(contest, name, best, found[name], chosen)
    yield from _lead_claims(contest, found, note)


class Outcome(NamedTuple):
    """The accuracy of all test rows together, and the mean over clients of each one's."""

    rows: Accuracies
    clients: Accuracies


def outcome(
    trainings: Trainings, contest: Contest, problem: Problem, name: str, rates: Rates, rounds: int, seed: int
) -> Outcome:
    """What a training comes to; those that are finished are not repeated."""
    local, every = contest.local, max(1, rounds // EVALUATIONS)

    def train() -> Float64s:
        curve = learn(
            problem,
            name,
            rates,
            rounds,
            seed,
            None,
            evaluate_every=every,
            work=local.work,
            momentum=local.momentum,
        )
        return np.concatenate([curve.accuracy, curve.client_accuracy])

    chosen = {"strategy": name, "rates": [rates.client, rates.server], "local": repr(local)}
    rest = {"rounds": rounds, "every": every, "seed": seed}
    both = trainings.numbers(describe_training(problem.federation, problem.task) | chosen | rest, train)
    return Outcome(*(Accuracies(half) for half in np.split(both, 2)))


def at_edge(best: Rates, tried: Sequence[Rates]) -> bool:
    """Whether a rate is the smallest or the largest that was tried, so that better ones may lie beyond.

    >>> at_edge(Rates(1.0, 2.0), [Rates(c, s) for c in (0.1, 1.0, 2.0) for s in (1.0, 2.0, 3.0)])
    False
    """
    clients, servers = [one.client for one in tried], [one.server for one in tried]
    ends = (min(clients), max(clients)), (min(servers), max(servers))
    return best.client in ends[0] or best.server in ends[1]


def _report(contest: Contest, name: str, best: Rates, found: list[Outcome], note: str) -> Claim:
    """A strategy's accuracies and rates."""
    rows, clients = (_part(found, kind) for kind in Outcome._fields)
    numbers = " / ".join(f"{mean_of(rows, part):.2f}" for part in ("end", "time_average", "deviation"))
    words = (
        f"{contest.title}: {name}, accuracy in the end / over time / its deviation, clients' mean in the end"
    )
    published: Value = f"rates {contest.chosen[name]}"
    measured = f"{numbers}, {mean_of(clients, 'end'):.2f}, rates {best.client:g}/{best.server:g}"
    place = "Table 4 of appendix D"
    return Claim("A15", words, published, "reported", measured, True, hard=False, note=note, place=place)


def _lead_claims(contest: Contest, found: dict[str, list[Outcome]], note: str) -> Iterator[Claim]:
    for kind, words in zip(Outcome._fields, ("accuracy", "clients' mean accuracy"), strict=True):
        leads = lead(_part(found[OURS], kind), _part(found["adafed"], kind), "end")
        yield at_least(
            "A15",
            f"{contest.title}: {words} of CA-Fed (bias weight 1) over AdaFed's in the end, points",
            [float(leads.mean())],
            0.0,
            hard=False,
            published=f"+{contest.gain}",
            place="section 2.2.6.2",
            note=f"standard error {error_of(leads):.2f}; {note}",
        )
    rows = {name: _part(outcomes, "rows") for name, outcomes in found.items()}
    rival = max(RIVALS, key=lambda name: mean_of(rows[name], "time_average"))
    over_time = lead(rows[OURS], rows[rival], "time_average")
    yield at_least(
        "A15",
        f"{contest.title}: accuracy of CA-Fed (bias weight 1) over the best rival's ({rival}) over time",
        [float(over_time.mean())],
        -0.5,
        hard=False,
        note=f"standard error {error_of(over_time):.2f}; {note}",
    )


def _part(found: Sequence[Outcome], kind: str) -> list[Accuracies]:
    return [getattr(one, kind) for one in found]


def lead(ours: Sequence[Accuracies], other: Sequence[Accuracies], part: str) -> Float64s:
    """The difference of one mark, run by run: both have the same clients and the same trace."""
    return np.array([getattr(a, part) - getattr(b, part) for a, b in zip(ours, other, strict=True)])


def error_of(values: Float64s) -> float:
    """The standard error of a mean; not a number for a single value.

    >>> error_of(np.array([1.0, 3.0]))
    1.0
    """
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
