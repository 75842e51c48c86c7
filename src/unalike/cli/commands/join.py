"""`unalike join`: take part in a deployment as a node; the rows stay on this machine."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...core.catalog import check_name
from ...errors import ConfigError, unknown
from ...experiments.config import Experiment, settings_of
from ..log_lines import say
from ..messages import say_data
from .certs import CERTS
from .listen import ADDRESS
from .node_tables import check_tables, disclosure_policy, join_table, noise_policy

if TYPE_CHECKING:
    from ...data import Federation
    from ...trust.behaviors import Behavior

DATA = (*(name for name in settings_of(group="Data", decides_rows=True) if name != "groups"), "seed")
"""What a node says of its own data."""


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
        False, "--secure-only", help="Train, and answer sums about a table, by secure aggregation only."
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
    minimum_cell_count: int = typer.Option(
        5, min=1, help="With --table: answer no count, mean or sum of fewer rows than this."
    ),
    maximum_leverage: float = typer.Option(
        0.5,
        min=0.0,
        max=1.0,
        help="With --table: refuse a model that gives a row more leverage than this; 0.2 is stricter.",
    ),
    maximum_questions: int = typer.Option(
        100, min=1, help="With --table: answer so many different questions about a column, restarts included."
    ),
    bin_edges: list[str] = typer.Option(
        [],
        metavar="COLUMN=EDGES",
        help="With --table: count this column between these edges only, such as age=18,40,65.",
        show_default="round widths of at least half a standard deviation",
    ),
    noise: str | None = typer.Option(
        None,
        metavar="EPSILON,DELTA[,ANSWERS]",
        help="With --table: add noise to answers, so that all of them (10 different ones, or so many as you "
        "say) spend this privacy budget, such as 1,1e-6,20; with --column-bounds.",
    ),
    column_bounds: list[str] = typer.Option(
        [],
        metavar="COLUMN=BOUNDS",
        help="With --noise: the range of a number column, such as age=0..120, or the categories of a text "
        "column, such as sex=f,m.",
    ),
    group: str | None = typer.Option(
        None,
        help="To which group of nodes this one belongs, such as a region, for fairness between groups.",
        show_default="as the data say, or none",
    ),
    time_limit: float = typer.Option(
        600.0, min=1, help="Give up a request that this node works on for more seconds than this."
    ),
    memory_limit: int | None = typer.Option(
        None,
        min=500,
        help="Give up a request that takes more megabytes of memory than this.",
        show_default="half of this machine's memory",
    ),
    behavior: str | None = typer.Option(
        None,
        help="Only to test a server: an attack, such as free-rider:decay (`unalike list behaviors`).",
    ),
) -> None:
    """Join a training as a client with your own data, until Ctrl-C.

    Example: unalike join --server fl.example.org:9092 --certificate ca.pem --key ann.key --data my-rows,
    where my-rows is a folder with one file (.npz, .csv or .parquet). To try it out with data that come along:
    unalike join --key certs/nodes/ann.key --data digits --clients 2 --client 0. Rows never leave this
    machine. The server says which rows of a file are for testing, unless you do (--test-fraction, --seed).
    """
    from ...deploy import check_flower, serve_node

    if behavior is not None:
        check_name("behaviors", behavior)
    check_flower()
    from ...data.similarity.private_messages import WARNING
    from ...deploy.client.app import ClientWorker
    from ...deploy.client.bounded_process import BoundedProcess, RequestLimits, half_of_memory
    from ...deploy.client.join_stream import check_stream, open_stream
    from ...deploy.client.local_privacy import private_answers
    from ...deploy.client.rows import is_uncut, without_cut
    from ...deploy.client.similarity_message import PLAIN, SimilarityWorker
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
    limits = RequestLimits(time_limit, memory_limit or half_of_memory())
    if table is not None:
        own_data = "data" in experiment.model_fields_set
        others = {"stream": stream, "local_dp": local_dp, "behavior": behavior, "data": own_data}
        check_tables(None, False, others)
        _stop_by_signals(stop)
        trusted, own_key = (None, None) if insecure else (certificate, key)
        policy = disclosure_policy(minimum_cell_count, maximum_leverage, maximum_questions, bin_edges)
        noisy = noise_policy(noise, column_bounds, policy)
        join_table(table, policy, limits, server, trusted, own_key, folder, stop, say, secure_only, noisy)
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
        opened = open_stream(stream, memory, experiment, first, say, stop.wait)
    own = first if opened is None else opened[0]
    if own is None:
        say("left.")
        return
    if group is not None:
        own = own.with_groups([group])
    name = key.stem if key is not None else f"client-{own.name(0)}"
    place = folder or Path("nodes") / name
    held = None if opened is None else opened[1]
    worker = ClientWorker(own, place, say, uncut=uncut, stream=held, behavior=_make_behavior(behavior))
    if given:
        say_data(experiment, own, silent=False)
    rows = f"{len(own.train.y)} {'' if uncut else 'training '}rows"
    if opened is not None:
        rows = f"{len(opened[1])} training rows now, room for {opened[1].capacity}"
    say(f"{name}: {rows}, which stay here; joining {server} (Ctrl-C to leave).")
    if own.groups is not None:
        say(f"{name} tells the server that its group is {own.groups[0]}.")
    if behavior is not None:
        say(f"{name} is a simulated attack: it is not honest ({behavior}), and the server is not told.")
    answers = worker.answer if privacy is None else private_answers(worker.answer, privacy)
    teller = SimilarityWorker(lambda: own if held is None else held.federation(), tell_direction, uncut, say)
    if tell_direction == PLAIN:
        say(WARNING)
    if held is None:  # drawn once and kept here, noise of a direction does not average away
        bounded = BoundedProcess(answers, limits, stop, say)
        app = secure_app(teller.in_front_of(bounded), secure_only)
    else:
        bounded = BoundedProcess(teller.in_front_of(answers), limits, stop, say)
        app = secure_app(bounded, secure_only)
    serve_node(app, server, None if insecure else certificate, None if insecure else key, place, stop, say)
    bounded.close()
    say("left.")


def _make_behavior(words: str | None) -> Behavior | None:
    """What a node does that simulates an attack."""
    from ...trust.behaviors import behavior_registry

    return None if words is None else behavior_registry.make(words)


def _stop_by_signals(stop: threading.Event) -> None:
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    signal.signal(signal.SIGTERM, lambda *_: stop.set())


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
