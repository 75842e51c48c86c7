"""Google's FedJAX: `federated_averaging` with its compiled client loop, batches given by the problem.

FedJAX 0.0.17 calls `jax.tree_map`, which newer JAX no longer has: one line puts it back. A client's data set
may be any object with a length and `shuffle_repeat_batch`, so the one below hands out the problem's batches.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import optax
from common import Data, Job, Laps, chunks, finish, layer_weights, read_data, read_job

jax.tree_map = jax.tree_util.tree_map

import fedjax  # noqa: E402
from fedjax.algorithms import fed_avg  # noqa: E402

Params = list[dict[str, jax.Array]]


class Steps:
    """One cohort member: its number of rows, and its batches in the order of the problem."""

    def __init__(self, data: Data, client: int, steps: np.ndarray) -> None:
        self.data, self.client, self.rows = data, client, steps

    def __len__(self) -> int:
        return self.data.rows_of(self.client)

    def shuffle_repeat_batch(self, hparams: object) -> Iterator[dict[str, np.ndarray]]:
        """The batches; the hyper-parameters of shuffling are not used."""
        return ({"x": self.data.x[rows], "y": self.data.y[rows]} for rows in self.rows)


def first_params(data: Data) -> Params:
    """The first weights, one dictionary per layer, in the documented layout."""
    layers = range(len(data.hyper["layers"]))
    return [{k: jnp.asarray(v) for k, v in layer_weights(data, index).items()} for index in layers]


def apply_model(layers: list[dict], params: Params, x: jax.Array) -> jax.Array:
    """The problem's model."""
    for layer, weights in zip(layers, params, strict=True):
        x = apply_layer(layer, weights, x)
    return x


def apply_layer(layer: dict, weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """One layer of it."""
    if layer["kind"] == "dense":
        x = x @ weights["w"] + weights["b"]
        return jax.nn.relu(x) if layer["relu"] else x
    if layer["kind"] == "conv":
        dimensions = ("NHWC", "HWIO", "NHWC")
        padding = layer["padding"].upper()
        x = jax.lax.conv_general_dilated(x, weights["w"], (1, 1), padding, dimension_numbers=dimensions)
        return jax.nn.relu(x + weights["b"])
    if layer["kind"] == "pool":
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    if layer["kind"] == "flatten":
        return x.reshape(len(x), -1)
    if layer["kind"] == "embed":
        return weights["w"][x]
    return lstm(weights, x) if layer["kind"] == "lstm" else x[:, -1]


def lstm(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """One LSTM layer: all input products at once, then a scan over the steps."""

    def step(state: tuple[jax.Array, jax.Array], drive: jax.Array) -> tuple[tuple, jax.Array]:
        hidden, cell = state
        i, f, g, o = jnp.split(drive + hidden @ weights["wh"], 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    drives = (x @ weights["wi"] + weights["b"]).swapaxes(0, 1)
    zero = jnp.zeros((len(x), len(weights["wh"])), x.dtype)
    return jax.lax.scan(step, (zero, zero), drives)[1].swapaxes(0, 1)


def algorithm(data: Data) -> fedjax.FederatedAlgorithm:
    """FedJAX's federated averaging for the problem's model, with plain SGD and a server step of one."""
    layers = data.hyper["layers"]

    def loss(params: Params, batch: dict[str, jax.Array], rng: jax.Array) -> jax.Array:
        outputs = apply_model(layers, params, batch["x"])
        return optax.softmax_cross_entropy_with_integer_labels(outputs, batch["y"]).mean()

    return fed_avg.federated_averaging(
        jax.grad(loss),
        fedjax.optimizers.sgd(data.hyper["lr"]),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=data.hyper["batch"], num_epochs=1),
    )


def logits(data: Data, params: Params) -> np.ndarray:
    """The final model's outputs on the test rows."""
    run = jax.jit(lambda x: apply_model(data.hyper["layers"], params, x))
    return np.concatenate([np.asarray(run(data.x_test[part])) for part in chunks(len(data.x_test))])


def main(job: Job) -> None:
    """Run the job's rounds and write the result."""
    data = read_data(job.problem)
    average, laps = algorithm(data), Laps()
    state = average.init(first_params(data))
    keys = jax.random.split(jax.random.key(0), data.hyper["cohort"])
    laps.start()
    for index in range(job.total):
        members = zip(data.clients(index), data.steps(index), keys, strict=True)
        cohort = [(int(client), Steps(data, client, steps), key) for client, steps, key in members]
        state, _ = average.apply(state, cohort)
        jax.block_until_ready(state.params)
        laps.lap()
    finish(job, data, laps, logits(data, state.params), "fedjax", remark="jax.tree_map put back")


if __name__ == "__main__":
    main(read_job())
