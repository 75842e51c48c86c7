"""Which results may a change of structure not change?  (Digests of models and metrics, one per setting.)

    python tools/record_results.py before.json          # on the old code
    python tools/record_results.py after.json           # on the new code, on the same machine
    python tools/record_results.py --compare before.json after.json

Every method, timing, sampler, availability, aggregation rule, attack, stream and engine trains once, for few
rounds on few rows. Equal digests mean equal bytes of the model and of every recorded number.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

BASE: dict[str, Any] = {"data": "digits", "clients": 6, "samples": 240, "rounds": 4, "model": "mlp:8"}
LINEAR: dict[str, Any] = {**BASE, "model": "linear"}
OWN: dict[str, dict[str, Any]] = {
    "fem-omd": {"stream": "constant:5"},
    "fgpr": {"data": "diabetes", "model": "linear"},
    "fem-omd-gaussian": {"stream": "constant:5", "model": "gaussian"},
    "fed-omd": {"stream": "constant:5"},
    "dp-sgd": {"epsilon": 8.0},
    "d-fedem": {"network": "ring", "clients": None},
    "dpasgd": {"network": "ring", "clients": None},
    "push-sum": {"network": "ring", "clients": None},
}
"""Settings that a method needs beside the usual ones."""
NAMED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "timing": (
        {"hardware": "spread:80"},
        ("async", "fedfix:0.5", "fedbuff:2", "wait-for-all", "deadline:1.2", "over-selection:3"),
    ),
    "sampling": (
        {"per_round": 3},
        (
            "md",
            "uniform",
            "clustered-size",
            "clustered-similarity",
            "poisson",
            "binomial",
            "power-of-choice",
            "optimal",
        ),
    ),
    "availability": ({}, ("markov:0.5,0.9", "groups", "clusters:2", "diurnal")),
    "participation": (
        {"availability": "markov:0.5,0.9", "model": "linear"},
        ("fedavg", "unbiased", "more-available", "adafed", "f3ast", "ca-fed"),
    ),
    "aggregator": (
        {},
        ("median", "trimmed-mean:0.2", "krum:1", "norm-bound:1", "geometric-median", "central-dp:1,0.8"),
    ),
    "behavior": (
        {"dishonest": "2"},
        ("free-rider:decay", "sign-flip", "label-flip", "little-is-enough", "scaled:5", "random"),
    ),
    "stream": ({"memory": "fifo:10"}, ("constant:5", "poisson:5", "bursts:5,10,3")),
    "stream_weights": ({"stream": "constant:5", "memory": "fifo:10"}, ("uniform", "optimal", "fixed:0.5")),
    "monitor": ({"behavior": "free-rider:decay", "dishonest": "1"}, ("free-riders:2",)),
    "engine": ({}, ("debug", "ray")),
    "central_dp": ({"epsilon": 20.0}, ("1",)),
    "local_dp": ({}, ("1,0.5,1e-5",)),
    "unlearning": ({}, ("full", "grid:2")),
    "model": ({}, ("linear", "cnn", "mlp-bn:8")),
}
"""For each setting that names something: what goes with it, and some of its names."""
SINGLE: dict[str, dict[str, Any]] = {
    "restarts": {"algorithm": "fedem", "restarts": 2},
    "unseen": {"algorithm": "knnper", "unseen": 0.34},
    "stop_at": {"stop_at": "accuracy=0.3", "rounds": 8},
    "patience": {"patience": 1, "rounds": 8, "validation_fraction": 0.2},
    "network": {"network": "ring", "clients": None},
    "until": {"timing": "async", "hardware": "spread:80", "rounds": None, "until": 3.0},
    "momentum": {"momentum": 0.9, "schedule": "cosine:10", "clip": 1.0},
    "server": {"server_optimizer": "adam", "server_learning_rate": 0.01},
    "devices": {"devices": 1},
}


def experiments(algorithms: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is trained, by a name of its own."""
    for name in algorithms:
        yield f"algorithm={name}", {**BASE, "algorithm": name, **OWN.get(name, {})}
    for setting, (others, names) in NAMED.items():
        for name in names:
            own = {"state": "average"} if name.startswith("mlp-bn") else {}
            yield f"{setting}={name}", {**BASE, **others, setting: name, **own}
    for name, settings in SINGLE.items():
        yield name, {**BASE, **settings}


def digest_of(settings: Mapping[str, Any], folder: Path) -> str:
    """The digest of a training's model and metrics, or the sentence that refuses it."""
    import jax
    import numpy as np

    from unalike.errors import UnalikeError
    from unalike.experiments.config import make_experiment
    from unalike.experiments.run import run_experiment

    given = {name: value for name, value in settings.items() if value is not None}
    try:
        if "network" in given and "algorithm" not in given:
            given["algorithm"] = "dpasgd"
        run = run_experiment(make_experiment(given), out=folder)
    except UnalikeError as error:
        return f"refused: {error}"
    text = hashlib.sha256()
    for leaf in jax.tree.leaves(run.message):
        text.update(np.ascontiguousarray(leaf).tobytes())
    for name, values in sorted(run.metrics().items()):
        if "seconds" not in name:  # the machine's time
            text.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return text.hexdigest()


def record(out: Path, only: str | None) -> None:
    """Train everything and write the digests."""
    from unalike.algorithms import algorithm_registry

    digests: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, settings) in enumerate(experiments(algorithm_registry.explain())):
            if only is None or only in name:
                try:
                    digests[name] = digest_of(settings, Path(scratch) / str(number))
                except Exception as error:  # recorded, so that the others are compared all the same
                    digests[name] = f"failed: {type(error).__name__}: {error}"
                print(name, digests[name][:70], file=sys.stderr, flush=True)
    out.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of differences."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    differ = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    for name in differ:
        print(f"{name}: {old.get(name, 'not there')} -> {new.get(name, 'not there')}")
    print(f"{len(old.keys() & new.keys()) - len(differ)} equal, {len(differ)} different")
    return len(differ)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--only", help="part of the names that are trained")
    given = parser.parse_args()
    if given.compare:
        sys.exit(min(compare(*given.files), 1))
    record(given.files[0], given.only)
