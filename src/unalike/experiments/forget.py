"""Unlearning (`unalike forget`): informed federated unlearning of one request or a sequence of them.

    plan      the last model that holds no more of the client than the noise can hide; a new one where columns
              or labels were coded with the client's rows, which are then coded again without them
    erase     every model after it, and all that was computed from the client (:mod:`.forgotten_traces`)
    noise     theta + sigma z, drawn once, never stored by itself
    retrain   on the remaining clients, who keep their numbers and draws
    publish   certificate, model, and the record of the retraining

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Each stage is noted in a journal before the next begins: a request that was interrupted goes on where
it was, and until it is finished the folder has no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..core.run_files import CONFIG, MODEL
from ..data import Federation
from ..data.without_clients import has_same_encoding
from ..engine import root_key
from ..errors import RunError
from ..models import Task
from ..runs import RunFolder, load_tensors
from ..runs.atomic import remove_file
from ..training.observers import Observer
from ..training.run import Run
from ..training.train import run_plan
from ..trust.unlearning.calibration import Budget
from ..trust.unlearning.certificate import Certificate, certify, model_digest
from ..trust.unlearning.noise import add_noise
from ..trust.unlearning.oracle import Node, Rule
from ..trust.unlearning.requests import Request
from ..typing import Document, State
from .build import make_algorithm, make_federation, make_task
from .forget_plan import ForgettingRun, check_clients, describe, open_run, plan_request
from .forgetting_quality import measure_after, measure_before, request_to_measure
from .forgotten_traces import erase_traces, show_retraining, what_remains
from .remaining_rows import rows_coded_without
from .request_assumptions import request_assumptions
from .retraining import plan_retraining


class Forgotten(NamedTuple):
    """What a finished request leaves."""

    certificate: Certificate
    run: Run
    """The retraining."""
    quality: Document | None = None
    """What was measured on the clients' own rows, if that was asked for."""


def forget(
    path: str | Path,
    names: Sequence[str],
    budget: Budget,
    *,
    rule: Rule = "max",
    rounds: int | None = None,
    stop_at: str | None = None,
    quality: bool = False,
    observer: Observer | None = None,
) -> Forgotten:
    """Forget clients of the run in a folder, and publish the retrained model with its certificate; `quality`
    also measures what is left on the clients' own rows."""
    run = open_run(path)
    with run.folder, run.folder.locked():
        check_simulated(run)
        refuse_pending(run)
        federation = read_rows(run)  # before anything is erased, because it may fail
        fresh = starts_afresh(run, federation, check_clients(run, names))
        request = plan_request(run, names, budget, rule, rounds, stop_at, fresh)
        run.log.write(request)
        if quality:
            measure_before(run, request)
        return _finish(run, request, federation, observer)


def prepare_nodes(
    path: str | Path,
    names: Sequence[str],
    budget: Budget,
    *,
    rule: Rule = "max",
    rounds: int | None = None,
    stop_at: str | None = None,
) -> Request:
    """The first stages for a run with real clients: after them, `unalike serve --resume` retrains with those
    that remain. A request that was interrupted before it could start goes on when no client is named."""
    run = open_run(path)
    with run.folder, run.folder.locked():
        request = run.log.pending
        if request is None or names:
            refuse_pending(run)
            request = plan_request(run, names, budget, rule, rounds, stop_at)
            run.log.write(request)
        if request.stage == "planned":
            erase(run, request)
            request = start_again(run, request)
        return request


def plan_forgetting(
    path: str | Path,
    names: Sequence[str],
    budget: Budget,
    *,
    rule: Rule = "max",
    rounds: int | None = None,
    stop_at: str | None = None,
) -> Document:
    """What forgetting would do and cost; nothing is changed."""
    run = open_run(path, read_only=True)
    with run.folder:
        refuse_pending(run)
        simulated = run.experiment.engine != "flower"
        fresh = simulated and starts_afresh(run, read_rows(run), check_clients(run, names))
        return describe(run, plan_request(run, names, budget, rule, rounds, stop_at, fresh))


def check_simulated(run: ForgettingRun) -> None:
    """Raise for a run whose clients are elsewhere."""
    if run.experiment.engine == "flower":
        raise RunError(
            f"the clients of {run.path} are elsewhere; use `unalike forget`, then `unalike serve`."
        )


def resume_forgetting(path: str | Path, observer: Observer | None = None) -> Forgotten:
    """Go on with a request that was interrupted, or with the measures after it."""
    run = open_run(path)
    with run.folder, run.folder.locked():
        request = run.log.pending or request_to_measure(run)
        if request is None:
            raise RunError(f"nothing is being forgotten in {path}.")
        check_simulated(run)
        return _finish(run, request, read_rows(run), observer)


def refuse_pending(run: ForgettingRun) -> None:
    """Raise while another request is not finished."""
    pending = run.log.pending
    if pending is not None:
        raise RunError(
            f"{run.path} is forgetting {', '.join(pending.names)}; go on with `unalike forget {run.path} "
            "--resume`."
        )


