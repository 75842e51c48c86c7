"""Plans of unlearning requests: from which model to retrain, and at which cost.

Nothing is changed here: a plan is what `unalike forget --dry-run` shows, and what a request begins with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.catalog import separate
from ..core.run_files import MODEL, UNLEARNING, check_run
from ..core.spec import Spec
from ..errors import ConfigError, RunError, unknown
from ..runs import RunFolder, load_tensors
from ..training.early_stopping import StopRule
from ..training.unlearning_history import LedgerTerms, branch_history
from ..trust.unlearning.calibration import Budget
from ..trust.unlearning.certificate import model_digest
from ..trust.unlearning.history import BranchHistory, client_names, first_importance
from ..trust.unlearning.oracle import (
    RULES,
    Node,
    Rule,
    check_path,
    extend_path,
    is_hidden,
    noise_on_path,
    select_restart,
)
from ..trust.unlearning.requests import Request, RequestLog
from ..trust.unlearning.sensitivity import Ledger
from ..typing import Document, Float64s
from .build import make_algorithm
from .build_unlearning import ledger_terms
from .config import DEFAULT_ROUNDS, Experiment, make_experiment
from .outside_paths import check_received


@dataclass
class ForgettingRun:
    """A run that kept what forgetting needs; no data are read for it."""

    folder: RunFolder
    experiment: Experiment
    names: tuple[str, ...]
    """What clients are called, in the order of their numbers."""
    terms: LedgerTerms
    log: RequestLog

    @property
    def path(self) -> Path:
        """Where the run is."""
        return self.folder.path

    @property
    def home(self) -> Path:
        """Where models and norms are kept."""
        return self.path / UNLEARNING

    def branch(self, number: int) -> BranchHistory:
        """The models and norms of a training: 0 for the first, r for the retraining of request r."""
        keep = self.experiment.unlearning or "full"
        return branch_history(keep, self.path, number, self.terms, self.importance(number))

    def importance(self, number: int) -> Float64s:
        """What clients weigh in the training of a branch: those that were forgotten before, nothing."""
        weights = first_importance(self.home / "branch-0").copy()
        weights[[client for request in self.log.requests[:number] for client in request.clients]] = 0
        return weights / weights.sum()

    def ledger(self, number: int) -> Ledger:
        """The ledger of a branch."""
        return self.branch(number).ledger(self.terms.server_rate, self.terms.discount)

    def retraining(self, number: int) -> Path:
        """The run folder in which request `number` is retrained."""
        return self.home / f"retraining-{number}"


def open_run(path: str | Path, *, read_only: bool = False) -> ForgettingRun:
    """The run in a folder, if it kept what forgetting needs."""
    folder = Path(path)
    check_run(folder)
    opened = RunFolder.open(folder, read_only=read_only, with_history=True)
    experiment = experiment_of_run(opened)
    if not (folder / UNLEARNING / "branch-0" / "round-000000.safetensors").is_file():
        raise RunError(f"{folder} has no history any more, so nothing can be forgotten from it.")
    terms = ledger_terms(experiment, make_algorithm(experiment))
    log = RequestLog(folder / UNLEARNING)
    return ForgettingRun(opened, experiment, client_names(folder / UNLEARNING / "branch-0"), terms, log)


def experiment_of_run(folder: RunFolder) -> Experiment:
    """What a run was asked to do, if it kept a ledger."""
    if folder.config.get("made_by"):
        raise RunError(f"{folder.path} was made in Python; forget clients of runs of `unalike run`.")
    check_received(folder)
    experiment = make_experiment(folder.config)
    if experiment.unlearning is None:
        raise RunError(
            f"{folder.path} kept neither ledger nor history, so nothing can be proven of it; train with "
            "--unlearning full (or grid:10) to switch them on."
        )
    return experiment


def plan_request(
    run: ForgettingRun,
    names: Sequence[str],
    budget: Budget,
    rule: Rule = "max",
    rounds: int | None = None,
    stop_at: str | None = None,
    fresh: bool = False,
) -> Request:
    """Where training starts again without these clients; nothing is changed. `fresh` where it can start
    nowhere but with a new model."""
    clients = check_clients(run, names)
    if rule not in RULES:
        raise unknown("rule", rule, RULES)
    if stop_at is not None:
        check_stop(run.experiment, stop_at)
    if not run.folder.finished and not run.log.requests:
        raise RunError(f"{run.path} is not finished; finish it first with `unalike resume {run.path}`.")
    found = (
        Restart((Node(0, 0),), np.zeros((1, len(clients))), 0)
        if fresh
        else plan_restart(run, clients, budget, rule)
    )
    each = found.held.sum(axis=0) if rule == "path" else found.held.max(axis=0)
    asked = run.experiment.rounds_to_train
    newest = len(run.log.requests)
    return Request(
        number=newest + 1,
        names=tuple(names),
        clients=tuple(clients),
        budget=budget,
        rule=rule,
        mode=run.terms.mode,
        nodes=found.nodes,
        sensitivities=tuple(np.broadcast_to(each, len(clients)).tolist()),
        noises=found.noises,
        rounds_before=len(run.ledger(newest).deviations),
        rounds=rounds if rounds is not None else DEFAULT_ROUNDS if asked is None else asked,
        stop_at=stop_at if stop_at is not None else run.experiment.stop_at,
        digest_before=present_digest(run.path),
        asked_at=datetime.now(UTC).isoformat(timespec="seconds"),
        fresh=fresh,
    )


class Restart(NamedTuple):
    """Where a request starts again."""

    nodes: tuple[Node, ...]
    held: Float64s
    """What every node holds of each client, or, by the rule group, of all of them together."""
    noises: int


def plan_restart(run: ForgettingRun, clients: list[int], budget: Budget, rule: Rule) -> Restart:
    """The last model in which little enough of the clients is left, if those that were forgotten before stay
    hidden by it as well."""
    way, newest, path = run.log.nodes, len(run.log.requests), rule == "path"
    branches = {*(node.branch for node in way), newest}
    ledgers = {branch: run.ledger(branch) for branch in branches}
    tables = {branch: _watched(run, ledgers[branch], clients, rule) for branch in branches}
    limits = [budget.ratio * sigma for sigma in _present_noise(run)]
    allowed = select_restart(tables, way, budget.largest_sensitivity, path, limits)
    start = Node(allowed.branch, max(n for n in run.branch(allowed.branch).states() if n <= allowed.round))
    nodes = extend_path(way, start)
    check_path(nodes)
    sigmas = noise_on_path(nodes, run.log.sigmas, budget.sigma)
    held = np.array([tables[node.branch][node.round] for node in nodes])
    assert all(is_hidden(column, sigmas, budget.ratio, path) for column in held.T)
    _check_earlier(run, ledgers, nodes, sigmas, budget)
    return Restart(nodes, held, 1 if path else max(1, int((held > 0).sum(axis=0).max())))


def _check_earlier(
    run: ForgettingRun,
    ledgers: Mapping[int, Ledger],
    nodes: Sequence[Node],
    sigmas: Sequence[float],
    budget: Budget,
) -> None:
    """Raise where a restart would uncover a client that was forgotten before."""
    present = zip(run.log.nodes, _present_noise(run), strict=True)
    dropped = [sigma for node, sigma in present if node.branch >= nodes[-1].branch]
    for request in run.log.requests:
        clients, path = list(request.clients), request.rule == "path"
        tables = {branch: _watched(run, ledger, clients, request.rule) for branch, ledger in ledgers.items()}
        held = np.array([tables[node.branch][node.round] for node in nodes])
        for place, column in enumerate(held.T):
            few = path or (column > 0).sum() <= max(1, request.noises)
            if few and is_hidden(column, sigmas, request.budget.ratio, path):
                continue
            who = ", ".join(request.names) if request.rule == "group" else request.names[place]
            if not dropped:
                raise RunError(f"{run.path} does not hide {who} any more; train again without {who}.")
            raise ConfigError(
                f"noise of sigma = {budget.sigma:g} would uncover {who}, forgotten before with noise of "
                f"{max(dropped):g}, which this request replaces; choose --sigma {max(dropped)!r} or more."
            )


def _present_noise(run: ForgettingRun) -> tuple[float, ...]:
    """The deviation of the noise at every node of the way to the present model."""
    return noise_on_path((*run.log.nodes, Node(len(run.log.requests), 0)), run.log.sigmas, 0.0)[:-1]


def _watched(run: ForgettingRun, ledger: Ledger, clients: list[int], rule: Rule) -> Float64s:
    """What must stay below the limit after every round of a branch."""
    if rule == "group":
        return ledger.group_sensitivity(run.terms.mode, np.array(clients))
    return ledger.sensitivity(run.terms.mode)[:, clients]


def check_stop(experiment: Experiment, stop_at: str) -> None:
    """Raise for a stopping rule that cannot be followed, before anything is erased."""
    rule = StopRule.of(stop_at)
    measured = separate(experiment.metrics) if experiment.metrics else ["accuracy", "rmse"]
    names = ["loss", *(Spec.parse(words).name for words in measured)]
    if rule.metric.removeprefix(f"{rule.split}_") not in names:
        raise ConfigError(f"stop_at cannot follow {rule.metric!r}: measured are {', '.join(names)}.")


def check_clients(run: ForgettingRun, names: Sequence[str]) -> list[int]:
    """The numbers of clients, if all can be forgotten."""
    known = {name: i for i, name in enumerate(run.names)}
    if not names:
        raise ConfigError("say which client to forget.")
    for name in names:
        if name not in known:
            raise unknown("client", name, known)
        if known[name] in run.log.forgotten:
            raise ConfigError(f"client {name} was forgotten already.")
    if len(set(names)) < len(names):
        raise ConfigError("a client is named twice.")
    left = len(run.names) - len(run.log.forgotten) - len(names)
    if left < 1:
        raise ConfigError("nobody would be left to train on; delete the run folder instead.")
    return [known[name] for name in names]


def present_digest(path: Path) -> str | None:
    """The digest of the model that is published now."""
    model = path / MODEL
    return model_digest(load_tensors(model)[0]) if model.exists() else None


def describe(run: ForgettingRun, request: Request) -> Document:
    """What a request would do and cost; for the owner of the run, not for the public."""
    branch, kept = request.restart
    erased = [len(run.branch(b).rounds()) for b in range(branch + 1, request.number)]
    again = "a new model: columns or labels are coded again without the client's rows"
    return {
        "client": ", ".join(request.names),
        "restart": again if request.fresh else f"branch {branch}, round {kept}",
        "rounds_of_the_present_training": request.rounds_before,
        "models_to_erase": sum(erased) + len(run.branch(branch).rounds()) - kept - 1,
        "rounds_to_retrain_at_most": request.rounds,
        "stop_at": request.stop_at,
        "sensitivity": max(request.sensitivities),
        "largest_sensitivity": request.budget.largest_sensitivity,
        "norm_of_the_noise": 0.0 if request.fresh else _norm_of_noise(run, request),
        "ledger": request.mode,
        "rule": request.rule,
        "calibration": request.budget.calibration,
    }


def _norm_of_noise(run: ForgettingRun, request: Request) -> float:
    branch, kept = request.restart
    entries = sum(tensor.size for tensor in run.branch(branch).parameters(kept).values())
    return request.budget.sigma * float(np.sqrt(entries))
