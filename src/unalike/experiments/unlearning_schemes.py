"""Unlearning schemes, compared by quality and cost.

    scratch       train again from the first model                              perfect, and dearest
    fine-tuning   train on without the clients                                  no guarantee
    last          noise for all that the clients did, on the last model         (epsilon, delta)
    fedaccum      add the stored updates of the others up again                 no guarantee
    fedaccum-reference   the same, but never loaded, as in the authors' first code: fine-tuning
    sifu          noise on the last model that holds little of the clients      (epsilon, delta)

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Everything stays in memory, and noise follows from the seed: for studies, not for promises; those are
made by :mod:`.forget`. Training with noise from the start (`dp`) is fine-tuning under another aggregator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..aggregation.base import Aggregator
from ..algorithms import FedAvg
from ..core.random import generator
from ..data import Federation
from ..engine import root_key
from ..errors import unknown
from ..models import Task
from ..participation import Full, Remaining, Renormalized
from ..training.make_plan import plan_training
from ..training.plan import TrainingPlan
from ..training.train import run_plan
from ..trust.unlearning.calibration import Budget
from ..trust.unlearning.measured_uploads import MeasuredUploads
from ..trust.unlearning.noise import add_noise
from ..trust.unlearning.oracle import Node, extend_path, select_restart
from ..trust.unlearning.sensitivity import Mode
from ..typing import Float64s, Params, State
from .unlearning_branch import Branch, Retain, move, retain_all
from .watermark_check import is_right

Scheme = Literal["scratch", "fine-tuning", "last", "fedaccum", "fedaccum-reference", "sifu"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True)
class UnlearningProblem:
    """What all schemes share: clients, model, local work, draws, and when training stops."""

    federation: Federation
    task: Task
    algorithm: FedAvg
    per_round: int | None
    stop_at: str | None
    rounds: int = 10_000
    """At most."""
    seed: int = 0

    def start(self) -> State:
        """The first model, as a server's state."""
        return self.algorithm.init(self.task, root_key(self.seed, "init"))

    def plan(self, federation: Federation, aggregator: Aggregator | None = None) -> TrainingPlan:
        """The plan of a training on these rows; the aggregator measures uploads, unless another is given."""
        return plan_training(
            *(federation, self.task, self.algorithm),
            rounds=self.rounds,
            seed=self.seed,
            aggregator=aggregator or MeasuredUploads(),
            stop_at=self.stop_at,
        )


def train_branch(
    problem: UnlearningProblem,
    start: State,
    gone: Sequence[int] = (),
    aggregator: Aggregator | None = None,
    replays: Sequence[Sequence[int]] = (),
    retain: Retain = retain_all,
) -> Branch:
    """Train from a state until the problem's rule says stop, on the clients that are not gone.

    Args:
        problem: clients, model and rules of the training.
        start: the server's state to start from.
        gone: clients that never take part.
        aggregator: what the server makes of uploads; their measured sum when None.
        replays: for each of these sets of clients, what the updates of all others add up to is kept, as
            `fedaccum` needs.
        retain: which models are kept; all of them if not given.
    """
    federation = problem.federation.without_rows(gone) if len(gone) else problem.federation
    sampler = Full() if problem.per_round is None else Renormalized(per_round=problem.per_round)
    branch = Branch(federation.importance, retain, {tuple(sorted(who)): 0.0 for who in replays})
    plan = replace(
        problem.plan(federation, aggregator),
        participation=(_Watching if replays else Remaining)(sampler, list(gone)),
        initial=start,
        keeper=branch,
    )
    metrics = run_plan(plan).metrics()
    branch.bytes_sent = float(np.nansum(metrics["bytes_up"]) + np.nansum(metrics["bytes_down"]))
    return branch


class _Watching(Remaining):
    """Remaining clients, whose updates are shown, too."""

    watches = ("update",)


class Forgetting(NamedTuple):
    """What one request came to."""

    rounds: int
    bytes_sent: float
    residual: float
    """Accuracy on the rows of all clients that were forgotten so far."""
    utility: float
    """Accuracy on the rows of those that remain."""
    restart: Node | None
    first: float
    """Accuracy on the rows of the first request's clients."""
    noise: float
    """Deviation of the noise that was added."""