def read_rows(run: ForgettingRun) -> Federation:
    """The clients that the run was trained on."""
    federation = make_federation(run.experiment)
    if tuple(federation.name(i) for i in range(len(federation))) != run.names:
        raise RunError(f"the data are not those that {run.path} was trained on: its clients differ.")
    return federation


def starts_afresh(run: ForgettingRun, federation: Federation, clients: Sequence[int]) -> bool:
    """Whether rows of the others would have been coded in another way without these clients."""
    before = run.log.forgotten
    present = rows_coded_without(run.experiment, before, federation)
    return not has_same_encoding(present, rows_coded_without(run.experiment, [*before, *clients], federation))


def _finish(
    run: ForgettingRun, request: Request, federation: Federation, observer: Observer | None
) -> Forgotten:
    coded = rows_coded_without(run.experiment, run.log.forgotten, federation)
    rows = coded.without_rows(run.log.forgotten)
    if request.stage == "planned":
        erase(run, request)
        request = start_again(run, request, rows)
    trained = retrain(run, request, rows, observer)
    certificate = publish(run, request, trained, coded)
    return Forgotten(certificate, trained, measure_after(run, request, trained))


def erase(run: ForgettingRun, request: Request) -> None:
    """Erase every model that holds more of the clients than may be left, the published one first, and all
    else that was computed from them."""
    run.folder.finished = False
    remove_file(run.path / MODEL)
    erase_traces(run, request)
    for number in range(request.restart.branch + 1, request.number):
        run.branch(number).erase_after(-1)
    run.branch(request.restart.branch).erase_after(request.restart.round)


def start_again(run: ForgettingRun, request: Request, rows: Federation | None = None) -> Request:
    """Write the model with its noise, from which training starts again; it is drawn once. A new model, for
    these rows, needs none."""
    branch = run.branch(request.number)
    if request.fresh:
        assert rows is not None
        task = make_task(run.experiment, rows)
        branch.start_with(_first_state(run, task, rows))
        run.branch(0).keep_names(run.importance(request.number))
    else:
        node = request.restart
        noise = partial(add_noise, sigma=request.budget.sigma)
        branch.start_from(run.branch(node.branch), node.round, noise)
    return run.log.advance(request, "started")


def start_afresh(run: ForgettingRun, request: Request, state: State) -> Request:
    """Let a request that has started begin with a new model instead, where the one with noise does not fit
    the rows of those that remain: a label that only forgotten clients had is none any more."""
    nobody = tuple(0.0 for _ in request.clients)
    again = replace(request, nodes=(Node(0, 0),), sensitivities=nobody, noises=0, fresh=True)
    for number in range(1, request.number + 1):
        run.branch(number).erase_after(-1)
    run.branch(request.number).start_with(state)
    run.branch(0).keep_names(run.importance(request.number))
    run.log.write(again)
    return again


def _first_state(run: ForgettingRun, task: Task, rows: Federation) -> State:
    algorithm = make_algorithm(run.experiment).prepare(task, rows)
    return algorithm.init(task, root_key(run.experiment.seed, "init"))


def retrain(run: ForgettingRun, request: Request, rows: Federation, observer: Observer | None = None) -> Run:
    """Train on the remaining clients from the model with noise, into a run folder of its own."""
    experiment = run.experiment
    task = make_task(experiment, rows)
    branch = run.branch(request.number)
    out, going_on = retraining_folder(run, request)
    plan = plan_retraining(
        experiment,
        rows,
        task,
        run.log.forgotten,
        rounds=request.rounds,
        stop_at=request.stop_at,
        initial=branch.state(0, _first_state(run, task, rows)),
        observer=observer,
    )
    return run_plan(replace(plan, keeper=branch), out, going_on)


def retraining_folder(run: ForgettingRun, request: Request) -> tuple[RunFolder, bool]:
    """The run folder of a retraining, and whether it goes on there."""
    path, experiment = run.retraining(request.number), run.experiment
    if (path / CONFIG).exists():
        return RunFolder.open(path), True
    settings = {**experiment.model_dump(), "rounds": request.rounds, "stop_at": request.stop_at}
    return RunFolder.create(path, settings), False


def publish(
    run: ForgettingRun, request: Request, trained: Run, everyone: Federation | None = None
) -> Certificate:
    """Write the certificate, then what the retraining has left, its model last but for the journal;
    `everyone` are the rows of all clients, where they are here."""
    # As it was saved: where training has diverged, that is the last model that was sound.
    model, _ = load_tensors(run.retraining(request.number) / MODEL)
    rows = trained.setting.federation
    assumptions = request_assumptions(run, request, rows, everyone)
    gone = run.log.forgotten
    certificate = certify(
        request, len(gone), assumptions, model_digest(model), trained.rounds, what_remains(run, request)
    )
    certificate.save(run.home / f"certificate-{request.number}.json")
    show_retraining(run, request, trained)
    run.folder.save_model(model, {"forgotten": str(len(gone)), "digest": certificate.digest})
    run.log.advance(request, "finished")
    run.folder.finished = True
    return certificate
