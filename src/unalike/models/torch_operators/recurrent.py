"""Recurrent layers of PyTorch, whole: each is a loop over time (`lax.scan`), not a graph of every step.

Inputs of all steps are projected at once, outside the loop. An LSTM that starts at zero, and whose last cell
nobody reads, is that of :mod:`..recurrent`, with its quick backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...errors import ConfigError
from ...typing import Leaf, PyTree
from ..recurrent import gru_cell, lstm_steps
from .randomness import drop
from .table import Site, Swapped, sited_operator, turn

Step = Callable[[PyTree, jax.Array], tuple[PyTree, jax.Array]]
Layer = Callable[[jax.Array, list[jax.Array], PyTree, bool], tuple[jax.Array, PyTree]]
"""(inputs by time, weights, first state, is the last state's cell read) -> (outputs, last state)."""


@sited_operator("aten.lstm.input")
def lstm(
    site: Site,
    x: jax.Array | Swapped,
    start: Sequence[Leaf],
    weights: Sequence[jax.Array],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[jax.Array | Swapped, jax.Array, jax.Array]:
    settings = (has_biases, layers, dropout if train else 0.0, bidirectional, batch_first)
    states = [(start[0][i], start[1][i]) for i in range(len(start[0]))]
    outputs, ends = _stack(site, _lstm_layer, x, states, weights, *settings)
    last_h, last_c = (jnp.stack([end[part] for end in ends]) for part in (0, 1))
    return outputs, last_h, last_c


def _single(layer: Layer) -> Callable[..., tuple[jax.Array | Swapped, jax.Array]]:
    """A layer with one state, as PyTorch calls a stack of it."""

    def run(
        site: Site,
        x: jax.Array | Swapped,
        start: Leaf,
        weights: Sequence[jax.Array],
        has_biases: bool,
        layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[jax.Array | Swapped, jax.Array]:
        settings = (has_biases, layers, dropout if train else 0.0, bidirectional, batch_first)
        outputs, ends = _stack(site, layer, x, list(start), weights, *settings)
        return outputs, jnp.stack(ends)

    return run


def _stack(
    site: Site,
    layer: Layer,
    x: jax.Array | Swapped,
    starts: list[PyTree],
    weights: Sequence[jax.Array],
    has_biases: bool,
    layers: int,
    dropout: float,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[jax.Array | Swapped, list[PyTree]]:
    """Layer upon layer, in both directions where asked, with dropout between layers."""
    directions = 2 if bidirectional else 1
    tensors = 4 if has_biases else 2
    if len(weights) != tensors * layers * directions:
        raise ConfigError(
            "a recurrent layer of the module has proj_size, which is not supported; leave it 0."
        )
    h, ends = _by_time(x) if batch_first else turn(x), []
    for number in range(layers):
        parts = []
        for direction in range(directions):
            place = number * directions + direction
            mine = list(weights[tensors * place : tensors * (place + 1)])
            inputs = jnp.flip(h, 0) if direction else h
            outputs, end = layer(inputs, mine, starts[place], 2 in site.used)
            parts.append(jnp.flip(outputs, 0) if direction else outputs)
            ends.append(end)
        h = parts[0] if directions == 1 else jnp.concatenate(parts, -1)
        if number < layers - 1:
            h = drop(site, h, dropout, number)
    return Swapped(h) if batch_first else h, ends


def _by_time(x: jax.Array | Swapped) -> jax.Array:
    return x.array if isinstance(x, Swapped) else x.swapaxes(0, 1)


def _project(h: jax.Array, weight: jax.Array, bias: jax.Array | None) -> jax.Array:
    """The inputs of all steps times their weights."""
    rows = h.reshape(-1, h.shape[-1]) @ _turned(weight)
    return (rows if bias is None else rows + bias).reshape(*h.shape[:-1], -1)


def _turned(weight: jax.Array) -> jax.Array:
    """The weights with a row per input, in which the product of all steps' gradients is quicker; the barrier
    keeps XLA from turning that product instead of the weights."""
    return lax.optimization_barrier(weight.T)


def _lstm_layer(
    h: jax.Array, weights: list[jax.Array], start: PyTree, cell: bool
) -> tuple[jax.Array, PyTree]:
    wi, wh, *biases = weights
    rows = _project(h, wi, biases[0] + biases[1] if biases else None)
    if not cell and all(isinstance(part, np.ndarray) and not part.any() for part in start):
        outputs = lstm_steps(rows, _turned(wh))
        return outputs, (outputs[-1], start[1])

    def step(state: PyTree, row: jax.Array) -> tuple[PyTree, jax.Array]:
        before, c = state
        i, f, g, o = jnp.split(row + before @ wh.T, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        now = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (now, c), now

    return _swap(lax.scan(step, tuple(map(jnp.asarray, start)), rows))


def _gru_layer(h: jax.Array, weights: list[jax.Array], start: PyTree, cell: bool) -> tuple[jax.Array, PyTree]:
    wi, wh, *biases = weights
    bi, bh = biases or (None, None)

    def step(before: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        heard = before @ wh.T
        now = gru_cell(row, heard if bh is None else heard + bh, before)
        return now, now

    return _swap(lax.scan(step, jnp.asarray(start), _project(h, wi, bi)))


def _plain_layer(
    activation: Callable[[jax.Array], jax.Array],
    h: jax.Array,
    weights: list[jax.Array],
    start: PyTree,
    cell: bool,
) -> tuple[jax.Array, PyTree]:
    wi, wh, *biases = weights

    def step(before: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        now = activation(row + before @ wh.T)
        return now, now

    return _swap(
        lax.scan(step, jnp.asarray(start), _project(h, wi, biases[0] + biases[1] if biases else None))
    )


def _swap(ended: tuple[PyTree, jax.Array]) -> tuple[jax.Array, PyTree]:
    return ended[1], ended[0]


sited_operator("aten.gru.input")(_single(_gru_layer))
sited_operator("aten.rnn_tanh.input")(_single(partial(_plain_layer, jnp.tanh)))
sited_operator("aten.rnn_relu.input")(_single(partial(_plain_layer, jax.nn.relu)))
