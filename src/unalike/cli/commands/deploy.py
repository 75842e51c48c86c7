"""`unalike certs`, `unalike serve` and `unalike join`: train with clients who keep their data."""

from __future__ import annotations

import dataclasses
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.catalogue import check_name
from ...errors import ConfigError, RunError, unknown
from ...experiments.config import Experiment, make_experiment
from ..interrupted import can_go_on
from ..messages import say_data
from ..screen import LiveRounds, console, show_rows
from .deploy_tables import check_tables, join_table, run_analysis, show_statistics
from .run import conclude, run_folder

if TYPE_CHECKING:
    from ...data import Federation
    from ...trust.behaviours import Behaviour

DATA = (
    *("data", "label", "client_column", "drop", "prepare", "gaps", "partition", "clients", "sizes"),
    *("samples", "skew", "test_fraction", "validation_fraction", "seed"),
)
"""What a node says of its own data."""
AT_THE_NODES = (
    *("data", "label", "client_column", "drop", "prepare", "gaps", "partition", "sizes", "samples", "skew"),
    *("engine", "devices", "local_dp"),
    *("central_dp", "patience"),  # options of `serve` itself
)
"""What a server has nothing to say about."""
CERTS, ADDRESS = Path("certs"), "127.0.0.1:9092"


def certs(
    nodes: str | None = typer.Option(None, help="Names of nodes to make keys for, such as ann,bob,cyd."),
    hosts: str | None = typer.Option(
        None, help="Names or IP addresses under which nodes reach the server.", show_default="localhost"
    ),
    out: Path = typer.Option(CERTS, help="Folder to make them in."),
    server: bool = typer.Option(True, help="Make the server's certificate; not on a node's own machine."),
    replace: bool = typer.Option(False, "--replace", help="Replace what is there."),
) -> None:
    """Make the certificates and keys of a deployment.

    To try it out on one machine: unalike certs --nodes ann,bob. Between organisations the server makes its
    own (unalike certs --hosts fl.example.org), every node makes its key where it will be used (unalike certs
    --nodes ann --no-server) and sends the .pub file, and gets ca.pem.
    """
    from ...deploy import check_flower, make_authority, make_node_key

    check_flower()
    names = _words(nodes)
    if not server and not names:
        raise ConfigError("say for which nodes to make keys, such as --nodes ann.")
    known = (out / "ca.pem").exists() and not replace and hosts is None
    if server and not (known and names):
        made = make_authority(out, _words(hosts) or ["localhost"], replace=replace)
        _say(f"{made.parent}: the server's certificate; give ca.pem to every node.")
    for name in names:
        private, public = make_node_key(out, name, replace)
        _say(f"{private} stays with node {name}; the server needs {public.name}.")


