"""Recurrent networks for text, character by character.

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

from ..errors import ConfigError
from ..typing import Params, PyTree
from .catalog import model_registry
from .dense import dense, dense_init
from .layers import Layer as Described
from .layers import LayerKind
from .model import Model

Layer = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
"""(projected inputs by time, recurrent weights and bias) -> what every step hands to the next layer."""


@model_registry.add("lstm")
def lstm(units: int = 100, embedding: int = 8, layers: int = 2, *, outputs: int) -> Model:
    """A character LSTM; `lstm:256,8` has 256 units a layer and an 8-dimensional embedding."""
    return character_model("lstm", _lstm_layer, 4, units, embedding, layers, outputs)


@model_registry.add("gru")
def gru(units: int = 256, embedding: int = 16, layers: int = 2, *, outputs: int) -> Model:
    """A character GRU; `gru:128,8` has 128 units a layer and an 8-dimensional embedding."""
    return character_model("gru", _gru_layer, 3, units, embedding, layers, outputs)


@model_registry.add("rnn")
def rnn(units: int = 256, embedding: int = 8, layers: int = 2, *, outputs: int) -> Model:
    """A plain (Elman) character network with tanh."""
    return character_model("rnn", _rnn_layer, 1, units, embedding, layers, outputs)


def character_model(
    kind: LayerKind, layer: Layer, gates: int, units: int, embedding: int, layers: int, outputs: int
) -> Model:
    """Embedding, `layers` recurrent layers of one kind, and a dense layer on the last step."""
    inputs = (embedding, *(units for _ in range(layers - 1)))

    def init(key: jax.Array) -> Params:
        embed_key, head_key, *keys = jax.random.split(key, layers + 2)
        return {
            "embedding": jax.random.normal(embed_key, (outputs, embedding)),
            "layers": [_layer_init(k, width, units, gates) for k, width in zip(keys, inputs, strict=True)],
            "head": dense_init(head_key, units, outputs),
        }

    def features(params: Params, x: jax.Array) -> jax.Array:
        if x.ndim != 2 or not jnp.issubdtype(x.dtype, jnp.integer):
            raise ConfigError(
                f"{kind} reads sequences of whole numbers (symbols), but rows are {x.dtype} of shape "
                f"{x.shape[1:]}; choose data such as shakespeare, or a model such as mlp."
            )
        h = params["embedding"][x.T]
        for weights in params["layers"]:
            # The inputs of all steps are projected at once, outside the loop over time.
            rows = h.reshape(-1, h.shape[-1]) @ weights["wi"] + weights["bi"]
            h = layer(rows.reshape(*h.shape[:2], -1), weights["wh"], weights["bh"])
        return h[-1]

    described = (
        Described("embedding", "embedding", "embedding"),
        *(Described(kind, f"layers/{index}", "recurrent") for index in range(layers)),
        Described("dense", "head", "head"),
    )
    return Model(
        init,
        lambda params, x: dense(params["head"], features(params, x)),
        features,
        head="head",
        layers=described,
    )


def _layer_init(key: jax.Array, inputs: int, units: int, gates: int) -> PyTree:
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


def _gru_layer(rows: jax.Array, wh: jax.Array, bh: jax.Array) -> jax.Array:
    def step(h: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = gru_cell(row, h @ wh + bh, h)
        return h, h

    return lax.scan(step, _silence(rows, wh), rows)[1]


def gru_cell(row: jax.Array, heard: jax.Array, h: jax.Array) -> jax.Array:
    """The next state of a GRU, of its projected input, its projected state, and the state itself."""
    reset_in, update_in, new_in = jnp.split(row, 3, axis=-1)
    reset_h, update_h, new_h = jnp.split(heard, 3, axis=-1)
    update = jax.nn.sigmoid(update_in + update_h)
    new = jnp.tanh(new_in + jax.nn.sigmoid(reset_in + reset_h) * new_h)
    return (1.0 - update) * new + update * h


def _rnn_layer(rows: jax.Array, wh: jax.Array, bh: jax.Array) -> jax.Array:
    def step(h: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = jnp.tanh(row + h @ wh + bh)
        return h, h

    return lax.scan(step, _silence(rows, wh), rows)[1]


def _lstm_layer(rows: jax.Array, wh: jax.Array, bh: jax.Array) -> jax.Array:
    return lstm_steps(rows + bh, wh)


@jax.custom_vjp
def lstm_steps(rows: jax.Array, wh: jax.Array) -> jax.Array:
    """All steps of an LSTM layer: i, f, g, o from row + h wh; c = f c + i g; h = o tanh(c)."""
    return _lstm_forward(rows, wh)[0]


def _lstm_forward(rows: jax.Array, wh: jax.Array) -> tuple[jax.Array, PyTree]:
    # sigmoid(a) = (1 + tanh(a / 2)) / 2, so one tanh over all four gates is enough.
    half, whole = jnp.full(wh.shape[0], 0.5), jnp.ones(wh.shape[0])
    slope = jnp.concatenate([half, half, whole, half])
    shift = 1.0 - slope

    def step(state: tuple[jax.Array, jax.Array], row: jax.Array) -> tuple[PyTree, PyTree]:
        h, c = state
        gates = slope * jnp.tanh(slope * (row + h @ wh)) + shift
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        c = f * c + i * g
        h = o * jnp.tanh(c)
        return (h, c), (h, c, gates)

    start = _silence(rows, wh)
    _, (h, c, gates) = lax.scan(step, (start, start), rows)
    return h, (h, c, gates, wh)


def _lstm_backward(saved: PyTree, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Only what must go step by step is in the loop; the gradient of the weights is one product after it."""
    h, c, gates, wh = saved
    before_h, before_c = (jnp.concatenate([jnp.zeros_like(a[:1]), a[:-1]]) for a in (h, c))
    back = wh.T

    def step(carry: PyTree, now: PyTree) -> tuple[PyTree, jax.Array]:
        dh, dc = carry
        heard, gates, c, before = now
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        bent = jnp.tanh(c)
        dh = dh + heard
        dc = dc + dh * o * (1.0 - bent**2)
        pulls = (
            dc * g * i * (1.0 - i),
            dc * before * f * (1.0 - f),
            dc * i * (1.0 - g**2),
            dh * bent * o * (1.0 - o),
        )
        drow = jnp.concatenate(pulls, axis=-1)
        return (drow @ back, dc * f), drow

    end = jnp.zeros_like(h[0])
    _, drows = lax.scan(step, (end, end), (gradient, gates, c, before_c), reverse=True)
    return drows, before_h.reshape(-1, wh.shape[0]).T @ drows.reshape(-1, wh.shape[1])


lstm_steps.defvjp(_lstm_forward, _lstm_backward)


def _silence(rows: jax.Array, wh: jax.Array) -> jax.Array:
    """The state before the first symbol."""
    return jnp.zeros((rows.shape[1], wh.shape[0]))
