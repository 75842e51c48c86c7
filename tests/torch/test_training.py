"""Does a federated run of a PyTorch module end where a loop in PyTorch ends, with every method and engine?"""

import copy
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import unalike  # noqa: E402
from unalike import ConfigError, FedAvg, Federation, LocalWork, Optimizer, Task  # noqa: E402
from unalike.algorithms import algorithm_registry  # noqa: E402
from unalike.core.pytrees import largest_difference  # noqa: E402
from unalike.models import from_torch, load_torch_weights, model_registry, to_torch  # noqa: E402

from .networks import IMAGE, WINDOW, Convolutional, Encoder, Sequence, as_read, rows_for  # noqa: E402

SIZES = (5, 9, 7)
SGD = Optimizer("sgd", 0.1)


def clients(shape=IMAGE):
    rows = {str(i): rows_for(shape, size, i) for i, size in enumerate(SIZES)}
    parts = {name: {"train": pair, "test": pair} for name, pair in rows.items()}
    return Federation.from_clients(parts, classes=10)


def test_federated_averaging_is_that_of_a_loop_in_pytorch():
    torch.manual_seed(0)
    federation, module, rounds = clients(), Convolutional(nn.BatchNorm2d), 3
    method = FedAvg(work=LocalWork(epochs=2, batch_size=0), optimizer=Optimizer("sgd", 0.05, momentum=0.9))
    task = Task.of(federation, module, state="average")
    run = unalike.train(federation, task, method, rounds=rounds, evaluate_every=0)

    whole = copy.deepcopy(module)
    for _ in range(rounds):
        replies = []
        for i in range(len(SIZES)):
            mine, (x, y) = copy.deepcopy(whole).train(), federation.train.client(i)
            optimizer = torch.optim.SGD(mine.parameters(), 0.05, momentum=0.9)
            for _ in range(2):
                optimizer.zero_grad()
                functional.cross_entropy(mine(as_read(x)), torch.from_numpy(y).long()).backward()
                optimizer.step()
            replies.append(mine.state_dict())
        shares = np.array(SIZES) / sum(SIZES)
        mean = {k: sum(s * r[k] for s, r in zip(shares, replies, strict=True)) for k in replies[0]}
        whole.load_state_dict(mean)
    ours = to_torch(run).state_dict()
    for name, theirs in whole.state_dict().items():
        np.testing.assert_allclose(ours[name].numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)
    assert ours["norm1.num_batches_tracked"].item() == 2 * rounds


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.norm, self.head = nn.Linear(6, 5), nn.LayerNorm(5), nn.Linear(5, 10)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.hidden(x))))


def same_in_jax(module):
    """The same network as a pair of functions."""
    start = {name: jnp.asarray(value.detach().numpy()) for name, value in module.named_parameters()}

    def apply(p, x):
        h = x @ p["hidden.weight"].T + p["hidden.bias"]
        h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
        h = jax.nn.relu(h * p["norm.weight"] + p["norm.bias"])
        return h @ p["head.weight"].T + p["head.bias"]

    return lambda key: start, apply


