"""Do weights keep their meaning under PyTorch's names?"""

import pickle
import re
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from safetensors.numpy import save_file

from unalike import ConfigError, Task
from unalike.core import pytrees
from unalike.models import Stateful, load_torch_weights, model_registry, to_torch_state_dict
from unalike.models.module_state import with_state

from .filled import filled

PAGE = Path(__file__).parents[2] / "docs" / "from_pytorch.md"
GRAY, COLOR, WINDOW = (28, 28), (32, 32, 3), (5,)
SMALL = "[1, 32, 64], 3, [True, True], [3136, 64, 10]"
MODULES = {
    "linear": ((8, 8, 3), "nn.Sequential(nn.Flatten(), nn.Linear(192, 10))"),
    "mlp:7,6": ((8, 8, 3), "MLP(192, 7, 6, 10)"),
    "mlp-norm:7": ((13,), "MLP(13, 7, 10, norm=nn.LayerNorm)"),
    "mlp-bn:7": ((13,), "MLP(13, 7, 10, norm=nn.BatchNorm1d)"),
    "cnn": (GRAY, "CNN([1, 32, 64], 5, [True, True], [3136, 512, 10], same=True)"),
    "cnn-small": (COLOR, "CNN([3, 32, 64, 64], 3, [True, True, False], [1024, 64, 10])"),
    "cnn-wide": (COLOR, "CNN([3, 32, 64], 5, [True, True], [1600, 2048, 10])"),
    "cnn-femnist": (GRAY, "CNN([1, 32, 64], 3, [False, True], [9216, 128, 10])"),
    "cnn-norm": (
        GRAY,
        "CNN([1, 32, 64], 3, [True, True], [3136, 64, 10], same=True, norm=partial(nn.GroupNorm, 8))",
    ),
    "cnn-bn": (GRAY, "CNN([1, 32, 64], 3, [True, True], [3136, 64, 10], same=True, norm=nn.BatchNorm2d)"),
    "lstm": (WINDOW, "Characters(nn.LSTM, 10, 8, 100)"),
    "gru": (WINDOW, "Characters(nn.GRU, 10, 16, 256)"),
    "rnn": (WINDOW, "Characters(nn.RNN, 10, 8, 256)"),
}


def task_of(name, shape):
    sizes = {"outputs": 10} if shape == WINDOW else {"outputs": 10, "input_shape": shape}
    return Task.classification(model_registry.make(name, **sizes), 10, state="average")


def kept(model, scale=0.5):
    """Parameters, of which variances are positive."""
    params = filled(model, scale=scale)
    return with_state(params, jax.tree.map(np.abs, params.state)) if isinstance(params, Stateful) else params


def close(ours, theirs):
    return np.allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


def test_every_built_in_model_is_in_the_table():
    assert {name.partition(":")[0] for name in MODULES} == set(model_registry) - {"gaussian"}


@pytest.mark.parametrize("name", MODULES)
def test_weights_come_back_as_they_went(name, tmp_path):
    task = task_of(name, MODULES[name][0])
    params = kept(task)
    weights = to_torch_state_dict(task, params)
    assert sum(tensor.size for tensor in weights.values()) == pytrees.size(params)
    save_file(weights, tmp_path / "model.safetensors")
    counted = {**weights, "norm.0.num_batches_tracked": np.ones((), int)} if "bn" in name else weights
    for given in (counted, tmp_path / "model.safetensors"):
        again = load_torch_weights(task, given).init(jax.random.key(5))
        assert pytrees.largest_difference(again, params) == 0


def test_a_convolution_with_channels_first_gives_the_same_logits():
    task = task_of("cnn-small", COLOR)
    params = filled(task)
    x = np.random.default_rng(0).normal(size=(2, *COLOR)).astype(np.float32)

    @jax.jit
    def channels_first(weights, h):
        for index, pool in enumerate((True, True, False)):
            h = lax.conv(h, weights[f"conv.{index}.weight"], (1, 1), "VALID")
            h = jax.nn.relu(h + weights[f"conv.{index}.bias"][:, None, None])
            h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") if pool else h
        h = jax.nn.relu(h.reshape(len(h), -1) @ weights["dense.0.weight"].T + weights["dense.0.bias"])
        return h @ weights["dense.1.weight"].T + weights["dense.1.bias"]

    theirs = channels_first(to_torch_state_dict(task, params), x.transpose(0, 3, 1, 2))
    assert close(jax.jit(task.apply)(params, x), theirs)


def test_flattened_colors_are_in_another_order():
    task = task_of("linear", (2, 2, 3))
    columns = np.arange(12.0).reshape(1, 12).repeat(10, 0)
    weights = to_torch_state_dict(task, {"w": columns, "b": np.zeros(10)})
    assert weights["weight"][0].tolist() == [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]


@pytest.mark.parametrize("name", MODULES)
def test_the_modules_of_the_page_give_the_same_logits_in_pytorch(name):
    torch = pytest.importorskip("torch")
    space: dict = {"torch": torch}
    blocks = re.findall(r"```python torch\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(next(block for block in blocks if "class MLP" in block), space)
    shape, words = MODULES[name]
    task, module = task_of(name, shape), eval(words, space)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (3, 5)) if shape == WINDOW else rng.normal(size=(3, *shape)).astype(np.float32)
    params = kept(task, scale=0.05)  # with larger ones a recurrent network multiplies its rounding
    weights = to_torch_state_dict(task, params)
    prefix = "1." if name == "linear" else ""
    module.eval().load_state_dict({prefix + key: torch.from_numpy(value) for key, value in weights.items()})
    there = x.reshape(3, *shape, 1).transpose(0, 3, 1, 2) if len(shape) == 2 else x
    there = x.transpose(0, 3, 1, 2) if len(shape) == 3 else there
    with torch.no_grad():
        theirs = module(torch.from_numpy(np.ascontiguousarray(there))).numpy()
    assert close(task.apply(params, x), theirs)


def test_what_does_not_fit_is_refused(tmp_path):
    task = task_of("linear", (4,))
    good = {"weight": np.zeros((10, 4)), "bias": np.zeros(10)}
    (tmp_path / "model.pt").write_bytes(b"neither")
    (tmp_path / "old.pt").write_bytes(pickle.dumps(good))
    with zipfile.ZipFile(tmp_path / "new.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(good))
    for weights, words in [
        (
            {"weight": good["weight"]},
            "'bias' is missing; the state_dict of the task's model has weight, bias",
        ),
        ({**good, "gamma": np.ones(1)}, "'gamma' is no tensor of this model"),
        ({**good, "weight": np.zeros((10, 5))}, r"w has shape \(10, 5\), but the model has \(10, 4\)"),
        (tmp_path / "model.pt", "cannot be read as a safetensors file"),
        (tmp_path / "old.pt", r"pickled and not read; write the weights with safetensors"),
        (tmp_path / "new.pt", r"pickled and not read; write the weights with safetensors"),
        (tmp_path, "it is a folder"),
        (object(), "weights must be a state_dict, a module that has one, or a safetensors file"),
    ]:
        with pytest.raises(ConfigError, match=words):
            load_torch_weights(task, weights)
    module = type("Net", (), {"state_dict": lambda self: good})()
    assert load_torch_weights(task, module).init(jax.random.key(0))["w"].shape == (10, 4)
    own = Task.classification((lambda key: {"w": jnp.ones((4, 3))}, lambda p, x: x @ p["w"]), 3)
    with pytest.raises(ConfigError, match="only built-in models of layers"):
        to_torch_state_dict(own, {"w": np.ones((4, 3))})
