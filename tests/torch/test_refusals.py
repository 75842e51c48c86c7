"""Is what cannot be trained here refused before training, by name and with the line of the user's code?"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from unalike import ConfigError, Federation, Task  # noqa: E402
from unalike.models import from_torch  # noqa: E402

RNG = np.random.default_rng(0)
CLIENTS = Federation.from_clients({"a": (RNG.normal(size=(8, 6)).astype("float32"), RNG.integers(0, 3, 8))})


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)


class UnknownOperator(Base):
    def forward(self, x):
        return self.layer(torch.linalg.solve_triangular(torch.eye(6), x.T, upper=True).T)


class DecidesByValues(Base):
    def forward(self, x):
        if x.sum() > 0:
            return self.layer(x)
        return self.layer(-x)


class ReadsValues(Base):
    def forward(self, x):
        return self.layer(x) * x.mean().item()


class OneSize(Base):
    def forward(self, x):
        return self.layer(x).view(5, 3)


class Counts(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen += 1
        return self.layer(x)


class Attribute(Base):
    def __init__(self):
        super().__init__()
        self.last = torch.zeros(1)

    def forward(self, x):
        self.last = x.mean()
        return self.layer(x)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class CustomGradient(Base):
    def forward(self, x):
        return self.layer(Straight.apply(x))


class AlwaysDrops(Base):
    def forward(self, x):
        return functional.dropout(self.layer(x), 0.5)


class TwoResults(Base):
    def forward(self, x):
        return self.layer(x), x


class NoRows(Base):
    def forward(self, x):
        return self.layer(x).mean(0)


class NoStatistics(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6, track_running_stats=False)

    def forward(self, x):
        return self.layer(self.norm(x))


class Projected(Base):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, proj_size=6)

    def forward(self, x):
        return self.layer(self.lstm(x[None])[0][0])


class TwoInputs(Base):
    def forward(self, x, mask):
        return self.layer(x * mask)


class WritesInput(Base):
    def forward(self, x):
        x.mul_(2)
        return self.layer(x)


class Frozen(Base):
    def __init__(self):
        super().__init__()
        self.layer.requires_grad_(False)

    def forward(self, x):
        return self.layer(x)


class Needs(Base):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return self.layer(x)


REFUSED = [
    (
        UnknownOperator,
        r"uses aten\.\S*triangular\S* \(test_refusals.py, line \d+: `return self.layer\(torch.linalg",
    ),
    (DecidesByValues, r"decides by values of its inputs \(test_refusals.py, line \d+: `if x.sum\(\) > 0:`\)"),
    (ReadsValues, r"ReadsValues reads a value of its inputs as a Python number \(test_refusals.py, line \d+"),
    (OneSize, "OneSize works for mini-batches of one size only|does not give a row for each"),
    (Counts, "changes its buffer 'seen' also when it predicts; change it only where self.training"),
    (Attribute, "changes self.last in its forward pass, which is no buffer"),
    (CustomGradient, "uses Straight, a torch.autograd.Function with a backward pass of its own"),
    (
        AlwaysDrops,
        r"draws at random when it predicts \(test_refusals.py, line \d+: `return functional.dropout",
    ),
    (TwoResults, "TwoResults gives 2 results; its forward pass must return one tensor"),
    (NoRows, "does not give a row for each row of a mini-batch"),
    (NoStatistics, "track_running_stats=False, so that what it predicts for a row depends on the other rows"),
    (Projected, "proj_size, which is not supported"),
    (TwoInputs, "TwoInputs does not take rows of shape .*missing 1 required positional argument: 'mask'"),
    (WritesInput, "WritesInput writes into its inputs"),
    (Frozen, "Frozen has no parameters that are trained"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_module_is_refused_with_what_to_do(make, words):
    with pytest.raises(ConfigError, match=words):
        Task.of(CLIENTS, make(), state="average")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: Task.of(CLIENTS, Needs),
            r"Needs cannot be built without arguments \(.*width.*from_torch\(lambda",
        ),
        (lambda: Task.of(CLIENTS, Base().double()), "layer.weight is of torch.float64; call module.float"),
        (lambda: Task.of(CLIENTS, nn.Linear(7, 3)), r"Linear does not take rows of shape \(6,\)"),
        (lambda: Task.of(CLIENTS, nn.BatchNorm1d(6)), r"keeps state \(num_batches_tracked, running_mean"),
        (
            lambda: Task.classification(nn.Linear(6, 3), 3),
            "PyTorch module, which needs to know what it reads",
        ),
        (lambda: from_torch(nn.Linear(6, 3), 1.0), "the example must be a mini-batch"),
        (lambda: from_torch(lambda: 3, torch.zeros(2, 6)), "a function that builds a int, not a module"),
        (lambda: from_torch(3, torch.zeros(2, 6)), "from_torch takes a torch.nn.Module or a function"),
    ],
)
def test_what_is_no_module_for_these_rows_is_refused(ask, words):
    with pytest.raises(ConfigError, match=words):
        ask()


def test_a_refused_module_leaves_pytorch_as_it_was():
    with pytest.raises(ConfigError):
        Task.of(CLIENTS, CustomGradient())
    assert torch.equal(Straight.apply(torch.tensor([2.0])), torch.ones(1))


def test_a_model_of_another_size_is_refused():
    model = from_torch(nn.Linear(6, 3), torch.zeros(2, 6))
    with pytest.raises(ConfigError, match=r"rows have the shape \(5,\), but the module reads \(6,\)"):
        model.apply(model.init(None), np.zeros((2, 5), np.float32))
