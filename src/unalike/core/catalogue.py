"""Which names can be typed, and what is each for?  (Read from the source text, without importing it.)

Most makers need JAX, which takes most of a second to import; a list of names or a refusal of a misspelt one
need not wait for it. So the decorators `@registry.add("name")` and the docstrings below them are read, not
run. What a user's own module has registered is added.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigError, DataError, unknown
from .spec import Spec
from .studies import PACKAGE as STUDIES
from .studies import study_names

PACKAGE = Path(__file__).parent.parent


class Kind(NamedTuple):
    """Where names of one kind are registered."""

    word: str
    """What one of them is called."""
    registry: str
    module: str
    """The module, below this package, in which the registry of that name is made."""
    rooms: tuple[str, ...]
    """Folders and files whose makers are registered."""
    package: str = "unalike"

    @property
    def home(self) -> str:
        """The module of the registry, by its whole name."""
        return f"{self.package}.{self.module}"


KINDS = {
    "data": Kind("data set", "source_registry", "data.sources.source", ("data/sources",)),
    "partitions": Kind("partition", "partition_registry", "data.partitions", ("data/partitions.py",)),
    "sizes": Kind("size law", "size_law_registry", "data.sizes", ("data/sizes.py",)),
    "skews": Kind("skew", "skew_registry", "data.skews", ("data/skews.py",)),
    "arrivals": Kind("arrivals", "arrival_registry", "data.streams.arrivals", ("data/streams",)),
    "memories": Kind("memory", "memory_registry", "data.streams.memory", ("data/streams",)),
    "stream-weights": Kind(
        "stream weights", "stream_weight_registry", "data.streams.weights", ("data/streams",)
    ),
    "drifts": Kind("drift", "drift_registry", "data.streams.drift", ("data/streams",)),
    "drift-detectors": Kind(
        "drift detector", "detector_registry", "data.streams.drift_detectors", ("data/streams",)
    ),
    "changes": Kind("change", "change_registry", "data.streams.changes", ("data/streams",)),
    "models": Kind("model", "model_registry", "models.catalogue", ("models",)),
    "metrics": Kind("metric", "metric_registry", "models.metrics.base", ("models/metrics",)),
    "algorithms": Kind("algorithm", "algorithm_registry", "algorithms.base", ("algorithms",)),
    "aggregators": Kind(
        "aggregator", "aggregator_registry", "aggregation.base", ("aggregation", "privacy", "trust")
    ),
    "behaviours": Kind("behaviour", "behaviour_registry", "trust.behaviours.base", ("trust/behaviours",)),
    "monitors": Kind("monitor", "monitor_registry", "trust.monitor.monitor", ("trust/monitor",)),
    "samplers": Kind("sampling", "sampler_registry", "participation.samplers.base", ("participation",)),
    "availabilities": Kind(
        "availability",
        "availability_registry",
        "participation.availability.base",
        ("participation/availability",),
    ),
    "participation": Kind(
        "participation", "strategy_registry", "participation.strategies.base", ("participation",)
    ),
    "timings": Kind("timing", "timing_registry", "timing.base", ("timing", "topology")),
    "hardware": Kind("hardware", "hardware_registry", "timing.clock.hardware", ("timing",)),
    "staleness": Kind("staleness discount", "discount_registry", "timing.staleness", ("timing",)),
    "networks": Kind("designer", "designer_registry", "topology.overlay", ("topology",)),
    "underlays": Kind("underlay", "underlay_registry", "topology.underlays.base", ("topology",)),
    "workloads": Kind("workload", "workload_registry", "topology.underlays.workloads", ("topology",)),
    "graphs": Kind("graph", "graph_registry", "topology.graphs", ("topology",)),
    "mixings": Kind("mixing", "mixing_registry", "topology.mixing", ("topology",)),
    "schedules": Kind("schedule", "schedule_registry", "algorithms.shared.optimizers", ("algorithms",)),
    "trackers": Kind("tracker", "tracker_registry", "training.trackers.base", ("training/trackers",)),
    "engines": Kind("engine", "engine_registry", "engine.base", ("engine", "deploy")),
    "tables": Kind("table", "table_registry", "data.tables.named_tables", ("data/tables",)),
    "analyses": Kind("analysis", "analysis_registry", "analytics.estimator", ("analytics",)),
    "benchmarks": Kind(
        "benchmark",
        "benchmark_registry",
        "experiments.benchmark.catalogue",
        ("experiments/benchmark",),
    ),
    "defences": Kind(
        "defence", "defence_registry", "experiments.audit_defences", ("experiments/audit_defences.py",)
    ),
    "studies": Kind("study", "study_registry", "study", (), STUDIES),
}
"""By the word after `unalike list`."""

SETTINGS = {
    "partition": "partitions",
    "skew": "skews",
    "stream": "arrivals",
    "memory": "memories",
    "stream_weights": "stream-weights",
    "drift": "drifts",
    "model": "models",
    "metrics": "metrics",
    "algorithm": "algorithms",
    "aggregator": "aggregators",
    "behaviour": "behaviours",
    "monitor": "monitors",
    "sampling": "samplers",
    "availability": "availabilities",
    "participation": "participation",
    "timing": "timings",
    "hardware": "hardware",
    "staleness": "staleness",
    "network": "networks",
    "workload": "workloads",
    "engine": "engines",
    "track": "trackers",
}
"""The kind of name that a setting of an experiment holds."""
SEVERAL = ("metrics", "track")
"""Settings that hold several names, separated by commas."""


def explain(kind: str) -> dict[str, str]:
    """Each name with its one-line explanation.

    >>> explain("skews")["rotation"]
    "Each client's images turned by an angle of its own, uniform between minus and plus `degrees`."
    """
    where = KINDS[kind]
    made = sys.modules.get(where.home)
    live = {} if made is None else getattr(made, where.registry).explain()
    return {**_written(where), **live}


def _written(where: Kind) -> dict[str, str]:
    if where.package == STUDIES:
        return {name: study["about"] for name, study in study_names().items()}
    return _parsed(where)


def check_name(kind: str, spec: str | Spec) -> None:
    """Raise if nothing is called that; arguments after a colon are not looked at."""
    name, where = Spec.of(spec).name, KINDS[kind]
    if any(f'@{where.registry}.add("{name}")\n' in text for text in _texts(where.rooms)):
        return  # the usual case needs no parsing
    known = explain(kind)
    if name not in known:
        raise unknown(where.word, name, known)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise for a setting of an experiment that names something which does not exist."""
    if settings.get("stream") is not None:
        check_no_folder(settings["stream"])
    for setting, kind in SETTINGS.items():
        given = settings.get(setting)
        for spec in [] if given is None else separate(given) if setting in SEVERAL else [given]:
            check_name(kind, spec)
    if settings.get("data") is not None:
        check_data(settings["data"])


