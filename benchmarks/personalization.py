"""What does it cost to be personal?

Three tables, each relative to something measured in the same run:

    mixtures       a round of FedEM with M components against M rounds of FedAvg       (goal: at most 1.1)
    methods        a round of every personalized method against a round of FedAvg
    memorization   searching 100,000 stored representations with 10,000 queries against one training round of
                   the CNN that made them                                              (goal: below 1)

Rounds of the compared methods alternate, and medians are taken.

    python benchmarks/personalization.py [--quick] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from measuring import medians

import unalike
from unalike import Algorithm, FedAvg, Federation, LocalWork, Model, Optimizer, Task
from unalike.algorithms import FedEM, Messages, algorithm_registry
from unalike.data.federation import Split
from unalike.engine import LocalEngine, Memories, Setting, reply_template, root_key
from unalike.memorization import search
from unalike.timing import Step

CLIENTS, CLASSES, OPTIMIZER = 10, 10, Optimizer("sgd", 0.01)
METHODS = (
    *("local", "fedavg+", "ditto", "pfedme", "pfedme-simple", "apfl", "fedrep", "fedper", "l2sgd"),
    *("per-fedavg", "ifca", "clustered-fl", "fedem"),
)
Row = dict[str, Any]


def federation_of(shape: tuple[int, ...], rows: int) -> Federation:
    """Random rows on equal clients."""
    rng = np.random.default_rng(0)
    x = rng.random((CLIENTS * rows, *shape), dtype=np.float32)
    y = rng.integers(0, CLASSES, CLIENTS * rows).astype(np.int32)
    empty = Split(x[:0], y[:0], np.zeros(CLIENTS + 1, np.int64))
    return Federation(Split(x, y, np.arange(CLIENTS + 1) * rows), empty, empty, CLASSES)


def rounds_of(algorithm: Algorithm, federation: Federation, model: Model) -> Callable[[], None]:
    """A function that trains one more round with everyone and waits for it."""
    task = Task.classification(model, CLASSES)
    algorithm = algorithm.prepare(task, federation)
    setting = Setting(federation, task, algorithm, 0)
    engine = LocalEngine(setting)
    state = [algorithm.init(task, root_key(0, "init"))]
    message = algorithm.broadcast(task, state[0])
    memories = Memories(reply_template(setting, message).memory, len(federation))
    numbers = iter(range(10**9))

    def step() -> None:
        number, everyone = next(numbers), np.arange(len(federation))
        told = Messages(algorithm.broadcast(task, state[0]))
        one = Step(number, everyone, np.full(len(everyone), number), federation.importance)
        state[0] = jax.block_until_ready(engine.run_step(one, state[0], told, memories).state)

    return step


def mixtures(times: int, quick: bool) -> list[Row]:
    """FedEM against M times FedAvg."""
    problems = {
        "linear 150": ((150,), 256, 128, unalike.models.linear(input_shape=(150,), outputs=CLASSES)),
        "linear 784": ((784,), 256, 32, unalike.models.linear(input_shape=(784,), outputs=CLASSES)),
        "mlp 784-200-10": ((784,), 256, 32, unalike.models.mlp(200, input_shape=(784,), outputs=CLASSES)),
    }
    if not quick:
        small = unalike.models.convolutional_networks(input_shape=(28, 28, 1), outputs=CLASSES)
        problems["cnn 28x28"] = ((28, 28, 1), 64, 32, small)
    rows = []
    for name, (shape, count, batch, model) in problems.items():
        federation = federation_of(shape, count)
        for epochs in (1, 5):
            work = LocalWork(epochs=epochs, batch_size=batch)
            methods: dict[str, Algorithm] = {"fedavg": FedAvg(work=work, optimizer=OPTIMIZER)}
            for components in (2, 3, 5):
                methods[f"{components}"] = FedEM(work=work, optimizer=OPTIMIZER, components=components)
            seconds = medians({k: rounds_of(a, federation, model) for k, a in methods.items()}, times)
            for components in (2, 3, 5):
                ratio = seconds[f"{components}"] / components / seconds["fedavg"]
                rows.append(
                    {"model": name, "epochs": epochs, "components": components, "fedem / (M fedavg)": ratio}
                )
                print(rows[-1], flush=True)
    return rows


def methods(times: int) -> list[Row]:
    """Every method against FedAvg, one epoch of an MLP."""
    federation = federation_of((784,), 256)
    model = unalike.models.mlp(200, input_shape=(784,), outputs=CLASSES)
    work = LocalWork(epochs=1, batch_size=32)
    made = {
        name: algorithm_registry.make(name, work=work, optimizer=OPTIMIZER) for name in ("fedavg", *METHODS)
    }
    seconds = medians({name: rounds_of(a, federation, model) for name, a in made.items()}, times)
    rows = [{"method": name, "rounds of fedavg": seconds[name] / seconds["fedavg"]} for name in METHODS]
    for row in rows:
        print(row, flush=True)
    return rows


def memorization(stored: int, queries: int, times: int) -> list[Row]:
    """Searching one large store, and the stores of 100 clients, against a training round of the CNN."""
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(stored, 512)).astype(np.float32)
    asked = rng.normal(size=(queries, 512)).astype(np.float32)
    model = unalike.models.convolutional_networks(input_shape=(28, 28, 1), outputs=CLASSES)
    federation = federation_of((28, 28, 1), stored // 100)
    algorithm = FedAvg(work=LocalWork(epochs=1, batch_size=32), optimizer=OPTIMIZER)
    training = medians({"round": rounds_of(algorithm, federation, model)}, times)["round"]

    def one_store() -> None:
        search(keys, asked, 10)

    def own_stores() -> None:
        for own, mine in zip(np.array_split(keys, 100), np.array_split(asked, 100), strict=True):
            search(own, mine, 10)

    seconds = medians({"one store": one_store, "100 clients": own_stores}, times)
    rows = [
        {
            "stores": name,
            "stored": stored,
            "queries": queries,
            f"training rounds of {CLIENTS} clients x {stored // 100} rows": value / training,
        }
        for name, value in seconds.items()
    ]
    for row in rows:
        print(row, flush=True)
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, no convolutions")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    times = 5 if chosen.quick else 21
    stored, queries = (10_000, 1_000) if chosen.quick else (100_000, 10_000)
    tables = {
        "mixtures": mixtures(times, chosen.quick),
        "methods": methods(times),
        "memorization": memorization(stored, queries, 3),
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(tables, indent=2))


if __name__ == "__main__":
    main()
