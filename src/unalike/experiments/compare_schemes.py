"""Comparison of unlearning schemes on a run of one's own (`unalike forget --compare`).

    scratch       train again from a new model                        (0, 0)
    fine-tuning   train the last model on                             no guarantee
    last          noise for all that the clients did, on the last one (epsilon, delta)
    dp            training with noise from the start, then trained on what its noise has cost
    fedaccum      add the updates of the others up again              no guarantee
    sifu          noise on the last model that holds little of them   (epsilon, delta)

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Each scheme retrains on the others until the same rule says stop. The run folder is only read; the
first training is repeated in memory, because updates are not in it, and noise follows from the seed: nothing
of this is a promise, and no model is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..core.random import generator
from ..data import Federation
from ..data.without_clients import has_same_encoding
from ..errors import ConfigError, RunError
from ..privacy.accountant import charge_epsilon
from ..privacy.central import CentralPrivacy, central_dp
from ..training.observers import Observer
from ..trust.unlearning.calibration import Budget
from ..trust.unlearning.certificate import Assumption, certify, label_of
from ..trust.unlearning.oracle import Node, Rule
from ..trust.unlearning.requests import Request
from ..typing import State
from .assumptions import coding_assumptions
from .forget import check_simulated, read_rows, refuse_pending
from .forget_plan import ForgettingRun, check_clients, open_run, plan_request
from .remaining_rows import rows_coded_without
from .request_assumptions import request_assumptions
from .run_problem import RunProblem
from .unlearning_branch import Branch, move, retain_rounds
from .unlearning_schemes import train_branch, with_noise

Compared = Literal["scratch", "fine-tuning", "last", "dp", "fedaccum", "sifu"]
COMPARED: tuple[Compared, ...] = get_args(Compared)
WITHOUT = "no unlearning"
"""The line of the model as it was trained."""
USUAL_CLIP = 0.5
RENORMALIZED = 4.0
"""A client of weight w moves the sum of clipped updates by w C at most, but their mean by 2 w C, because
without it the others weigh more; charges are squares."""


class Result(NamedTuple):
    """What a scheme came to."""

    scheme: str
    rounds: int | None
    """Aggregations of the retraining; None where the scheme is not possible."""
    forgotten: float
    """Accuracy (or loss) on the training rows of the clients that were forgotten."""
    others: float
    """The same on those of the others."""
    watermark: float | None = None
    """Accuracy on the forgotten clients' rows with a trigger, where they have some."""
    epsilon: float | None = None
    delta: float | None = None
    """The guarantee; None where there is none."""
    label: str = "none"
    """`proven`, `conditional` or `heuristic` as in a certificate, or `none`."""
    noise: float = 0.0
    """Deviation of the noise on the model that was retrained."""
    bytes_sent: float = 0.0
    note: str = ""

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        if self.epsilon is None or self.delta is None:
            return "none"
        return f"({self.epsilon:.4g}, {self.delta:.4g}), {self.label}"