def separate(words: str) -> list[str]:
    """Names that are separated by commas; a number after a comma is still an argument of the name before.

    >>> separate("f1, interval_coverage:0.9,2,auc")
    ['f1', 'interval_coverage:0.9,2', 'auc']
    """
    found: list[str] = []
    for word in (word.strip() for word in words.split(",") if word.strip()):
        argument = found and ":" in found[-1] and _is_number(word)
        found[-1:] = [f"{found[-1]},{word}"] if argument else [*found[-1:], word]
    return found


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def check_no_folder(stream: str) -> None:
    """Raise if simulated rows should arrive in a folder: only a node of a deployment has one that grows."""
    name = Spec.parse(stream).name
    if name != "folder" and os.sep not in name and (":" in stream or not os.path.isdir(name)):
        return
    if name not in explain("arrivals"):
        raise ConfigError(
            f"stream = {stream!r} is a folder that grows, which only real clients have (`unalike join "
            "--stream FOLDER --memory 200`); a simulation says how rows arrive, such as constant:20."
        )


SQL = "sql:"
"""What stands before a query for rows."""
TABLES = (".csv", ".parquet")
"""How files end that are one table."""


def check_data(name: str) -> None:
    """Raise if this is neither a data set, a folder, a table nor a query."""
    if name.startswith(SQL):
        return
    if Path(name).suffix.lower() in TABLES and not os.path.isdir(name):
        if not os.path.isfile(name):
            raise DataError(f"there is no file {name!r}.")
        return
    path = name.removeprefix("folder:")
    if os.sep in name or path != name or name == "folder":
        if not os.path.isdir(path):
            raise DataError(
                f"there is no folder {path!r}; give a saved federation or a folder of client files."
            )
    elif not os.path.isdir(name):
        check_name("data", name)


@cache
def _parsed(where: Kind) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in _texts(where.rooms):
        if f"{where.registry}.add(" in text:
            found |= dict(_registered(ast.parse(text), where.registry))
    return found


@cache
def _texts(rooms: tuple[str, ...]) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in source_files(rooms)]


def source_files(rooms: tuple[str, ...]) -> Iterator[Path]:
    """The files of these folders, and files."""
    for room in rooms:
        path = PACKAGE / room
        yield from [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))


def registered_nodes(tree: ast.Module, registry: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """The names under which a module's functions and classes are registered, and those."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="add"),
                    args=[ast.Constant(value=str(name))],
                ) if owner == registry:
                    yield name, node


def _registered(tree: ast.Module, registry: str) -> Iterator[tuple[str, str]]:
    for name, node in registered_nodes(tree, registry):
        yield name, first_sentence(ast.get_docstring(node))


def first_sentence(docstring: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((docstring or "").partition("\n\n")[0].split())
