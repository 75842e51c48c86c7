"""Experiment files: keys and values plausible, extreme or of the wrong type, and damaged bytes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli_w
from harness import main
from values import any_value, mutate
from verdicts import Answer, type_in

LISTS = {
    **{
        "partition": "partitions",
        "sizes": "sizes",
        "skew": "skews",
        "watermark": "watermarks",
        "stream": "arrivals",
        "memory": "memories",
    },
    **{"stream_weights": "stream-weights", "drift": "drifts", "drift_detector": "drift-detectors"},
    **{"model": "models", "metrics": "metrics", "algorithm": "algorithms", "aggregator": "aggregators"},
    **{"behavior": "behaviors", "monitor": "monitors", "sampling": "samplers", "timing": "timings"},
    **{"availability": "availabilities", "participation": "participation", "hardware": "hardware"},
    **{"staleness": "staleness", "network": "networks", "underlay": "underlays", "workload": "workloads"},
    **{"schedule": "schedules", "track": "trackers"},
}
"""Settings that name something, and the list in which the names are."""
COSTLY = (
    "rounds",
    "steps",
    "epochs",
    "restarts",
    "samples",
    "clients",
    "until",
    "evaluate_every",
    "patience",
)
"""Settings that may ask for long work, which is no fault; they are drawn small."""
BASE = {"data": "digits", "samples": 60, "clients": 3, "model": "linear", "rounds": 1, "seed": 1}
SOUND: list[tuple[str, Any]] = [
    *[("availability", "markov:0.5,0.9"), ("stream", "constant:5"), ("unlearning", "full"), ("per_round", 2)],
    *[
        ("central_dp", "1,0.5,1e-5"),
        ("local_dp", "1,0.5,1e-5"),
        ("behavior", "sign-flip"),
        ("dishonest", "1"),
        ("watermark", "pixels:4"),
    ],
    *[("aggregator", "median"), ("hardware", "spread:80"), ("timing", "async"), ("network", "ring")],
    *[("memory", "fifo:5"), ("algorithm", "ditto"), ("algorithm", "scaffold"), ("algorithm", "fedem")],
    *[
        ("learning_rate", 1e30),
        ("learning_rate", 1e39),
        ("batch_size", 1),
        ("model", "mlp:8"),
        ("model", "gru"),
    ],
    *[("monitor", "on"), ("data", "diabetes"), ("unseen", 0.4), ("validation_fraction", 0.3), ("epochs", 2)],
    *[("algorithm", "knnper"), ("algorithm", "local"), ("partition", "dirichlet:0.3"), ("sampling", "md")],
]
"""Settings that work alone, and that fuzzing brings together."""
NEEDED = {
    **{name: {"stream": "constant:5"} for name in ("memory", "stream_weights", "stream_period", "drift")},
    "drift_detector": {"stream": "constant:5", "drift": "sudden:2"},
    "participation": {"availability": "markov:0.5,0.9"},
    "behavior": {"dishonest": "1"},
    "watermarked": {"watermark": "pixels:4"},
    "sampling": {"per_round": 2},
    "epsilon": {"central_dp": "1"},
}
"""Settings without which another one is refused."""
DATA = [
    "digits",
    "diabetes",
    "synthetic:1,1",
    "iris",
    "nothing",
    "../outside",
    "folder:../outside",
    "sql:SELECT 1",
]
NUMBERS = [0.0, 1e-9, 0.01, 0.1, 0.5, 0.9, 1.0, 3.0, 1e6, 1e30, 1e308]
TEXTS = ["0.5", "1", "-1", "0", "1e308", "nan", "2,3", "0.5,0.5", "x", "", "1e9", "0.1:2", ","]


class Fuzzer:
    """Draws and tries experiment files."""

    def draw(self, rng: random.Random) -> Any:
        """A file as text (bytes as Latin-1)."""
        if rng.random() < 0.6:
            sound = dict(rng.choice(SOUND) for _ in range(rng.randint(0, 3)))
            drawn = dict(_plausible(rng) for _ in range(rng.randint(0, 2)))
            needed = {more: value for name in drawn for more, value in NEEDED.get(name, {}).items()}
            return tomli_w.dumps({**BASE, **needed, **sound, **drawn})
        values = {**BASE, **dict(_setting(rng) for _ in range(rng.randint(1, 4)))}
        if rng.random() < 0.05:
            values[rng.choice(["plugin", "evil", "made_by", "Data", "options.x", ""])] = any_value(rng)
        try:
            content = tomli_w.dumps(values).encode("utf-8", "replace")
        except (TypeError, ValueError):
            content = tomli_w.dumps(BASE).encode()
        if rng.random() < 0.15:
            content = mutate(rng, content)
        return content.decode("latin-1")

    def attempt(self, given: str) -> Answer | None:
        """Train by the file."""
        Path("theirs.toml").write_bytes(given.encode("latin-1"))
        with without_pages():
            return type_in(["run", "theirs.toml", "--out", "run", "--json"])


@contextlib.contextmanager
def without_pages() -> Iterator[None]:
    """Let commands write no pages, which would take most of the time of a small run."""
    from unalike import report

    run, comparison = report.report_run, report.report_comparison
    report.report_run = lambda folder, *_: folder.path / "report.html"  # type: ignore[assignment]
    report.report_comparison = lambda path, *_: Path(path)  # type: ignore[assignment]
    try:
        yield
    finally:
        report.report_run, report.report_comparison = run, comparison


def _plausible(rng: random.Random) -> tuple[str, Any]:
    """A setting as a person would write it, though perhaps with an extreme number."""
    from unalike.experiments.config import Experiment

    if rng.random() < 0.6:
        name = rng.choice(list(LISTS))
        word = rng.choice(setting_names(name))
        return name, word + (f":{rng.choice(TEXTS)}" if rng.random() < 0.2 else "")
    named = {"Literal": [], "float": NUMBERS, "int": [0, 1, 2, 3, 5, 10**6]}
    fields = {n: str(f.annotation) for n, f in Experiment.model_fields.items() if n not in (*LISTS, *COSTLY)}
    fields = {name: kind for name, kind in fields.items() if any(one in kind for one in named)}
    name = rng.choice([name for name in fields if name not in ("options", "devices")])
    if "Literal" in fields[name]:
        return name, rng.choice(fields[name].split("Literal[")[1].split("]")[0].replace("'", "").split(", "))
    return name, rng.choice(next(values for kind, values in named.items() if kind in fields[name]))


def setting_names(setting: str) -> list[str]:
    """What a setting can name."""
    from unalike.core.catalog import explain

    return [one for one in explain(LISTS[setting]) if one not in ("mlflow", "wandb", "tensorboard")]


def _setting(rng: random.Random) -> tuple[str, Any]:
    from unalike.experiments.config import Experiment

    name = rng.choice(list(Experiment.model_fields))
    if name in COSTLY:
        return name, rng.choice([0, 1, 2, 3, -1, "x", 2.5, True, 10**30, float("nan")])
    if name == "engine":
        return name, rng.choice(["local", "debug", "nothing", 3])
    if name == "data":
        return name, rng.choice(DATA)
    if name == "options":
        return name, {rng.choice(["mu", "lambda_", "weight", "q", "x", "clip", "noise"]): any_value(rng)}
    if name in LISTS and rng.random() < 0.8:
        return name, rng.choice(setting_names(name)) + (f":{rng.choice(TEXTS)}" if rng.random() < 0.4 else "")
    if rng.random() < 0.5:
        return name, rng.choice([0, 1, 2, 0.5, 0.1, 1.0, *TEXTS])
    return name, any_value(rng)


if __name__ == "__main__":
    main("fuzz_experiments")
