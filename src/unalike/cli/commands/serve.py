"""`unalike serve`: the server of a deployment: train with nodes, or analyze their tables."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...errors import ConfigError, RunError
from ...experiments.config import Experiment, make_experiment, settings_of
from ..interrupted import can_go_on
from ..log_lines import add_time, say, silence
from ..screen import LiveRounds, show_rows
from .certs import CERTS
from .listen import ADDRESS, Listening, say_refusals
from .node_tables import check_tables, run_analysis, show_statistics
from .run import conclude, run_folder

if TYPE_CHECKING:
    from ...deploy.protection import Protection

AT_THE_NODES = settings_of(served="node")
"""What a server has nothing to say about."""


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
        False,
        "--secure-aggregation",
        help="See only sums over nodes: of a round's uploads (Flower's SecAgg+) or of answers about tables.",
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
    require_all: bool = typer.Option(
        False, "--require-all", help="With --analysis or --statistics: stop if a node does not answer."
    ),
    out: Path | None = typer.Option(
        None, help="Run folder to make.", show_default="runs/nodes-ALGORITHM-SEED"
    ),
    resume: Path | None = typer.Option(None, help="Resume this run folder instead."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a run that is already in the folder."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Start a server that trains with real clients, which keep their data (through Flower).

    Example: unalike serve --algorithm fedavg --rounds 10, and in other terminals unalike join. `clients` is
    how many nodes to wait for; by default everyone who is allowed. With --analysis or --statistics, nodes
    answer from tables (unalike join --table rows.csv), and settings of the analysis are given by --set.
    """
    from ...deploy import check_flower
    from ...deploy.forgotten_nodes import RemainingNodes, load_forgotten_nodes
    from ...deploy.node_agreement import gather_federation
    from ...deploy.node_similarity import ask_directions, write_node_similarity
    from ...deploy.protection import Protection
    from ...deploy.server import ignored_settings, introductions, make_folder, train_nodes
    from ...experiments.forget import publish, retraining_folder

    check_flower()
    log = silence if json else say
    on_tables, settings = analysis is not None or statistics, experiment.options
    if on_tables:
        others = {"central_dp": central_dp, "streaming": streaming, "similarity": similarity}
        check_tables(analysis, statistics, others, settings)
        experiment = experiment.model_copy(update={"options": {}})  # they are of the analysis
    elif require_all:
        raise ConfigError(
            "--require-all is of --analysis and --statistics; a training names who was away in its events."
        )
    elif resume is not None:
        experiment = _same_experiment(experiment, resume)
    protection = Protection.of(experiment, secure_aggregation, central_dp)
    # From here on, what protects the run says how much noise there is; the experiment does not.
    experiment = experiment.model_copy(update={"central_dp": None, "epsilon": None, "delta": None})
    forgetting = load_forgotten_nodes(resume)
    listening = Listening.of(address, certificates, allow, insecure)
    clients = listening.count(experiment.clients)
    _check(experiment, clients, None if on_tables else protection, streaming)
    for name in ignored_settings(experiment):
        log(f"{name} is of simulations; real clients have their own.")
    path = resume or out or _usual_place(experiment, on_tables)
    _check_place(path, resume is not None or overwrite)
    with ExitStack() as open_until_the_end:
        link = open_until_the_end.enter_context(listening.open(log))
        with link.open() as everyone:
            post = everyone if forgetting is None else RemainingNodes(everyone, forgetting.names)
            clients = clients if forgetting is None else forgetting.remaining
            told = introductions(post, clients, wait, log, partial(say_refusals, link, log), on_tables)
            if statistics:
                show_statistics(post, list(told), patience, log, json, require_all, secure_aggregation)
                return
            if analysis is not None:
                shown = (log, quiet, json, require_all, secure_aggregation)
                continuing = (resume is not None, overwrite)
                run_analysis(analysis, post, list(told), path, settings, continuing, patience, *shown)
                return
            # Only now, so that a mistake in anything above leaves nothing on the disk.
            going_on, retraining = resume is not None, None
            if forgetting is None:
                folder = make_folder(experiment, path, going_on, overwrite, protection)
            else:
                open_until_the_end.enter_context(forgetting.run.folder.locked())
                told = forgetting.in_their_places(told)
                forgetting = forgetting.fitted(told)
                retraining = forgetting.retraining()
                folder, going_on = retraining_folder(*forgetting)
            can_go_on("unalike serve --resume", path)
            if similarity:
                found = ask_directions(experiment, post, told, patience, log)
                places = write_node_similarity(found, gather_federation(told, experiment), folder.path)
                log(f"{found.verdict()} ({', '.join(str(place) for place in places)})")
            with LiveRounds(quiet or json) as progress:
                beside = silence if json else lambda line: progress.say(add_time(line))
                run, engine = train_nodes(
                    experiment,
                    post,
                    told,
                    folder,
                    patience=patience,
                    resume=going_on,
                    observer=progress,
                    refused_nodes=partial(say_refusals, link, beside),
                    protection=protection,
                    streaming=streaming,
                    retraining=retraining,
                )
            if forgetting is not None:
                certificate = publish(*forgetting, run)
            log(f"{engine.hand_over_model(run.message)} of {clients} nodes have the model.")
    if forgetting is not None:  # the page is that of the run, which shows the retraining now
        folder.close()
        run = dataclasses.replace(run, folder=forgetting.run.folder, record=forgetting.run.folder.record)
    # Labels are not known here, so that the report must not count them.
    conclude(run, json, dataclasses.replace(run.setting.federation, classes=None))
    if forgetting is not None and not json:
        show_rows(certificate.rows(), f"certificate of request {certificate.request}")


def _check(experiment: Experiment, clients: int, protection: Protection | None, streaming: bool) -> None:
    """Raise where so many nodes cannot train like this; without protection they are not trained."""
    from ...deploy.server import check_servable
    from ...deploy.streaming_nodes import check_streaming
    from ...experiments.build import check
    from ...training.trackers import make_trackers

    check(experiment.model_copy(update={"engine": "local"}))
    if protection is None:
        return
    check_servable(experiment, clients)
    protection.check(experiment, clients)
    if streaming:
        check_streaming(experiment, protection)
    make_trackers(experiment.track)


def _usual_place(experiment: Experiment, on_tables: bool) -> Path:
    """Where a run of nodes, or an analysis of their tables, goes unless one says otherwise."""
    return Path("runs/analysis") if on_tables else run_folder(experiment.model_copy(update={"data": "nodes"}))


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
    return make_experiment(config).model_copy(update={"epsilon": given.epsilon, "delta": given.delta})


def _check_place(path: Path, may_be_there: bool) -> None:
    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not may_be_there):
        raise ConfigError(f"{path} is there already; choose another --out, or --overwrite a run.")
