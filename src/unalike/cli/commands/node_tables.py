"""`unalike serve --analysis` and `--statistics`, `unalike join --table`: analyses of tables that stay at
nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError
from ...typing import Config, Fields
from ..interrupted import can_go_on
from ..screen import LiveRounds, print_aligned, print_json

if TYPE_CHECKING:
    from ...analytics.disclosure import DisclosurePolicy
    from ...analytics.disclosure.noisy_answers import Bounds, NoisePolicy
    from ...deploy.analysis import RemoteNodes
    from ...deploy.client.bounded_process import RequestLimits
    from ...deploy.transport.mailbox import MessageGrid

Log = Callable[[str], None]


def check_tables(
    analysis: str | None,
    statistics: bool,
    others: Fields,
    settings: Config | None = None,
) -> None:
    """Raise where a server is asked for an analysis and for something else, or for an impossible one."""
    if analysis is not None and statistics:
        raise ConfigError("--analysis and --statistics are two things; ask for one after the other.")
    for name, value in others.items():
        if value:
            raise ConfigError(f"--{name.replace('_', '-')} is of trainings; leave it out beside an analysis.")
    if analysis is not None:
        from ...deploy.analysis import estimator_for_nodes

        estimator_for_nodes(analysis, settings)


def show_statistics(
    post: MessageGrid,
    names: list[str],
    patience: float,
    log: Log,
    json: bool,
    require_all: bool = False,
    secure: bool = False,
) -> None:
    """Ask nodes for a first look at their tables and print it, with who did not answer."""
    from ...analytics.statistics import describe

    nodes = _ask_by(secure, post, names, patience, log)
    found = describe(nodes)
    if require_all:
        nodes.check_all()
    if json:
        more = {"not_taking_part": nodes.refusals, "noise": list(nodes.noisy)}
        print_json({**found.as_dict(), **more})
        return
    print_aligned(found.summary().as_text())
    if nodes.noisy:
        print_aligned(f"\nAnswers of {', '.join(nodes.noisy)} have noise (differential privacy).")
    if nodes.refusals:
        away = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in nodes.refusals.items())
        print_aligned(f"\nNOT taking part: {away}.")


def run_analysis(
    analysis: str,
    post: MessageGrid,
    names: list[str],
    out: Path,
    settings: Config,
    going_on: tuple[bool, bool],
    patience: float,
    log: Log,
    quiet: bool,
    json: bool,
    require_all: bool = False,
    secure: bool = False,
) -> None:
    """Fit an analysis to the tables of nodes, print it, and leave its folder; `going_on` says whether the
    folder is to be resumed or overwritten."""
    from ...deploy.analysis import agree_with_nodes, analyse_nodes, estimator_for_nodes
    from ...report.analysis_report import analysis_numbers, write_analysis
    from ...runs import RunFolder

    nodes = _ask_by(secure, post, names, patience, log)
    agreed = agree_with_nodes(nodes, estimator_for_nodes(analysis, settings)[1])
    if require_all or secure:  # masks of a node that is missing would not cancel
        nodes.check_all()
    # Only now, so that a refusal leaves nothing on the disk.
    resume, overwrite = going_on
    config = {"analysis": analysis, "engine": "flower", "data": "nodes", **settings}
    folder = RunFolder.open(out) if resume else RunFolder.create(out, config, overwrite)
    can_go_on(f"unalike serve --analysis {analysis!r} --resume", out)
    with LiveRounds(quiet or json, "analyzing") as observer:
        fitted: Any = analyse_nodes(
            analysis,
            post,
            names,
            folder,
            settings=settings,
            patience=patience,
            resume=resume,
            observer=observer,
            log=log,
            agreed=agreed,
            group=nodes.group or None,
        )
    page = write_analysis(out, fitted, config)
    if json:
        print_json(analysis_numbers(fitted))
    else:
        print_aligned(f"{fitted.full_summary()}\n\nPage with figures: {page}")
    folder.close()


def _ask_by(secure: bool, post: MessageGrid, names: list[str], patience: float, log: Log) -> RemoteNodes:
    """How nodes are asked: in the open, or by secure sums."""
    from ...deploy.analysis import RemoteNodes

    if not secure:
        return RemoteNodes(post, names, patience, log)
    from ...deploy.secure_sums.server import SecureNodes

    nodes = SecureNodes(post, names, patience, log)
    nodes.open()
    return nodes


def disclosure_policy(minimum: int, leverage: float, questions: int, edges: list[str]) -> DisclosurePolicy:
    """The policy of a node's owner, from options.

    Args:
        minimum: The minimum cell count.
        leverage: The largest leverage of a row.
        questions: The budget of questions per column.
        edges: Edges of bins, such as `age=18,40,65`.
    """
    from ...analytics.disclosure import DisclosurePolicy

    chosen = dict[str, tuple[float, ...]]()
    for text in edges:
        column, _, numbers = text.partition("=")
        try:
            chosen[column] = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            chosen[column] = ()
        if not chosen[column] or list(chosen[column]) != sorted(set(chosen[column])):
            raise ConfigError(
                f"--bin-edges must be a column and increasing numbers, such as age=18,40,65, got {text!r}."
            )
    return DisclosurePolicy(minimum, leverage, questions, bin_edges=chosen)


def noise_policy(text: str | None, bounds: list[str], policy: DisclosurePolicy) -> NoisePolicy | None:
    """The noise of a node's answers, from options; None where there is none.

    Args:
        text: EPSILON,DELTA or EPSILON,DELTA,ANSWERS.
        bounds: Ranges and categories, such as `age=0..120` and `sex=f,m`.
        policy: The limits without noise, of which edges of bins are used.
    """
    from ...analytics.disclosure.noisy_answers import NoisePolicy

    if text is None:
        if bounds:
            raise ConfigError("--column-bounds is of --noise; give both.")
        return None
    try:
        epsilon, delta, *more = (float(number) for number in text.split(","))
        (releases,) = more or [10.0]
    except ValueError:
        raise ConfigError(f"--noise must be EPSILON,DELTA or EPSILON,DELTA,ANSWERS, got {text!r}.") from None
    known = dict(_column_bounds(one) for one in bounds)
    if not known:
        raise ConfigError("--noise needs the bounds of columns, such as --column-bounds age=0..120.")
    return NoisePolicy(epsilon, delta, int(releases), known, policy.bin_edges)


def _column_bounds(text: str) -> tuple[str, Bounds]:
    column, equals, words = text.partition("=")
    low, dots, high = words.partition("..")
    try:
        return column, (float(low), float(high)) if dots else tuple(words.split(","))
    except ValueError:
        equals = ""
    if not column or not equals or not words:
        raise ConfigError(f"--column-bounds must be such as age=0..120 or sex=f,m, got {text!r}.")
    return column, tuple(words.split(","))


def join_table(
    table: Path,
    policy: DisclosurePolicy,
    limits: RequestLimits,
    server: str,
    certificate: Path | None,
    key: Path | None,
    folder: Path | None,
    stop: threading.Event,
    log: Log,
    secure_only: bool = False,
    noise: NoisePolicy | None = None,
) -> None:
    """Answer questions about one file until `stop` is set."""
    from ...data.missing_values import say_missing_words
    from ...data.tables import read_table
    from ...data.tables.column_hints import column_hints
    from ...deploy import serve_node
    from ...deploy.client.bounded_process import BoundedProcess
    from ...deploy.client.node import message_app
    from ...deploy.client.noisy_table_node import NoisyTableWorker
    from ...deploy.client.table_node import TableWorker

    rows = read_table(table).with_days()
    minimum = policy.minimum_cell_count
    if len(rows) < minimum:
        raise ConfigError(
            f"{table.name} has {len(rows)} rows, fewer than the minimum cell count of {minimum}."
        )
    name = key.stem if key is not None else table.stem
    place = folder or Path("nodes") / name
    worker = (
        TableWorker(rows, place, policy, log, secure_only)
        if noise is None
        else NoisyTableWorker(rows, place, noise, log, secure_only)
    )
    columns = ", ".join(f"{column} ({rows.kind(column)})" for column in rows.names)
    log(f"{name}: {len(rows)} rows, which stay here; columns: {columns}.")
    missing = [
        f"{column} {int(rows.missing(column).sum())}" for column in rows.names if rows.missing(column).any()
    ]
    if missing:
        log(f"missing values: {', '.join(missing)} ({say_missing_words()} are read so).")
    for hint in column_hints(rows):
        log(f"{hint}.")
    rule = f"no count or sum of fewer than {minimum} rows leaves"
    if noise is not None:
        rule = f"answers have noise: together they spend epsilon {noise.epsilon:g} at delta {noise.delta:g}"
    log(f"{rule}; joining {server} (Ctrl-C to leave).")
    bounded = BoundedProcess(worker.answer, limits, stop, log)
    serve_node(message_app(lambda message, _: bounded(message)), server, certificate, key, place, stop, log)
    bounded.close()
    log("left.")
