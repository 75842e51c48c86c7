"""The server of a deployment: from an experiment to a run.

meet the nodes        who is there, with how many rows of what shape, and what their labels mean
train                 the same loop, algorithm and timing as in a simulation
say farewell          everyone gets the model
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..aggregation.base import WeightedSum
from ..algorithms import Gifair
from ..algorithms.shared.local_state import keep_state
from ..core.pytrees import nbytes
from ..data import Federation
from ..data.groups import read_groups
from ..engine import Setting, message_template, reply_template, root_key
from ..errors import ConfigError, RunError
from ..experiments.build import make_algorithm, make_task, weight_settings
from ..experiments.build_participation import make_participation, make_sampler
from ..experiments.config import ABOUT, DEFAULT_ROUNDS, Experiment, settings_of
from ..experiments.run import plan_experiment
from ..runs import RunFolder
from ..timing import Clients, Jobs, Timing, WaitForAll, timing_registry
from ..training.observers import Watching
from ..training.prepare import requested_updates
from ..training.run import Run
from ..training.train import run_plan
from ..typing import Document
from .client_config import PROTOCOL, ClientConfig, NodeRows, client_settings, far_federation
from .engine import FlowerEngine, has_own_messages
from .forgotten_nodes import Retraining
from .node_agreement import gather_federation, in_order, keep_their_own
from .protection import Protection
from .streaming_nodes import check_own_weights, streaming_nodes
from .transport.mailbox import Mailbox, MessageGrid, meet
from .transport.messages import MessageError, WireMessage

Log = Callable[[str], None]
Doorman = Callable[[], list[str]]
"""Says who was refused since last asked."""
PATIENCE = 30.0
"""Seconds for a node to introduce itself, before it is asked again."""
SIMULATED = settings_of(served="simulation")
"""What real clients have of their own, or only a simulation can use."""


def check_servable(experiment: Experiment, clients: int | None = None) -> None:
    """Raise where an experiment cannot be run with real clients, or not with so many."""
    _check_settings(experiment)
    algorithm = make_algorithm(experiment)
    if not algorithm.has_server:
        raise ConfigError(
            f"{experiment.algorithm} has no server; choose a method that has one, such as fedavg."
        )
    if algorithm.needs.shared_seed:
        raise ConfigError(
            f"{experiment.algorithm} draws its noise from the seed, which real clients know; simulate it, or "
            "protect uploads with --central-dp or `unalike join --local-dp`."
        )
    if experiment.groups is not None and experiment.groups.startswith("column:"):
        raise ConfigError(
            f"groups = {experiment.groups!r} is of rows, which stay with real clients; let nodes join with "
            "--group NAME, or give a .csv or .json file with the group of every node."
        )
    if experiment.groups is not None and not experiment.groups.startswith("name:"):
        read_groups(Path(experiment.groups))  # a mistake in it is told before anybody has come
    if experiment.options.get("lam") is not None and isinstance(algorithm, Gifair):
        raise ConfigError("lam depends on who comes; with real clients, say rho, its share of the largest.")
    sampling = experiment.spec("sampling")
    if sampling is not None and sampling.name in ("target", "optimal", "clustered-data"):
        raise ConfigError(f"sampling {sampling.text!r} needs data that deployed clients do not share.")
    if experiment.options.get("groups") and experiment.algorithm == "clustered-fl":
        raise ConfigError("groups of clustered-fl look at rows, which stay with real clients; leave it out.")
    if clients is not None:
        _check_count(experiment, clients)


def _check_settings(experiment: Experiment) -> None:
    """Raise for settings that mean nothing where clients are real."""
    for name in settings_of(served="refused"):
        value = getattr(experiment, name)
        if value != Experiment.model_fields[name].default:
            streamed = ABOUT[name].group == "Stream"
            own = "; a node has its own (`unalike join --stream FOLDER`)" if streamed else ""
            raise ConfigError(f"{name} = {value!r} is not possible with real clients{own}.")
    if experiment.importance not in (None, "data", "equal"):
        raise ConfigError(f"importance = {experiment.importance!r} is not possible with real clients.")


def _check_count(experiment: Experiment, clients: int) -> None:
    """What can be known before anybody has come."""
    nobody = far_federation([NodeRows(1, 0, 0, 2, (1,), (), ("float32", "int32"))] * clients)
    sampler = make_sampler(experiment, nobody)
    if sampler is not None:
        sampler.check(clients, experiment.rounds or DEFAULT_ROUNDS)
    real_timing(experiment).begin(Clients(nobody.importance, jobs=Jobs(None, clients)))  # type: ignore[arg-type]


def ignored_settings(experiment: Experiment) -> list[str]:
    """Settings that only a simulation has."""
    usual = {name: Experiment.model_fields[name].default for name in SIMULATED}
    return [name for name in SIMULATED if getattr(experiment, name) != usual[name]]


def real_timing(experiment: Experiment) -> Timing:
    """The timing policy, on arrivals as they happen; synchronous rounds wait for everyone."""
    if experiment.spec("timing").name == "synchronous":
        return WaitForAll()
    settings = weight_settings(experiment)
    return timing_registry.make(experiment.timing, staleness=experiment.staleness, **settings)


def introductions(
    post: MessageGrid,
    clients: int,
    patience: float,
    log: Log,
    refused_nodes: Doorman = list,
    on_tables: bool | None = None,
) -> dict[str, NodeRows]:
    """Meet so many nodes, and what each tells of its rows; one that goes away again is waited for. Where
    `on_tables` says what they are for, a node that joined for the other is refused by name."""
    deadline, left, complaint = time.monotonic() + patience, patience, ""
    while True:
        names = meet(post, clients, left, log, refused_nodes)
        mailbox = Mailbox(post, names, limit=1 << 20)
        everyone: dict[int, Document] = {i: {} for i in range(clients)}
        found, _ = mailbox.ask("introduce", everyone, {}, "introduction", min(left, PATIENCE))
        if len(found) == clients:
            check_joined_for({name: found[i] for i, name in enumerate(names)}, on_tables)
            return in_order({name: _read_introduction(name, found[i]) for i, name in enumerate(names)})
        for event in mailbox.events():
            words = f"node {event['name']} could not introduce itself: {event.get('reason', event['kind'])}"
            if event["kind"] == "refused errand" or time.monotonic() > deadline:
                raise RunError(words)
            if words != complaint:
                log(words)
                complaint = words
        time.sleep(1)
        left = max(1.0, deadline - time.monotonic())


def check_joined_for(introduced: Mapping[str, WireMessage], on_tables: bool | None) -> None:
    """Raise for nodes that answer questions about a table where a training is to begin, or the reverse."""
    if on_tables is None:
        return
    wrong = [name for name, one in introduced.items() if (one.numbers.get("table") is True) != on_tables]
    if wrong:
        have, needed = ("--data", "--table FILE") if on_tables else ("--table", "--data FOLDER")
        purpose = "an analysis or statistics" if on_tables else "a training"
        raise RunError(
            f"{', '.join(wrong)} joined with {have}; for {purpose}, leave and join again with "
            f"`unalike join {needed}`."
        )


def _read_introduction(name: str, answer: WireMessage) -> NodeRows:
    try:
        return _rows(answer.numbers)
    except MessageError as error:
        raise RunError(f"node {name} could not introduce itself: {error}") from None


def _rows(numbers: Any) -> NodeRows:
    if numbers.get("protocol") != PROTOCOL:
        raise MessageError(f"it speaks protocol {numbers.get('protocol')}, not {PROTOCOL}.")
    return NodeRows.read(str(numbers.get("rows")))


def train_nodes(
    experiment: Experiment,
    post: MessageGrid,
    told: dict[str, NodeRows],
    folder: RunFolder,
    *,
    patience: float = 600.0,
    resume: bool = False,
    observer: Watching = None,
    refused_nodes: Doorman = list,
    protection: Protection = Protection(),
    streaming: bool = False,
    retraining: Retraining | None = None,
) -> tuple[Run, FlowerEngine]:
    """Train what is described with nodes that have introduced themselves; `retraining` says how, where some
    of them were forgotten."""
    federation = gather_federation(told, experiment).with_importance(experiment.importance or "data")
    task = make_task(experiment, federation)
    real = experiment.model_copy(update={"availability": None, "participation": None, "beliefs": "estimated"})
    who = make_participation(real, federation) if retraining is None else retraining.who
    if "update_norm" in who.asks:
        raise ConfigError(
            "asking real clients for their updates before choosing costs a round each; sample in another way."
        )
    protection.check(experiment, len(told), who)
    changing = streaming_nodes(told, streaming, experiment, protection)
    watch = requested_updates(who)
    algorithm = make_algorithm(experiment)
    plan = replace(
        plan_experiment(_at_the_server(experiment), federation, task, observer),
        participation=who,
        timing=real_timing(experiment),
        rounds=DEFAULT_ROUNDS if experiment.rounds_to_train is None else experiment.rounds_to_train,
    )
    aggregator = plan.aggregator or WeightedSum()
    ready = keep_state(algorithm, task).prepare(task, federation)
    setting = Setting(federation, task, ready, experiment.seed, watch=watch, aggregator=aggregator)
    check_discreet(experiment.algorithm, setting, protection.secure)
    if changing:
        check_own_weights(experiment.algorithm, setting)
    check_same_nodes(folder, list(told))
    client_configs = make_contracts(experiment, federation, run_name(folder), watch)
    mailbox = Mailbox(post, list(told))
    engine = protection.engine(
        setting, mailbox, client_configs, patience, refused_nodes, folder.record, changing
    )
    for name in keep_their_own(told):
        mailbox.note("own split", list(told).index(name), reason="it cut its rows by itself")
    for i, (name, rows) in enumerate(told.items()):
        if i in changing:
            room = f"{name} has room for {rows.train} rows that come and go"
            mailbox.note("streaming node", i, reason=room)
    plan = plan.on(engine)
    if retraining is not None:
        first = ready.init(task, root_key(experiment.seed, "init"))
        plan = replace(
            plan,
            rounds=retraining.rounds,
            initial=retraining.history.state(0, first),
            stop_at=retraining.stop_at,
            patience=None,
            keeper=retraining.history,
        )
    return run_plan(plan, folder, resume), engine


def _at_the_server(experiment: Experiment) -> Experiment:
    """The experiment without what only a simulation or a node uses, so that a plan of it can be made."""
    usual = {
        name: Experiment.model_fields[name].default
        for name in (*SIMULATED, "timing", "timing_weights", "largest_weight", "engine")
    }
    return experiment.model_copy(update={**usual, "local_dp": None})


def check_discreet(name: str, setting: Setting, secure: bool = False) -> None:
    """A simulation may hand every client what is meant for one of them; between real ones that is a leak,
    unless the method says what is meant for whom. Secure aggregation sends the same to all."""
    message = message_template(setting)
    if has_own_messages(setting.algorithm) and not secure:
        return
    if setting.algorithm.traffic(message, reply_template(setting, message).upload)[0] < nbytes(message):
        raise ConfigError(f"{name} would send all clients what belongs to single ones; only simulate it.")


def make_contracts(
    experiment: Experiment, federation: Federation, run: str, watch: tuple[str, ...] = ()
) -> list[ClientConfig]:
    """What each node is told."""
    largest, count = int(federation.train.sizes.max()), len(federation)
    told, names = client_settings(experiment), (federation.label_names, federation.columns)
    return [
        ClientConfig(run, told, i, count, float(share), largest, federation.classes or 0, watch, *names)
        for i, share in enumerate(federation.importance)
    ]


def run_name(folder: RunFolder) -> str:
    """What nodes call the run; the same when it is resumed."""
    known = folder.record.meta().get("deployment")
    if known is None:
        known = secrets.token_hex(8)
        folder.record.set_meta("deployment", known)
    return known


def check_same_nodes(folder: RunFolder, names: list[str]) -> None:
    """A run goes on with the nodes it began with, in the same places; the folder remembers who they were."""
    known = folder.record.meta().get("nodes")
    if known is None:
        folder.record.set_meta("nodes", json.dumps(names))
    elif json.loads(known) != names:
        raise RunError(
            f"{folder.path} was begun with the nodes {', '.join(json.loads(known))}, but here are "
            f"{', '.join(names)}; go on with the same."
        )


def make_folder(
    experiment: Experiment,
    out: Path,
    resume: bool,
    overwrite: bool = False,
    protection: Protection = Protection(),
) -> RunFolder:
    """The run folder: a new one, or one to go on with, of the same clients and settings; its configuration
    says what clients were promised."""
    if resume:
        return RunFolder.open(out)
    # By its engine a report knows that rows are elsewhere and that time is real.
    given = {**experiment.model_dump(), "data": "nodes", "engine": "flower"}
    return RunFolder.create(out, {**given, "protection": protection.as_dict()}, overwrite)