@dataclass(frozen=True)
class SchemeComparison:
    """A request, and the run on which schemes answer it.

    Args:
        run: the run, opened to be read.
        request: the request as `unalike forget` would plan it.
        clip: the norm to which `dp` clips updates.
        present: the rows as the run coded them.
        coded: the rows coded as if the clients had never been there.
    """

    run: ForgettingRun
    request: Request
    clip: float
    present: Federation
    coded: Federation

    @classmethod
    def open(
        cls,
        path: str | Path,
        names: list[str],
        budget: Budget,
        *,
        rule: Rule = "max",
        rounds: int | None = None,
        stop_at: str | None = None,
        clip: float = USUAL_CLIP,
    ) -> SchemeComparison:
        """The comparison on a run folder, if it is possible.

        Args:
            path: the run folder.
            names: the clients to forget.
            budget: the guarantee of `last`, `dp` and `sifu`.
            rule: what must be hidden, for `last` and `sifu`.
            rounds: rounds to retrain at most; as the run was trained when None.
            stop_at: the metric at which training ends early; as the run was trained when None.
            clip: the norm to which `dp` clips updates.
        """
        if not 0 < clip < np.inf:
            raise ConfigError(f"the clipping norm must be above 0, but is {clip:g}.")
        run = open_run(path, read_only=True)
        with run.folder:
            check_simulated(run)
            refuse_pending(run)
            if run.log.requests:
                raise RunError(
                    f"{path} has forgotten clients before, and updates of that training are gone; compare "
                    "schemes on a run that has forgotten nobody."
                )
            clients = check_clients(run, names)
            present = read_rows(run)
            coded = rows_coded_without(run.experiment, clients, present)
            fresh = not has_same_encoding(present, coded)
            request = plan_request(run, names, budget, rule, rounds, stop_at, fresh)
        return cls(run, request, clip, present, coded)

    def asked(self) -> dict[str, Any]:
        """What decides the results."""
        return {
            "run": str(self.run.path.resolve()),
            "model": self.request.digest_before,
            "clients": list(self.request.names),
            "budget": asdict(self.request.budget),
            "rule": self.request.rule,
            "rounds": self.request.rounds,
            "stop_at": self.request.stop_at,
            "clip": self.clip,
        }

    @property
    def clients(self) -> list[int]:
        """The clients to forget, by number."""
        return list(self.request.clients)

    @property
    def measure(self) -> str:
        """What is measured on rows: accuracy, or the loss where there are no classes."""
        return "accuracy" if self.present.classes else "loss"

    @cached_property
    def first(self) -> Branch:
        """The run's training, repeated."""
        retain = retain_rounds(0, self.request.restart.round)
        problem = self.whole()
        return train_branch(problem, problem.start(), replays=[self.clients], retain=retain)

    def whole(self, observer: Observer | None = None) -> RunProblem:
        """The run's own training."""
        experiment = self.run.experiment
        return RunProblem.of(
            *(experiment, self.present),
            rounds=experiment.rounds_to_train,
            stop_at=experiment.stop_at,
            patience=experiment.patience,
            observer=observer,
        )

    def again(self, observer: Observer | None = None) -> RunProblem:
        """A retraining without the clients."""
        return RunProblem.of(
            *(self.run.experiment, self.coded),
            rounds=self.request.rounds,
            stop_at=self.request.stop_at,
            observer=observer,
        )


def compare_schemes(
    comparison: SchemeComparison,
    known: Mapping[str, Result] = {},
    keep: Callable[[Result], object] = lambda result: None,
    announce: Callable[[str], object] = lambda scheme: None,
    observer: Observer | None = None,
) -> list[Result]:
    """What every scheme comes to, the model without unlearning first.

    Args:
        comparison: what is compared.
        known: results that need not be found again.
        keep: is told every new result.
        announce: is told every scheme before its training.
        observer: called after every round.
    """
    results = dict(known)
    for scheme in (WITHOUT, *COMPARED):
        if scheme not in results:
            announce(scheme)
            results[scheme] = _result(comparison, scheme, observer)
            keep(results[scheme])
    return [results[scheme] for scheme in (WITHOUT, *COMPARED)]


def _result(comparison: SchemeComparison, scheme: str, observer: Observer | None) -> Result:
    request = comparison.request
    if scheme == WITHOUT:
        problem = comparison.whole()
        return _judge(comparison, problem, scheme, comparison.first.last, 0)
    if request.fresh and scheme not in ("scratch", "sifu"):
        nothing = float("nan")
        note = "not possible: columns or labels are coded with the clients' rows, so only a new model will do"
        return Result(scheme, None, nothing, nothing, note=note)
    if scheme == "dp":
        return _private(comparison, observer)
    return _retrained(comparison, scheme, observer)


def _retrained(comparison: SchemeComparison, scheme: str, observer: Observer | None) -> Result:
    """All schemes but `dp`: another start, the same retraining."""
    request, problem = comparison.request, comparison.again(observer)
    state, noise = _start(comparison, problem, scheme)
    if not np.isfinite(noise):
        nothing, note = float("nan"), "not possible: no noise hides who was once the only client of a round"
        return Result(scheme, None, nothing, nothing, note=note)
    draw = generator(problem.seed, f"unlearning {scheme}", 1).standard_normal
    branch = train_branch(problem, with_noise(state, noise, draw), comparison.clients, retain=retain_rounds())
    result = _judge(comparison, problem, scheme, branch.last, branch.rounds)._replace(
        noise=noise, bytes_sent=branch.bytes_sent
    )
    if scheme in ("fine-tuning", "fedaccum"):
        return result
    return result._replace(**_guarantee(comparison, scheme, noise, request))