def forget_in_sequence(
    problem: UnlearningProblem,
    scheme: Scheme,
    requests: Sequence[Sequence[int]],
    first: Branch,
    budget: Budget,
    mode: Mode = "realized",
    aggregator: Aggregator | None = None,
    path: bool = False,
    retain: Retain = retain_all,
) -> list[Forgetting]:
    """Forget groups of clients one after the other, by one scheme, after a first training.

    Args:
        problem: clients, model and rules of all trainings.
        scheme: how they are forgotten.
        requests: the clients of every request.
        first: the first training; `fedaccum` needs it with the replays of :func:`prefixes`.
        budget: the guarantee of `last` and `sifu`.
        mode: whose weights the sensitivities use.
        aggregator: what the server makes of uploads in retrainings; their measured sum when None.
        path: whether sensitivities are added up over all trainings on the way.
        retain: which models of retrainings are kept; all of them if not given.
    """
    if scheme not in SCHEMES:
        raise unknown("scheme", scheme, SCHEMES)
    branches, gone = {0: first}, list[int]()
    nodes: tuple[Node, ...] = ()
    found: list[Forgetting] = []
    for number, clients in enumerate(requests, 1):
        gone += clients
        draw = generator(problem.seed, f"unlearning {scheme}", number).standard_normal
        restart, noise, newest = None, 0.0, branches[max(branches)]
        if scheme == "sifu":
            tables = {s: branch.sensitivity(mode)[:, list(clients)] for s, branch in branches.items()}
            restart = select_restart(tables, nodes, budget.largest_sensitivity, path)
            nodes = extend_path(nodes, restart)
            state, noise = branches[restart.branch].states[restart.round], budget.sigma
        elif scheme == "last":
            worst = float(newest.sensitivity(mode)[-1, list(clients)].max())
            state, noise = newest.last, budget.sigma_for(worst)
        elif scheme == "fedaccum":
            moved = sum(branch.replayed(gone) for branch in branches.values())
            state = move(first.states[0], np.asarray(moved))
        else:
            state = first.states[0] if scheme == "scratch" else newest.last
        start = with_noise(state, noise, draw)
        later = prefixes(requests)[number:] if scheme == "fedaccum" else ()
        branch = train_branch(problem, start, gone, aggregator, later, retain)
        kept = {node.branch for node in nodes} if scheme == "sifu" else set(branches)
        branches = {**{s: b for s, b in branches.items() if s in kept}, number: branch}
        found.append(_judge(problem, branch, requests[0], gone, restart, noise))
    return found


def with_noise(state: State, sigma: float, draw: Callable[[int], Float64s]) -> State:
    """A server's state with noise on its model; the state itself where there is none.

    Args:
        state: the state.
        sigma: the deviation of the noise.
        draw: gives so many independent standard normal numbers.
    """
    return State({**state, "params": add_noise(state["params"], sigma, draw)}) if sigma else state


def prefixes(requests: Sequence[Sequence[int]]) -> list[list[int]]:
    """All clients that are gone after every request.

    >>> prefixes([[0], [2, 1]])
    [[0], [0, 2, 1]]
    """
    return [[client for request in requests[:n] for client in request] for n in range(1, len(requests) + 1)]


def accuracy_on(problem: UnlearningProblem, params: Params, clients: Sequence[int]) -> float:
    """Accuracy on the training rows of some clients."""
    return float(is_right(problem.task, params, problem.federation.train.take(list(clients))).mean())


def _judge(
    problem: UnlearningProblem,
    branch: Branch,
    first: Sequence[int],
    gone: Sequence[int],
    restart: Node | None,
    noise: float,
) -> Forgetting:
    params = branch.last["params"]
    rest = np.setdiff1d(np.arange(len(problem.federation)), gone)
    residual, utility, earliest = (accuracy_on(problem, params, c) for c in (gone, rest.tolist(), first))
    return Forgetting(branch.rounds, branch.bytes_sent, residual, utility, restart, earliest, noise)
