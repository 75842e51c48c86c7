"""Which recurrent networks read characters?

A character model embeds each symbol, runs two recurrent layers over the window and predicts the next symbol
from the last step. `lstm` has 100 units a layer (135,700 parameters for 100 symbols), as in the client-
sampling studies; `gru` 256 units and a 16-dimensional embedding, as in the topology studies; `rnn` is the
plain network of the data-stream studies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from ..trees import Tree
from .catalogue import models
from .dense import dense, dense_init
from .task import Model

Cell = Callable[[Tree, Tree, jax.Array], Tree]
"""(weights, state, projected input) -> state; the first entry of a state is what the next layer reads."""


@models.add("lstm")
def lstm(units: int = 100, embedding: int = 8, layers: int = 2, *, outputs: int) -> Model:
    """A character LSTM; `lstm:256,8` has 256 units a layer and an 8-dimensional embedding."""
    return character_model(_lstm_cell, 4, 2, units, embedding, layers, outputs)


@models.add("gru")
def gru(units: int = 256, embedding: int = 16, layers: int = 2, *, outputs: int) -> Model:
    """A character GRU; `gru:128,8` has 128 units a layer and an 8-dimensional embedding."""
    return character_model(_gru_cell, 3, 1, units, embedding, layers, outputs)


@models.add("rnn")
def rnn(units: int = 256, embedding: int = 8, layers: int = 2, *, outputs: int) -> Model:
    """A plain (Elman) character network with tanh."""
    return character_model(_rnn_cell, 1, 1, units, embedding, layers, outputs)


def character_model(
    cell: Cell, gates: int, states: int, units: int, embedding: int, layers: int, outputs: int
) -> Model:
    """Embedding, `layers` recurrent layers of one kind of cell, and a dense layer on the last step."""
    inputs = (embedding, *(units for _ in range(layers - 1)))

    def init(key: jax.Array) -> Tree:
        embed_key, head_key, *keys = jax.random.split(key, layers + 2)
        return {
            "embedding": jax.random.normal(embed_key, (outputs, embedding)),
            "layers": [_layer_init(k, width, units, gates) for k, width in zip(keys, inputs, strict=True)],
            "head": dense_init(head_key, units, outputs),
        }

    def features(params: Tree, x: jax.Array) -> jax.Array:
        h = params["embedding"][x.T]
        for layer in params["layers"]:
            h = _run(cell, states, layer, h)
        return h[-1]

    return Model(init, lambda params, x: dense(params["head"], features(params, x)), features)


def _layer_init(key: jax.Array, inputs: int, units: int, gates: int) -> Tree:
    bound = 1.0 / math.sqrt(units)
    shapes = {
        "wi": (inputs, gates * units),
        "wh": (units, gates * units),
        "bi": (gates * units,),
        "bh": (gates * units,),
    }
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.uniform(k, shape, minval=-bound, maxval=bound)
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def _run(cell: Cell, states: int, layer: Tree, x: jax.Array) -> jax.Array:
    """All steps of one layer, time first; the inputs of all steps are projected at once."""
    time, batch, width = x.shape
    projected = (x.reshape(-1, width) @ layer["wi"] + layer["bi"]).reshape(time, batch, -1)
    start = tuple(jnp.zeros((batch, layer["wh"].shape[0])) for _ in range(states))

    def step(state: Tree, row: jax.Array) -> tuple[Tree, jax.Array]:
        state = cell(layer, state, row)
        return state, state[0]

    return lax.scan(step, start, projected)[1]


def _lstm_cell(layer: Tree, state: Tree, row: jax.Array) -> Tree:
    h, c = state
    i, f, g, o = jnp.split(row + h @ layer["wh"] + layer["bh"], 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def _gru_cell(layer: Tree, state: Tree, row: jax.Array) -> Tree:
    (h,) = state
    reset_in, update_in, new_in = jnp.split(row, 3, axis=-1)
    reset_h, update_h, new_h = jnp.split(h @ layer["wh"] + layer["bh"], 3, axis=-1)
    update = jax.nn.sigmoid(update_in + update_h)
    new = jnp.tanh(new_in + jax.nn.sigmoid(reset_in + reset_h) * new_h)
    return ((1.0 - update) * new + update * h,)


def _rnn_cell(layer: Tree, state: Tree, row: jax.Array) -> Tree:
    (h,) = state
    return (jnp.tanh(row + h @ layer["wh"] + layer["bh"]),)
