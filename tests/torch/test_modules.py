"""Does a PyTorch module predict, train and keep statistics here as it does in PyTorch?"""

import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from unalike import Task  # noqa: E402
from unalike.models import Batch, Stateful, from_torch  # noqa: E402
from unalike.models.module_state import weights_of  # noqa: E402

from .networks import IMAGE, NETWORKS, Convolutional, Encoder, Sequence, as_read, rows_for  # noqa: E402


def make_task(module, shape, state="average"):
    return Task.classification(from_torch(module, as_read(rows_for(shape, 2)[0]), state), 10)


def close(ours, theirs, atol=2e-5):
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_module_is_the_same_function_in_both_modes(name):
    torch.manual_seed(0)
    make, shape = NETWORKS[name]
    module = make()
    for buffer in module.buffers():  # so that statistics are not those of the start
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 1.5)
    task = make_task(module, shape)
    params = task.init(jax.random.key(0))
    x, y = rows_for(shape, 6, 1)
    module.eval()
    with torch.no_grad():
        close(jax.jit(task.apply)(params, x), module(as_read(x)))

    module.train()
    loss = functional.cross_entropy(module(as_read(x)), torch.from_numpy(y))
    loss.backward()
    batch = Batch.of(x, y, key=jax.random.key(1))
    if isinstance(params, Stateful):
        value, slope, after = jax.jit(task.learn)(params, batch)
        theirs = dict(module.named_buffers())
        assert {name for name in theirs if "num_batches" in name or "running" in name} == set(after)
        for name, number in after.items():
            close(number, theirs[name], 1e-6)
    else:
        value, slope = jax.jit(task.loss_and_gradient)(params, batch)
    close(value, loss.item())
    gradients = {name: parameter.grad for name, parameter in module.named_parameters()}
    assert set(slope) == set(gradients)
    for name, gradient in gradients.items():
        close(slope[name], gradient)


def test_padding_does_not_count_in_the_statistics():
    task = make_task(Convolutional(nn.BatchNorm2d), IMAGE)
    params = task.init(jax.random.key(0))
    x, y = rows_for(IMAGE, 6)
    few = Batch.of(x[:4], y[:4])
    padded = Batch.of(np.r_[x[:4], 100 + x[4:]], y, np.r_[np.ones(4), 0, 0])._replace(size=few.size)
    for ours, theirs in zip(
        jax.tree.leaves(jax.jit(task.learn)(params, few)),
        jax.tree.leaves(jax.jit(task.learn)(params, padded)),
        strict=True,
    ):
        close(ours, theirs)


@pytest.mark.parametrize("make", [lambda: Convolutional(rate=0.5), lambda: Encoder(0.3)])
def test_dropout_draws_in_training_alone_and_from_the_key(make):
    task = make_task(make(), IMAGE)
    params = task.init(jax.random.key(0))
    x, y = rows_for(IMAGE)
    keys = jax.random.split(jax.random.key(1), 2)
    losses = [float(task.loss(params, Batch.of(x, y, key=key))) for key in (None, *keys, keys[0])]
    assert losses[1] == losses[3]
    assert len(set(losses[:3])) == 3
    assert losses[0] == pytest.approx(float(task.losses(params, x, y).mean()), abs=1e-6)


def test_dropout_keeps_the_mean_and_every_site_draws_for_itself():
    class Sites(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = nn.Dropout(0.25), nn.Dropout(0.25), nn.Dropout2d(0.25)
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x):
            maps = self.third(x[:, :, None, None].expand(-1, -1, 3, 1))
            return torch.cat([self.first(x), self.second(x), maps.flatten(1)], 1) * self.scale

    model = from_torch(Sites(), torch.zeros(2, 500))
    ones = np.ones((40, 500), np.float32)
    given = model.apply_noisy(model.init(jax.random.key(0)), ones, jax.random.key(0))
    first, second, maps = np.split(np.asarray(given), [500, 1000], 1)
    for part in (first, second, maps):
        assert set(np.unique(part).round(4)) == {0.0, np.float32(4 / 3).round(4)}
        assert part.mean() == pytest.approx(1, abs=0.02)
    assert np.mean(first != second) == pytest.approx(2 * 0.25 * 0.75, abs=0.02)
    assert all(np.all(maps.reshape(40, 500, 3)[..., 0] == maps.reshape(40, 500, 3)[..., i]) for i in (1, 2))


def test_dropout_between_recurrent_layers():
    task = make_task(Sequence(dropout=0.5), (7,))
    params = task.init(jax.random.key(0))
    x, y = rows_for((7,))
    losses = {float(task.loss(params, Batch.of(x, y, key=key))) for key in (None, jax.random.key(0))}
    assert len(losses) == 2


def test_gradients_stop_where_they_stop_in_pytorch():
    class Stops(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.frozen, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 10)
            self.frozen.requires_grad_(False)

        def forward(self, x):
            with torch.no_grad():
                scale = self.first(x).abs().mean()
            h = self.first(x)
            return self.last(self.frozen(h) * scale + h.detach() * h)

    module = Stops()
    task = make_task(module, (4,))
    params = task.init(jax.random.key(0))
    x, y = rows_for((4,))
    functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y)).backward()
    _, slope = task.loss_and_gradient(params, Batch.of(x, y))
    assert set(slope) == {"first.weight", "first.bias", "last.weight", "last.bias"}
    for name, gradient in slope.items():
        close(gradient, dict(module.named_parameters())[name].grad)