METHODS = {
    "scaffold": {},
    "fedprox": {"mu": 0.3},
    "ditto": {},
    "fedem": {"components": 2},
    "fedbn": {"private": "norm"},
    "fedper": {"private": "head"},
    "dp-sgd": {"noise": 0.5},
    "per-fedavg": {},
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_does_the_same_to_it_as_to_functions_of_jax(name):
    federation, module = clients((6,)), Perceptron()
    work = LocalWork(steps=3, batch_size=4)
    method = algorithm_registry.make(name, work=work, optimizer=SGD, **METHODS[name])
    runs = [
        unalike.train(federation, Task.of(federation, model), method, rounds=2, seed=1, evaluate_every=0)
        for model in (module, same_in_jax(module))
    ]
    if name == "fedper":  # the path of the head is found by dots, which names of functions have, too
        assert set(runs[0].message) == set(runs[1].message)
    assert largest_difference(runs[0].state, runs[1].state) < 1e-5
    losses = [run.evaluate()["loss"] for run in runs]
    np.testing.assert_allclose(*losses, rtol=1e-4)


def test_the_head_and_the_normalization_are_found_without_being_named():
    federation = clients()
    for name, own in (("fedper", "head"), ("fedrep", "head"), ("fedbn", "norm")):
        task = Task.of(federation, Convolutional(lambda channels: nn.GroupNorm(2, channels)))
        method = algorithm_registry.make(name, work=LocalWork(steps=1, batch_size=4), optimizer=SGD)
        run = unalike.train(federation, task, method, rounds=1, evaluate_every=0)
        kept = {path for path in run.message if run.message[path] is None}
        assert kept
        assert all(path.startswith(own) for path in kept)


def test_local_statistics_stay_with_the_client():
    federation = clients()
    task = Task.of(federation, Convolutional(nn.BatchNorm2d), state="local")
    run = unalike.train(federation, task, FedAvg(work=LocalWork(epochs=1), optimizer=SGD), rounds=2)
    mine, theirs = (to_torch(run, client=name).state_dict()["norm1.running_mean"] for name in ("0", "1"))
    assert not torch.equal(mine, theirs)


def test_weights_go_to_pytorch_and_back(tmp_path):
    from safetensors.torch import load_file

    federation, module = clients(), Convolutional(nn.BatchNorm2d)
    task = Task.of(federation, module, state="average")
    run = unalike.train(federation, task, FedAvg(optimizer=SGD), rounds=2)
    x = rows_for(IMAGE, 8, 5)[0]
    ours = run.predictor().outputs(x)
    fresh = Convolutional(nn.BatchNorm2d)
    fresh.load_state_dict(load_file(run.export(tmp_path / "model.safetensors")))
    yours = Convolutional(nn.BatchNorm2d)
    assert to_torch(run, yours) is yours
    for made in (fresh.eval(), yours, to_torch(run)):
        with torch.no_grad():
            np.testing.assert_allclose(made(as_read(x)).numpy(), ours, atol=1e-5)
    for weights in (fresh, fresh.state_dict(), tmp_path / "model.safetensors"):
        again = load_torch_weights(task, weights)
        assert largest_difference(again.init(jax.random.key(0)), run.message) == 0
    assert (run.predict(torch.from_numpy(x).permute(0, 3, 1, 2)) == run.predict(x)).all()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: Convolutional(nn.BatchNorm2d), IMAGE),
        (lambda: Sequence(nn.LSTM), WINDOW),
        (lambda: Sequence(nn.GRU), WINDOW),
        (Encoder, IMAGE),
    ],
    ids=["images", "lstm", "gru", "transformer"],
)
def test_onnx_files_take_rows_of_a_federation_and_give_the_same(make, shape, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    federation = clients(shape)
    task = Task.of(federation, make(), state="average")
    run = unalike.train(federation, task, FedAvg(optimizer=SGD), rounds=1)
    session = onnxruntime.InferenceSession(run.export(tmp_path / "model.onnx"))
    for rows in (3, 8):  # any number of them
        x = rows_for(shape, rows, 5)[0]
        (outputs,) = session.run(None, {"x": x.astype(np.int64 if shape == WINDOW else np.float32)})
        np.testing.assert_allclose(outputs, run.predictor().outputs(x), atol=1e-5)


def test_what_pytorch_cannot_write_is_one_sentence_and_no_file(tmp_path, monkeypatch):
    federation = clients()
    run = unalike.train(federation, Task.of(federation, Convolutional()), FedAvg(optimizer=SGD), rounds=1)

    def fail(*given, **named):
        raise RuntimeError("no such operator\nand a long story")

    monkeypatch.setattr(torch.onnx, "export", fail)
    with pytest.raises(ConfigError, match=r"PyTorch cannot write this module as ONNX: no such operator$"):
        run.export(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_is_refused(tmp_path):
    federation = clients()
    run = unalike.train(federation, Task.of(federation, Convolutional()), FedAvg(optimizer=SGD), rounds=1)
    with pytest.raises(ConfigError, match=r"do not fit Perceptron: .*size mismatch|do not fit Perceptron"):
        to_torch(run, Perceptron())
    with pytest.raises(ConfigError, match=r"'conv1.bias' is missing; its state_dict has conv1.weight"):
        load_torch_weights(run.setting.task, {"head.weight": np.zeros((10, 32))})
    built_in = unalike.train(federation, Task.of(federation, "linear"), FedAvg(optimizer=SGD), rounds=1)
    with pytest.raises(ConfigError, match="was not made of a PyTorch module; give one to load into"):
        to_torch(built_in)
    made = to_torch(built_in, nn.Sequential(nn.Flatten(), nn.Linear(64, 10))[1])
    assert made.weight.shape == (10, 64)


def test_a_resumed_run_is_the_same(tmp_path):
    federation, method = clients(), FedAvg(work=LocalWork(steps=2, batch_size=4), optimizer=SGD)
    make = lambda: Task.of(federation, Net, state="average")  # noqa: E731
    options = {"checkpoint_every": 1, "seed": 2}
    whole = unalike.train(federation, make(), method, rounds=4, out=tmp_path / "whole", **options)
    unalike.train(federation, make(), method, rounds=2, out=tmp_path / "part", **options)
    part = unalike.train(federation, make(), method, rounds=4, out=tmp_path / "part", resume=True, **options)
    assert largest_difference(whole.state, part.state) == 0


class Net(Convolutional):
    """Built anew for every seed."""

    def __init__(self):
        super().__init__(nn.BatchNorm2d, 0.2)


def test_another_module_or_another_start_is_not_resumed(tmp_path):
    federation, method = clients(), FedAvg(work=LocalWork(steps=1), optimizer=SGD)
    module = Perceptron()
    federation = clients((6,))
    unalike.train(federation, Task.of(federation, module), method, rounds=1, out=tmp_path / "run")
    other = copy.deepcopy(module)
    other.forward = lambda x: module.head(torch.tanh(module.norm(module.hidden(x))))
    for changed in (Perceptron(), other):
        task = Task.of(federation, changed)
        with pytest.raises(unalike.RunError, match="cannot be resumed"):
            unalike.train(federation, task, method, rounds=2, out=tmp_path / "run", resume=True)


@pytest.fixture
def cluster():
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()


def test_workers_of_ray_compute_the_same(cluster):
    federation, method = clients(), algorithm_registry.make("fedper", work=LocalWork(steps=2), optimizer=SGD)
    task = Task.of(federation, Net, state="average")
    here, there = (
        unalike.train(federation, task, method, rounds=2, seed=3, evaluate_every=0, engine=engine)
        for engine in ("local", "ray:2")
    )
    assert largest_difference(here.state, there.state) < 1e-5
    assert largest_difference(here.memories.tensors(), there.memories.tensors()) < 1e-5


@pytest.fixture
def mine(monkeypatch):
    """A module under a name."""
    monkeypatch.setattr(model_registry, "_makers", dict(model_registry._makers))

    @model_registry.add("mine")
    def make(*, input_shape, outputs):
        """A network of mine."""
        return Net()

    return "mine"


def test_nodes_build_the_module_from_their_own_installation(mine, tmp_path):
    from ..deploy.in_process_nodes import Village
    from ..deploy.test_server import served, simulated

    federation = clients()
    values = {"algorithm": "scaffold", "model": mine, "state": "average", "rounds": 2}
    village = Village(federation, tmp_path / "nodes")
    here, there = simulated(federation, **values), served(village, tmp_path / "run", **values)
    assert largest_difference(here.state, there.state) < 1e-6
    sent = b"".join(bytes(str(request), "utf8") for _, request in village.requests)
    assert b"aten" not in sent
    assert b"convolution" not in sent


def test_two_nodes_behind_a_real_link_train_the_module(mine, tmp_path):
    pytest.importorskip("flwr")
    from unalike.deploy.local_deployment import local_deployment, train_deployed

    from ..deploy.in_process_nodes import experiment
    from ..deploy.test_server import simulated

    federation = clients().subset([0, 1])
    values = {"algorithm": "fedavg", "model": mine, "state": "average", "rounds": 2}
    with local_deployment(federation, tmp_path) as link:
        there = train_deployed(link, experiment(**values), tmp_path / "run", 2)
    assert largest_difference(simulated(federation, **values).state, there.state) < 1e-6


def test_names_begin_elsewhere_with_every_seed(mine):
    federation = clients()
    starts = [Task.of(federation, mine, state="local").init(jax.random.key(seed)) for seed in (0, 1, 0)]
    weights = [np.asarray(start.weights["head.weight"]) for start in starts]
    assert np.array_equal(weights[0], weights[2])
    assert not np.array_equal(weights[0], weights[1])


def test_rows_come_from_data_sets_of_pytorch():
    x, y = rows_for(IMAGE, 12)
    images = torch.from_numpy(x).permute(0, 3, 1, 2)
    dataset = torch.utils.data.TensorDataset(images, torch.from_numpy(y))
    parts = torch.utils.data.random_split(dataset, [5, 7], torch.Generator().manual_seed(0))
    federation = Federation.from_clients({"a": parts[0], "b": parts[1], "c": (images, torch.from_numpy(y))})
    assert federation.input_shape == IMAGE
    run = unalike.train(federation, Task.of(federation, Convolutional()), FedAvg(optimizer=SGD), rounds=1)
    assert np.isfinite(run.final()["test_loss"])
    model = from_torch(Convolutional(), images[:2])
    assert model.apply(model.init(jax.random.key(0)), x).shape == (12, 10)
