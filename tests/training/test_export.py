"""Is what leaves the model that predicts?"""

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, Task
from unalike.algorithms import algorithm_registry
from unalike.core import pytrees
from unalike.models import load_torch_weights
from unalike.training.export import export, find_trained_model

RNG = np.random.default_rng(0)
ROWS = {n: (RNG.normal(size=(8, 4)).astype(np.float32), RNG.integers(0, 3, 8)) for n in ("a", "b")}
CLIENTS = Federation.from_clients(ROWS, test_fraction=0)
WORK = LocalWork(steps=2, batch_size=4)


def train(name="fedavg", model="linear", **options):
    method = algorithm_registry.make(name, work=WORK, **options)
    return unalike.train(CLIENTS, Task.of(CLIENTS, model), method, rounds=1, evaluate_every=0)


@pytest.fixture(scope="module")
def run():
    return train()


def test_the_file_holds_the_model_and_goes_back_in(run, tmp_path):
    path = export(run, tmp_path / "model.safetensors")
    assert np.array_equal(load_file(path)["weight"], run.message["w"])
    task = load_torch_weights(run.setting.task, path)
    assert pytrees.largest_difference(task.init(jax.random.key(0)), run.message) == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_client_s_own_model_is_the_one_it_predicts_with():
    run = train("ditto")
    own = [find_trained_model(run, name) for name in CLIENTS.names]
    losses = [run.setting.task.losses(p, *ROWS[n]).mean() for p, n in zip(own, CLIENTS.names, strict=True)]
    assert np.allclose(run.evaluate("train")["loss"], losses, atol=1e-6)
    assert pytrees.largest_difference(find_trained_model(run), run.message) == 0


def test_what_cannot_leave_is_refused_before_anything_is_written(run, tmp_path):
    own = Task.of(CLIENTS, (lambda key: {"w": np.ones((4, 3), np.float32)}, lambda p, x: x @ p["w"]))
    mine = unalike.train(CLIENTS, own, FedAvg(work=WORK), rounds=0)
    for ask, words in [
        (lambda path: export(run, path / "m.pickle"), "unknown format of export 'pickle'"),
        (lambda path: export(run, path / "m.onnx", client="c"), "unknown client 'c'"),
        (
            lambda path: export(train("fedper", "mlp:3"), path / "m.onnx"),
            "not one model of the task; say whose",
        ),
        (
            lambda path: export(train("fedem", components=2), path / "m.onnx", client="a"),
            "not one model of the task",
        ),
        (lambda path: export(mine, path / "m.safetensors"), "only built-in models of layers"),
    ]:
        with pytest.raises(ConfigError, match=words):
            ask(tmp_path)
    assert not list(tmp_path.iterdir())