def serve(
    experiment: Experiment,
    address: str = typer.Option(ADDRESS, help="Host and port to listen on; 0.0.0.0:9092 for all networks."),
    certificates: Path = typer.Option(CERTS, help="Folder made by `unalike certs`."),
    allow: Path | None = typer.Option(
        None, help="Folder with the .pub files of the nodes that may come.", show_default="CERTIFICATES/nodes"
    ),
    insecure: bool = typer.Option(False, "--insecure", help="No encryption and no keys; only to try it out."),
    wait: float = typer.Option(3600.0, min=1, help="Seconds to wait for the nodes to come."),
    patience: float = typer.Option(600.0, min=1, help="Seconds to wait for a client's answer."),
    secure_aggregation: bool = typer.Option(
        False, "--secure-aggregation", help="See only the sum of a round's uploads (Flower's SecAgg+)."
    ),
    central_dp: str | None = typer.Option(
        None,
        metavar="CLIP,NOISE[,DELTA]",
        help="Clip uploads and add noise to their sum, such as 1,0.8; with --epsilon CLIP alone will do.",
    ),
    streaming: bool = typer.Option(
        False, "--streaming", help="Let nodes whose rows come and go say how many they hold, and count so."
    ),
    similarity: bool = typer.Option(
        False, "--similarity", help="First ask nodes that tell it for the direction of their rows; compare."
    ),
    analysis: str | None = typer.Option(
        None, help="Fit a statistical model to nodes' tables, such as 'linear: y ~ age + C(sex)'."
    ),
    statistics: bool = typer.Option(
        False, "--statistics", help="Count and average the columns of nodes' tables, and stop."
    ),
    out: Path | None = typer.Option(
        None, help="Run folder to make.", show_default="runs/nodes-ALGORITHM-SEED"
    ),
    resume: Path | None = typer.Option(None, help="Go on with this run folder instead."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a run that is already in the folder."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Train with real clients who keep their data, through Flower.

    Example: unalike serve --algorithm fedavg --rounds 10, and in other terminals unalike join. `clients` is
    how many nodes to wait for; by default everyone who is allowed. With --analysis or --statistics, nodes
    answer from tables (unalike join --table rows.csv), and settings of the analysis are given by --set.
    """
    from ...deploy import SuperLink, check_flower, read_allowed
    from ...deploy.forgotten_nodes import RemainingNodes, started_forgetting
    from ...deploy.node_agreement import gathered
    from ...deploy.node_similarity import ask_directions, write_node_similarity
    from ...deploy.protection import Protection
    from ...deploy.server import check_servable, ignored, introductions, make_folder, train_nodes
    from ...deploy.streaming_nodes import check_streaming
    from ...experiments.build import check
    from ...experiments.forget import publish, retraining_folder

    check_flower()
    budget = {"epsilon": experiment.epsilon, "delta": experiment.delta}
    on_tables, settings = analysis is not None or statistics, experiment.options
    if on_tables:
        trained = {"secure_aggregation": secure_aggregation, "central_dp": central_dp}
        others = {**trained, "streaming": streaming, "similarity": similarity}
        check_tables(analysis, statistics, others, settings)
        experiment = experiment.model_copy(update={"options": {}})  # they are of the analysis
    if resume is not None and not on_tables:
        experiment = _same_experiment(experiment, resume).model_copy(update=budget)
    protection = Protection.of(experiment, secure_aggregation, central_dp)
    # From here on, what protects the run says how much noise there is; the experiment does not.
    experiment = experiment.model_copy(update={"central_dp": None, "epsilon": None, "delta": None})
    check(experiment.model_copy(update={"engine": "local"}))
    forgetting = started_forgetting(resume)
    allowed = None if insecure else read_allowed(allow or certificates)
    clients = experiment.clients or (len(allowed) if allowed else 0)
    if not clients:
        raise ConfigError("say how many nodes to wait for, such as --clients 2.")
    if allowed is not None and clients > len(allowed):
        raise ConfigError(f"{clients} clients cannot come, for only {len(allowed)} nodes are allowed.")
    if not on_tables:
        check_servable(experiment, clients)
        protection.check(experiment, clients)
    if streaming:
        check_streaming(experiment, protection)
    log = _silence if json else _say
    for name in ignored(experiment):
        log(f"{name} is of simulations; real clients have their own.")
    usual = (
        Path("runs/analysis") if on_tables else run_folder(experiment.model_copy(update={"data": "nodes"}))
    )
    path = resume or out or usual
    _check_place(path, resume is not None or overwrite)
    with ExitStack() as open_until_the_end:
        state = (
            Path(open_until_the_end.enter_context(tempfile.TemporaryDirectory()))
            if insecure
            else certificates
        )
        link = open_until_the_end.enter_context(
            SuperLink(address, None if insecure else certificates, allowed, state / "link")
        )
        log(f"listening on {address}{' without encryption' if insecure else ''} for `unalike join`.")

        def refused_nodes(say: Callable[[str], None]) -> list[str]:
            lines = link.refusals()
            for line in lines:
                say(line.partition(" ")[2])  # without its own time
            return lines

        with link.open() as everyone:
            post = RemainingNodes(everyone, [] if forgetting is None else forgetting.names)
            clients = clients if forgetting is None else forgetting.remaining
            told = introductions(post, clients, wait, log, partial(refused_nodes, log))
            if statistics:
                show_statistics(post, list(told), patience, log, json)
                return
            if analysis is not None:
                how = ((resume is not None, overwrite), patience, log, quiet, json)
                run_analysis(analysis, post, list(told), path, settings, *how)
                return
            # Only now, so that a mistake in anything above leaves nothing on the disk.
            going_on, retraining = resume is not None, None
            if forgetting is None:
                folder = make_folder(experiment, path, going_on, overwrite)
            else:
                told, retraining = forgetting.in_their_places(told), forgetting.retraining()
                open_until_the_end.enter_context(forgetting.run.folder.locked())
                folder, going_on = retraining_folder(*forgetting)
            can_go_on("unalike serve --resume", path)
            if similarity:
                found = ask_directions(experiment, post, told, patience, log)
                places = write_node_similarity(found, gathered(told, experiment), folder.path)
                log(f"{found.verdict()} ({', '.join(str(place) for place in places)})")
            with LiveRounds(quiet or json) as progress:
                run, engine = train_nodes(
                    experiment,
                    post,
                    told,
                    folder,
                    patience=patience,
                    resume=going_on,
                    observer=progress,
                    refused_nodes=partial(
                        refused_nodes, _silence if json else lambda line: progress.say(_dated(line))
                    ),
                    protection=protection,
                    streaming=streaming,
                    retraining=retraining,
                )
            if forgetting is not None:
                certificate = publish(*forgetting, run)
            log(f"{engine.hand_over_model(run.message)} of {clients} nodes have the model.")
    # Labels are not known here, so that the report must not count them.
    conclude(run, json, dataclasses.replace(run.setting.federation, classes=None))
    if forgetting is not None:
        forgetting.run.folder.close()
    if forgetting is not None and not json:
        show_rows(certificate.rows(), f"certificate of request {certificate.request}")


def join(
    experiment: Experiment,
    server: str = typer.Option(ADDRESS, help="The server's host and port."),
    certificate: Path = typer.Option(CERTS / "ca.pem", help="The server's ca.pem."),
    key: Path | None = typer.Option(None, help="This node's private key, made by `unalike certs`."),
    client: str | None = typer.Option(
        None, help="Which client of the data this node is: a name or a number."
    ),
    folder: Path | None = typer.Option(
        None, help="Where the node keeps what its client remembers.", show_default="nodes/NAME"
    ),
    insecure: bool = typer.Option(False, "--insecure", help="No encryption and no key; only to try it out."),
    secure_only: bool = typer.Option(
        False, "--secure-only", help="Train by secure aggregation only, whatever the server asks."
    ),
    local_dp: str | None = typer.Option(
        None, metavar="CLIP,EPSILON,DELTA", help="Clip and add noise to every upload, such as 1,0.5,1e-5."
    ),
    stream: Path | None = typer.Option(
        None, help="Folder in which files with new rows appear while training; with --memory."
    ),
    memory: str | None = typer.Option(
        None, help="Which rows of the stream are kept: a number of the newest, or such as reservoir:200."
    ),
    tell_direction: str | None = typer.Option(
        None,
        help="Tell a server that asks in which direction rows point, which is close to their mean: plain, "
        "rotation:FILE (a secret of the nodes), projection:16 or gaussian:1,1e-5.",
        show_default="never",
    ),
    table: Path | None = typer.Option(
        None, help="Answer questions about this .csv or .parquet file (`serve --analysis`, `--statistics`)."
    ),
    smallest_cell: int = typer.Option(
        5, min=1, help="With --table: tell no count, mean or sum of fewer rows than this."
    ),
    group: str | None = typer.Option(
        None,
        help="To which group of nodes this one belongs, such as a region, for fairness between groups.",
        show_default="as the data say, or none",
    ),
    behaviour: str | None = typer.Option(
        None,
        help="Only to rehearse: be dishonest, such as free-rider:decay (`unalike list behaviours`), to try "
        "what the server makes of it.",
    ),
) -> None:
    """Take part in a training with your own data, until Ctrl-C.

    Example: unalike join --server fl.example.org:9092 --certificate ca.pem --key ann.key --data my-rows,
    where my-rows is a folder with one file (.npz, .csv or .parquet). To try it out with data that come along:
    unalike join --key certs/nodes/ann.key --data digits --clients 2 --client 0. Rows never leave this
    machine. The server says which rows of a file are for testing, unless you do (--test-fraction, --seed).
    """
    from ...deploy import check_flower, serve_node

    if behaviour is not None:
        check_name("behaviours", behaviour)
    check_flower()
    from ...data.similarity.private_messages import WARNING
    from ...deploy.client.app import ClientWorker
    from ...deploy.client.join_stream import check_stream, open_stream
    from ...deploy.client.local_privacy import private_answers
    from ...deploy.client.rows import is_uncut, without_cut
    from ...deploy.client.tell_direction import PLAIN, DirectionTeller
    from ...deploy.secure_aggregation.node import secure_app
    from ...experiments.build import make_federation
    from ...privacy.local import local_privacy

    privacy = None if local_dp is None else local_privacy(local_dp)
    if key is None and not insecure:
        raise ConfigError(
            "a node needs its key, such as --key certs/nodes/ann.key (made by `unalike certs`)."
        )
    check_stream(stream, memory, privacy is not None, secure_only)
    stop = threading.Event()
    if table is not None:
        others = {"stream": stream, "local_dp": local_dp, "secure_only": secure_only, "behaviour": behaviour}
        check_tables(None, False, others)
        _stop_by_signals(stop)
        trusted, own_key = (None, None) if insecure else (certificate, key)
        join_table(table, smallest_cell, server, trusted, own_key, folder, stop, _say)
        return
    # Means and words of one node are not those of all: numbers are taken as they are, unless a file that all
    # nodes share says what becomes of columns.
    experiment = experiment.model_copy(update={"prepare": experiment.prepare or "never"})
    if experiment.prepare in ("auto", "always"):
        raise ConfigError(
            "a node cannot prepare its rows by itself, for the others' means and words are not its own; give "
            "all nodes the same file (--prepare FILE.json, such as what `unalike serve --statistics --json` "
            "printed)."
        )
    uncut = stream is None and is_uncut(experiment, client)
    given = stream is None or "data" in experiment.model_fields_set
    first = (
        own_rows(make_federation(without_cut(experiment) if uncut else experiment), client) if given else None
    )
    _stop_by_signals(stop)
    opened = None
    if stream is not None and memory is not None:
        opened = open_stream(stream, memory, experiment, first, _say, stop.wait)
    own = first if opened is None else opened[0]
    if own is None:
        _say("left.")
        return
    if group is not None:
        own = own.with_groups([group])
    name = key.stem if key is not None else f"client-{own.name(0)}"
    place = folder or Path("nodes") / name
    held = None if opened is None else opened[1]
    worker = ClientWorker(own, place, _say, uncut=uncut, stream=held, behaviour=_lie(behaviour))
    if given:
        say_data(experiment, own, silent=False)
    rows = f"{len(own.train.y)} {'' if uncut else 'training '}rows"
    if opened is not None:
        rows = f"{len(opened[1])} training rows now, room for {opened[1].capacity}"
    _say(f"{name}: {rows}, which stay here; joining {server} (Ctrl-C to leave).")
    if own.groups is not None:
        _say(f"{name} tells the server that its group is {own.groups[0]}.")
    if behaviour is not None:
        _say(f"{name} is a rehearsal: it is not honest ({behaviour}), and the server is not told.")
    answers = worker.answer if privacy is None else private_answers(worker.answer, privacy)
    teller = DirectionTeller(lambda: own if held is None else held.federation(), tell_direction, uncut, _say)
    if tell_direction == PLAIN:
        _say(WARNING)
    app = secure_app(teller.in_front_of(answers), secure_only)
    serve_node(app, server, None if insecure else certificate, None if insecure else key, place, stop, _say)
    _say("left.")


def _lie(words: str | None) -> Behaviour | None:
    """What a node does that rehearses being dishonest."""
    from ...trust.behaviours import behaviour_registry

    return None if words is None else behaviour_registry.make(words)


def _stop_by_signals(stop: threading.Event) -> None:
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    signal.signal(signal.SIGTERM, lambda *_: stop.set())


def _same_experiment(given: Experiment, folder: Path) -> Experiment:
    """The experiment of a run that goes on, of which nothing can be changed."""
    from ...runs import RunFolder

    config = RunFolder.open(folder).config
    if config.get("engine") != "flower":
        raise RunError(f"{folder} was not trained with real clients; go on with `unalike resume {folder}`.")
    changed = given.model_fields_set - {"epsilon", "delta"}  # said again, as --central-dp is
    if changed:
        names = ", ".join(sorted(changed))
        raise ConfigError(f"a run goes on with its own settings; leave out {names} beside --resume.")
    return make_experiment(config)


def _check_place(path: Path, may_be_there: bool) -> None:
    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not may_be_there):
        raise ConfigError(f"{path} is there already; choose another --out, or --overwrite a run.")


def own_rows(federation: Federation, client: str | None) -> Federation:
    """The one client that a node is."""
    if client is None:
        if len(federation) == 1:
            return federation
        raise ConfigError(f"these data have {len(federation)} clients; say which one this is with --client.")
    names = [federation.name(i) for i in range(len(federation))]
    if client not in names:
        raise unknown("client", client, names)
    return federation.subset([names.index(client)])


def _words(listed: str | None) -> list[str]:
    return [word.strip() for word in (listed or "").split(",") if word.strip()]


def _say(line: str) -> None:
    console.print(_dated(line), soft_wrap=True, highlight=False)


def _dated(line: str) -> str:
    return f"{datetime.now():%H:%M:%S}  {escape(line)}"


def _silence(line: str) -> None:
    return