def test_state_that_a_module_keeps_itself_moves_as_in_pytorch():
    """Spectral normalization, and a running mean that is moved without gradients."""

    class Moving(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
            self.head = nn.Linear(4, 10)
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            h = self.layer(x)
            if self.training:
                with torch.no_grad():
                    self.mean.mul_(0.9).add_(0.1 * h.mean(0))
            return self.head(h - self.mean)

    module = Moving()
    task = make_task(module, (4,))
    params = task.init(jax.random.key(0))
    x, y = rows_for((4,))
    functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y)).backward()
    _, slope, after = task.learn(params, Batch.of(x, y))
    for name, number in after.items():
        close(number, dict(module.named_buffers())[name], 1e-6)
    for name, parameter in module.named_parameters():
        close(slope[name], parameter.grad)


def test_tied_parameters_are_one():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(12, 4), nn.Linear(4, 12, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x):
            return self.head(self.embedding(x).mean(1))

    module = Tied()
    task = make_task(module, (7,))
    params = task.init(jax.random.key(0))
    assert set(params) == {"embedding.weight"}
    x, y = rows_for((7,))
    functional.cross_entropy(module(as_read(x)), torch.from_numpy(y)).backward()
    close(task.loss_and_gradient(params, Batch.of(x, y))[1]["embedding.weight"], module.head.weight.grad)
    assert set(task.model.tensors.state_dict(params)) == set(module.state_dict())


def test_state_of_recurrent_layers_and_of_rows():
    """What is read beside the outputs, starts that are not zero, and both directions."""

    class States(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, bidirectional=True)
            self.gru, self.rnn = nn.GRU(8, 4), nn.RNN(4, 4, nonlinearity="relu", bias=False)
            self.start = nn.Parameter(torch.randn(1, 1, 4))

        def forward(self, x):
            outputs, (h, c) = self.lstm(x.transpose(0, 1))
            outputs, last = self.gru(outputs, self.start.expand(-1, x.shape[0], -1).contiguous())
            return torch.cat([h[0], c[1], last[0], self.rnn(outputs)[1][0]], 1)

    torch.manual_seed(0)
    module = States()
    task = make_task(module, (5, 3))
    params = task.init(jax.random.key(0))
    x, y = rows_for((5, 3))
    functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y)).backward()
    with torch.no_grad():
        close(task.apply(params, x), module(torch.from_numpy(x)))
    slope = task.loss_and_gradient(params, Batch.of(x, y))[1]
    for name, parameter in module.named_parameters():
        close(slope[name], parameter.grad)


def test_recurrent_layers_stay_loops():
    task = make_task(Sequence(), (7,))
    text = str(jax.make_jaxpr(task.apply)(task.init(jax.random.key(0)), rows_for((7,))[0]))
    assert text.count("scan[") == 2


def test_a_module_is_a_start_and_a_function_makes_one_for_each_seed():
    example = torch.zeros(2, 1, 8, 8)
    one, each = from_torch(Convolutional(), example), from_torch(Convolutional, example)
    first, second, again = ([m.init(jax.random.key(s)) for m in (one, each)] for s in (0, 1, 0))
    assert np.array_equal(first[0]["head.weight"], second[0]["head.weight"])
    assert not np.array_equal(first[1]["head.weight"], second[1]["head.weight"])
    assert np.array_equal(first[1]["head.weight"], again[1]["head.weight"])
    traced = jax.jit(each.init)(jax.random.key(1))
    assert np.array_equal(traced["head.weight"], second[1]["head.weight"])


def test_building_a_module_leaves_pytorch_s_own_draws_alone():
    torch.manual_seed(3)
    before = torch.rand(1)
    torch.manual_seed(3)
    from_torch(Convolutional, torch.zeros(2, 1, 8, 8)).init(jax.random.key(5))
    assert torch.rand(1) == before


def test_the_module_is_left_as_it_was():
    module = Convolutional(nn.BatchNorm2d)
    module.eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    from_torch(module, torch.zeros(2, 1, 8, 8), "local")
    assert not module.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_rows_are_turned_once_to_what_the_module_reads():
    module = Convolutional()
    model, params = from_torch(module, torch.zeros(2, 1, 8, 8)), None
    params = model.init(jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(3, 1, 8, 8)).astype(np.float32)
    expected = model.apply(params, x)
    close(model.apply(params, x.transpose(0, 2, 3, 1)), expected)
    close(model.apply(params, x[:, 0]), expected)


def test_the_last_layer_and_what_it_reads_are_known():
    task = make_task(Convolutional(nn.BatchNorm2d), IMAGE)
    params = task.init(jax.random.key(0))
    x = rows_for(IMAGE)[0]
    weights = weights_of(params)
    features = task.model.features(params, x)
    assert (task.model.head, features.shape) == ("weights/head", (6, 32))
    close(features @ weights["head.weight"].T + weights["head.bias"], task.apply(params, x))