def _start(comparison: SchemeComparison, problem: RunProblem, scheme: str) -> tuple[State, float]:
    """The model from which a scheme retrains, and the deviation of the noise that is added to it."""
    request, run = comparison.request, comparison.run
    if scheme == "scratch" or request.fresh:
        return problem.start(), 0.0
    first = comparison.first
    if scheme == "last":
        return first.last, request.budget.sigma_for(_held_in_the_end(comparison))
    if scheme == "sifu":
        return first.states[request.restart.round], request.budget.sigma
    if scheme == "fedaccum":
        moved = np.asarray(first.replayed(comparison.clients))
        return move(first.states[0], run.terms.server_rate * moved), 0.0
    return first.last, 0.0


def _held_in_the_end(comparison: SchemeComparison) -> float:
    """The sensitivity of the clients after the whole training, by the request's rule."""
    ledger, mode = comparison.run.ledger(0), comparison.run.terms.mode
    if comparison.request.rule == "group":
        return float(ledger.group_sensitivity(mode, np.array(comparison.clients))[-1, 0])
    return float(ledger.sensitivity(mode)[-1, comparison.clients].max())


def _guarantee(comparison: SchemeComparison, scheme: str, noise: float, request: Request) -> dict[str, Any]:
    """The guarantee of a scheme that has one, as a certificate labels it."""
    run = comparison.run
    if scheme == "scratch" or request.fresh:
        answered = replace(request, fresh=True, nodes=(Node(0, 0),))
    elif scheme == "last":
        end = (Node(0, request.rounds_before),)
        answered = replace(request, nodes=end, noises=1, budget=replace(request.budget, sigma=noise or 1.0))
    else:
        answered = request
    remaining = comparison.coded.without_rows(comparison.clients)
    assumptions = request_assumptions(run, answered, remaining, comparison.coded)
    label = certify(answered, len(request.clients), assumptions, "", request.rounds).label
    spent = 0 if answered.fresh else answered.noises
    return {"epsilon": spent * request.budget.epsilon, "delta": spent * request.budget.delta, "label": label}


def make_private_rule(comparison: SchemeComparison) -> CentralPrivacy:
    """The aggregator of `dp`: noise of deviation 2 C / M times what the budget asks of one round.

    The mean of m of M clients has noise of z C / m, so that z = 2 (m / M) / ratio, where the ratio is that of
    the budget's calibration.
    """
    clients, budget = len(comparison.present), comparison.request.budget
    share = min(comparison.run.experiment.per_round or clients, clients) / clients
    return central_dp(comparison.clip, 2 * share / budget.ratio, budget.delta, clients=clients)


def _private(comparison: SchemeComparison, observer: Observer | None) -> Result:
    """Training with noise from the start, of which the guarantee follows from all rounds' charges."""
    rule, whole, problem = (
        make_private_rule(comparison),
        comparison.whole(observer),
        comparison.again(observer),
    )
    before = train_branch(whole, whole.start(), aggregator=rule, retain=retain_rounds())
    charge = RENORMALIZED * float(rule.ledger.charges[comparison.clients].max())
    branch = train_branch(
        *(problem, before.last, comparison.clients, make_private_rule(comparison)), retain=retain_rounds()
    )
    experiment = comparison.run.experiment
    draws = Assumption("the others would have been drawn", True if experiment.per_round is None else None)
    note = f"trained with noise from the start ({before.rounds} rounds), clipped to {comparison.clip:g}"
    return _judge(comparison, problem, "dp", branch.last, branch.rounds)._replace(
        epsilon=charge_epsilon(charge, rule.ledger.delta),
        delta=rule.ledger.delta,
        label=label_of([*coding_assumptions(experiment, problem.federation), draws]),
        bytes_sent=branch.bytes_sent,
        note=note,
    )


def _judge(
    comparison: SchemeComparison, problem: RunProblem, scheme: str, state: State, rounds: int
) -> Result:
    clients = comparison.clients
    others = np.setdiff1d(np.arange(len(comparison.present)), clients).tolist()
    params = state["params"]
    residual, utility = (problem.score(params, who) for who in (clients, others))
    return Result(scheme, rounds, residual, utility, problem.measure_watermark(params, clients))
