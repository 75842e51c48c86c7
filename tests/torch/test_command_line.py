"""Does a module in a plugin file go through the commands as a built-in model does?"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")

import onnxruntime  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from unalike.core import plugins  # noqa: E402
from unalike.models import model_registry  # noqa: E402

PLUGIN = '''
"""A network of mine."""

from torch import nn

from unalike.models import model_registry


@model_registry.add("mine")
def mine(width=4, *, input_shape, outputs):
    """A small network with batch normalization; `mine:8` is twice as wide."""
    return nn.Sequential(
        nn.Conv2d(input_shape[-1], width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(36 * width, outputs),
    )


@model_registry.add("plain")
def plain(*, input_shape, outputs):
    """A linear network."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, outputs))
'''
RUN = ("run", "--plugin", "my_net.py", "--model", "mine:3", "--state", "average", "--clients", "4")
SHORT = ("--samples", "120", "--steps", "2", "--batch-size", "8", "--checkpoint-every", "1")


@pytest.fixture
def plugin(unalike, tmp_path, monkeypatch):
    monkeypatch.setattr(model_registry, "_makers", dict(model_registry._makers))
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    name = f"my_net_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PLUGIN)

    def type_in(*words):
        return unalike(*(f"{name}.py" if word == "my_net.py" else word for word in words))

    return type_in


def test_a_module_of_a_plugin_is_run_resumed_exported_and_predicts(plugin, tmp_path):
    for out, rounds in (("whole", 4), ("part", 2)):
        assert plugin(*RUN, *SHORT, "--rounds", rounds, "--out", out, "--json").code == 0
    answer = plugin("resume", "part", "--rounds", "4", "--plugin", "my_net.py")
    assert answer.code == 0, answer
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "part"))
    assert one == other
    assert plugin("export", "whole", "--plugin", "my_net.py", "--out", "mine.safetensors").code == 0
    module = model_registry["mine"](3, input_shape=(8, 8, 1), outputs=10)
    module.load_state_dict(load_file("mine.safetensors"))
    x = np.random.default_rng(0).normal(size=(5, 8, 8, 1)).astype(np.float32)
    np.savez("rows.npz", x=x)
    answer = plugin("predict", "whole", "rows.npz", "--plugin", "my_net.py", "--json")
    assert answer.code == 0, answer
    with torch.no_grad():
        theirs = module.eval()(torch.from_numpy(x).reshape(5, 1, 8, 8)).argmax(1)
    columns = answer.json["predictions"]
    assert [int(label) for label in columns["prediction"]] == theirs.tolist()
    answer = plugin("export", "whole", "--plugin", "my_net.py", "--format", "onnx", "--out", "mine.onnx")
    assert answer.code == 0, answer
    session = onnxruntime.InferenceSession("mine.onnx")
    (outputs,) = session.run(None, {"x": x})  # rows as they are in a federation
    assert outputs.argmax(1).tolist() == theirs.tolist()


def test_models_are_compared_and_a_seed_is_a_start(plugin):
    words = ("--algorithms", "fedavg,scaffold", "--seeds", "2", "--rounds", "1", "--jobs", "1")
    answer = plugin("compare", *RUN[1:], *SHORT[:-2], *words, "--out", "compared", "--json")
    assert answer.code == 0, answer


def test_a_client_is_forgotten_and_rates_are_tuned(plugin):
    plain = ("--plugin", "my_net.py", "--model", "plain", "--clients", "4", *SHORT[:-2])
    assert plugin("run", *plain, "--unlearning", "full", "--rounds", "2", "--out", "run", "--json").code == 0
    answer = plugin("forget", "run", "--client", "1", "--plugin", "my_net.py", "--json")
    assert answer.code == 0, answer
    words = (
        "--algorithms",
        "fedavg",
        "--budget",
        "2",
        "--search",
        "random",
        "--rounds",
        "1",
        "--out",
        "tuned",
    )
    answer = plugin("tune", *plain, *words, "--json")
    assert answer.code == 0, answer


def test_a_file_of_settings_loads_no_code(plugin, tmp_path):
    (tmp_path / "run.toml").write_text('model = "mine"\nrounds = 1\n')
    answer = plugin("run", "run.toml")
    assert (answer.code, "unknown model 'mine'" in answer.sentence) == (2, True)
