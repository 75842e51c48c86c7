"""The same federated averaging in Unalike, through its public `train`.

Unalike plans its own mini-batches; here the plan is made as always, and paid for, and then its rows are
exchanged for the problem's, so that final losses can be compared digit by digit. Rounds overlap and small
ones go to the devices together, so every lap is the mean over all rounds after the warm-up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import Data, Job, Laps, chunks, finish, layer_weights, read_data, read_job

import unalike
import unalike.engine.local.engine as local_engine
from unalike import (
    Cohort,
    FedAvg,
    Federation,
    LocalWork,
    Model,
    Optimizer,
    Participation,
    RoundContext,
    Task,
    models,
)
from unalike.data.federation import Split
from unalike.data.files.array_files import read_npz
from unalike.engine.local.batches import Batches, plan_batches
from unalike.typing import PyTree


class GivenCohorts(Participation):
    """The problem's cohorts from round `first` on, weighted by rows."""

    def __init__(self, data: Data, first: int) -> None:
        self.data, self.first = data, first

    def cohort(self, turn: RoundContext) -> Cohort:
        number = self.first + turn.number
        return Cohort(self.data.clients(number).astype(np.int64), self.data.shares(number))


def federation_of(data: Data) -> Federation:
    """The problem's rows; no test rows, so the library's own evaluation stays out of the way."""
    clients = len(data.offsets) - 1
    empty = Split(data.x[:0], data.y[:0], np.zeros(clients + 1, np.int64))
    return Federation(Split(data.x, data.y, data.offsets), empty, empty, int(data.hyper["classes"]))


def dense_layers(data: Data) -> list[PyTree]:
    """The first weights of the problem's dense layers, one row per output."""
    kinds = [layer["kind"] for layer in data.hyper["layers"]]
    found = [layer_weights(data, i) for i, kind in enumerate(kinds) if kind == "dense"]
    return [{"w": np.ascontiguousarray(layer["w"].T), "b": layer["b"]} for layer in found]


def model_of(data: Data) -> tuple[Model, PyTree]:
    """The library's model of the problem's architecture, and its first weights."""
    layers = data.hyper["layers"]
    kinds = [layer["kind"] for layer in layers]
    shape, outputs = data.x.shape[1:], data.hyper["classes"]
    if "lstm" in kinds:
        return one_bias(models.lstm(100, 8, outputs=outputs)), lstm_weights(data, kinds)
    if "conv" in kinds:
        name = "cnn" if layers[0]["padding"] == "same" else "cnn-small"
        filters = [layer_weights(data, i) for i, kind in enumerate(kinds) if kind == "conv"]
        made = models.model_registry.make(name, input_shape=shape, outputs=outputs)
        return made, {"conv": filters, "dense": dense_layers(data)}
    hidden = dense_layers(data)
    if len(hidden) == 1:
        return models.linear(input_shape=shape, outputs=outputs), hidden[0]
    return models.mlp(*(len(layer["b"]) for layer in hidden[:-1]), input_shape=shape, outputs=outputs), hidden


def lstm_weights(data: Data, kinds: list[str]) -> PyTree:
    """Embedding, gates and head in the library's names."""
    gates = [layer_weights(data, i) for i, kind in enumerate(kinds) if kind == "lstm"]
    return {
        "embedding": layer_weights(data, kinds.index("embed"))["w"],
        "layers": [{"wi": g["wi"], "wh": g["wh"], "bi": g["b"]} for g in gates],
        "head": dense_layers(data)[0],
    }


def one_bias(model: Model) -> Model:
    """The same network with the second bias of every layer held at zero, as in all adapters."""

    def apply(params: PyTree, x: jax.Array) -> jax.Array:
        full = [{**layer, "bh": jnp.zeros_like(layer["bi"])} for layer in params["layers"]]
        return model.apply({**params, "layers": full}, x)

    return Model(model.init, apply)


def use_given_batches(data: Data, first: int) -> None:
    """Let the engine plan as always, then put the problem's rows (from round `first` on) in its place."""

    def given(work: Any, sizes: Any, clients: Any, round: int, seed: int, widest: int) -> Batches:
        planned = plan_batches(work, sizes, clients, round, seed, widest)
        positions = data.steps(first + round) - data.offsets[clients][:, None, None]
        planned.positions[:, : positions.shape[1]] = positions
        return planned

    local_engine.plan_batches = given


def train_rounds(
    data: Data,
    federation: Federation,
    task: Task,
    algorithm: FedAvg,
    state: PyTree,
    first: int,
    rounds: int,
) -> tuple[PyTree, float]:
    """Train rounds `first`, `first + 1`, ...; the new state and the seconds from first to last round."""
    use_given_batches(data, first)
    times: list[float] = []
    run = unalike.train(
        federation,
        task,
        algorithm,
        rounds=rounds,
        participation=GivenCohorts(data, first),
        initial=state,
        evaluate_every=0,
        observer=lambda report, total: times.append(time.perf_counter()),
    )
    return run.state, times[-1] - times[0]


def main(
    job: Job, make: Callable[[Data], tuple[Model, PyTree]] = model_of, peer: str = "unalike", remark: str = ""
) -> None:
    """Run the job's rounds with the model that is made for it, and write the result."""
    data = read_data(job.problem, **read_npz(job.problem, ("x",)))  # where XLA uses it in place
    model, weights = make(data)
    task = Task.classification(model, data.hyper["classes"])
    work = LocalWork(steps=data.hyper["steps"], batch_size=data.hyper["batch"])
    algorithm = FedAvg(work=work, optimizer=Optimizer("sgd", data.hyper["lr"]))
    params = jax.tree.map(jnp.asarray, weights)
    state: PyTree = {"params": params, "server": algorithm.server_optimizer.build().init(params)}
    laps = Laps()
    federation = federation_of(data)
    given = (data, federation, task, algorithm)
    train_rounds(*given, state, job.warmup, job.rounds)  # compiles; its result is not used
    state, seconds = train_rounds(*given, state, 0, job.warmup)
    laps.seconds += [seconds / job.warmup] * job.warmup
    state, seconds = train_rounds(*given, state, job.warmup, job.rounds)
    laps.seconds += [seconds / job.rounds] * job.rounds
    apply = jax.jit(task.apply)
    pieces = chunks(len(data.y_test), 100)
    logits = np.concatenate([np.asarray(apply(state["params"], data.x_test[piece])) for piece in pieces])
    finish(job, data, laps, logits, peer, "unalike", threads=len(jax.devices()), remark=remark)


if __name__ == "__main__":
    main(read_job())
