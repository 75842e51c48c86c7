"""Does an ONNX runtime compute what the model computes?"""

import sys

import jax
import numpy as np
import pytest

from unalike import ConfigError, Task
from unalike.models import Stateful, model_registry
from unalike.models.onnx_graph import write_onnx

from .filled import filled

SHAPES = {
    "linear": (8, 8, 3),
    "linear:0": (13,),
    "mlp:7,6": (6, 6),
    "mlp-norm:7": (13,),
    "mlp-bn:7": (13,),
    "cnn": (12, 12),
    "cnn-small": (20, 22, 3),
    "cnn-wide": (17, 16, 3),
    "cnn-femnist": (9, 9),
    "cnn-norm:4": (9, 9, 2),
    "cnn-bn": (9, 9, 2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_runtime_gives_the_same_outputs(name, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    shape = SHAPES[name]
    model = model_registry.make(name, input_shape=shape, outputs=10)
    task = Task.classification(model, 10, state="average")
    params = filled(task)
    if isinstance(params, Stateful):  # variances are positive
        params = params._replace(state=jax.tree.map(np.abs, params.state))
    write_onnx(task, params, shape, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    x = np.random.default_rng(0).normal(size=(3, *shape)).astype(np.float32)
    (theirs,) = session.run(None, {"x": x})
    ours = jax.jit(task.apply)(params, x)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("name", ["lstm:5,3", "gru:4,2", "rnn:6,2", "gru:3,2,1"])
def test_a_runtime_reads_symbols_as_recurrent_models_do(name, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    task = Task.classification(model_registry.make(name, outputs=7), 7)
    params = filled(task)
    write_onnx(task, params, (9,), tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    x = np.random.default_rng(0).integers(0, 7, (4, 9))
    (theirs,) = session.run(None, {"x": x})
    ours = jax.jit(task.apply)(params, x)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-5)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    task = Task.classification(model_registry.make("gru:3,2", outputs=4), 4)
    with pytest.raises(ConfigError, match=r"pip install '.\[onnx\]'"):
        write_onnx(task, filled(task), (5,), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
