"""Do the recurrent networks equal loops over time, written with NumPy from the textbook's equations?"""

import jax
import numpy as np
import pytest

from unalike.models import gru, lstm, rnn

from .filled import filled

SYMBOLS, UNITS, EMBEDDING = 6, 3, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(p, x, state):
    """Hochreiter and Schmidhuber (1997) with forget gates: input, forget, candidate, output."""
    h, c = state
    i, f, g, o = np.split(x @ p["wi"] + p["bi"] + h @ p["wh"] + p["bh"], 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(p, x, state):
    """Cho et al. (2014): reset, update, candidate; the reset gate acts after the recurrent product."""
    h = state[0]
    wi, wh, bi, bh = (np.split(p[name], 3, axis=-1) for name in ("wi", "wh", "bi", "bh"))
    r, z = (sigmoid(x @ wi[k] + bi[k] + h @ wh[k] + bh[k]) for k in (0, 1))
    n = np.tanh(x @ wi[2] + bi[2] + r * (h @ wh[2] + bh[2]))
    return (1 - z) * n + z * h, None


def rnn_step(p, x, state):
    """Elman (1990)."""
    return np.tanh(x @ p["wi"] + p["bi"] + state[0] @ p["wh"] + p["bh"]), None


def naive_features(params, window, step):
    inputs = [params["embedding"][symbol] for symbol in window]
    for layer in params["layers"]:
        state, outputs = (np.zeros(UNITS), np.zeros(UNITS)), []
        for x in inputs:
            state = step(layer, x, state)
            outputs.append(state[0])
        inputs = outputs
    return inputs[-1]


@pytest.mark.parametrize(
    ("make", "step"), [(lstm, lstm_step), (gru, gru_step), (rnn, rnn_step)], ids=["lstm", "gru", "rnn"]
)
def test_a_recurrent_model_equals_a_loop_over_time(make, step):
    model = make(UNITS, EMBEDDING, 2, outputs=SYMBOLS)
    params = filled(model)
    plain = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    windows = np.random.default_rng(0).integers(0, SYMBOLS, (4, 5))
    expected = np.stack([naive_features(plain, window, step) for window in windows])
    head = plain["head"]
    features, outputs = jax.jit(lambda p, x: (model.features(p, x), model.apply(p, x)))(params, windows)
    assert np.allclose(features, expected, atol=1e-6)
    assert np.allclose(outputs, expected @ head["w"].T + head["b"], atol=1e-6)


def test_only_the_symbols_of_a_row_matter_to_it():
    model = rnn(UNITS, EMBEDDING, 1, outputs=SYMBOLS)
    params = filled(model)
    apply = jax.jit(model.apply)
    window = np.array([[1, 2, 3], [4, 5, 0]])
    changed = np.array([[1, 2, 3], [0, 0, 0]])
    assert np.array_equal(apply(params, window)[0], apply(params, changed)[0])
    assert not np.array_equal(apply(params, window)[1], apply(params, changed)[1])
