"""What is compared: the list of problems, their models and their hyper-parameters (standard library only).

A model is a list of layers, each a plain dictionary, that every adapter can build in its own framework:

    {"kind": "dense", "in": 784, "out": 10, "relu": False}
    {"kind": "conv", "size": 5, "in": 1, "out": 32, "padding": "same"}    followed by a ReLU
    {"kind": "pool"}                                                      2x2 maximum, stride 2
    {"kind": "flatten", "shape": [7, 7, 64]}                              in (height, width, channel) order
    {"kind": "embed", "symbols": 90, "width": 8}
    {"kind": "lstm", "in": 8, "units": 100}
    {"kind": "last"}                                                      keep the sequence's last step
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

Layer = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """One federated training task, the same for every peer."""

    name: str
    source: str
    shape: tuple[int, ...]
    layers: tuple[Layer, ...]
    classes: int
    batch: int
    lr: float
    clients: int = 100
    cohort: int = 10
    steps: int = 10
    rounds: int = 30
    warmup: int = 3
    quick_rounds: int = 5
    test_rows: int = 2000
    seed: int = 7

    @property
    def rows_per_client(self) -> int:
        """Exactly one pass of local steps, so that no data loader ends early and one epoch is one round."""
        return self.steps * self.batch

    def hyper(self) -> dict[str, Any]:
        """The specification as it is stored, in JSON, in the problem's file."""
        return asdict(self) | {"shape": list(self.shape), "layers": list(self.layers)}


def dense(inputs: int, outputs: int, relu: bool = True) -> Layer:
    """A fully connected layer, with a ReLU unless it is the last."""
    return {"kind": "dense", "in": inputs, "out": outputs, "relu": relu}


def conv(size: int, inputs: int, outputs: int, padding: str) -> Layer:
    """A square convolution of stride 1 followed by a ReLU."""
    return {"kind": "conv", "size": size, "in": inputs, "out": outputs, "padding": padding}


def flatten(*shape: int) -> Layer:
    """The step from images to rows; the shape says in which order the next layer's rows come."""
    return {"kind": "flatten", "shape": list(shape)}


POOL: Layer = {"kind": "pool"}

MNIST_CNN = (
    conv(5, 1, 32, "same"),
    POOL,
    conv(5, 32, 64, "same"),
    POOL,
    flatten(7, 7, 64),
    dense(7 * 7 * 64, 512),
    dense(512, 10, relu=False),
)
CIFAR_CNN = (
    conv(3, 3, 32, "valid"),
    POOL,
    conv(3, 32, 64, "valid"),
    POOL,
    conv(3, 64, 64, "valid"),
    flatten(4, 4, 64),
    dense(1024, 64),
    dense(64, 10, relu=False),
)
CHAR_LSTM = (
    {"kind": "embed", "symbols": 90, "width": 8},
    {"kind": "lstm", "in": 8, "units": 100},
    {"kind": "lstm", "in": 100, "units": 100},
    {"kind": "last"},
    dense(100, 90, relu=False),
)
MLP = (dense(784, 200), dense(200, 200), dense(200, 10, relu=False))


def logistic(inputs: int) -> tuple[Layer, ...]:
    """Ten-class logistic regression."""
    return (dense(inputs, 10, relu=False),)


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("digits-logistic", "digits", (64,), logistic(64), 10, batch=20, lr=0.05),
        Problem("mnist-logistic", "mnist", (784,), logistic(784), 10, batch=32, lr=0.05),
        Problem("mnist-mlp", "mnist", (784,), MLP, 10, batch=32, lr=0.05),
        Problem(
            "mnist-cnn", "mnist", (28, 28, 1), MNIST_CNN, 10, 32, 0.02, rounds=4, warmup=1, quick_rounds=1
        ),
        Problem(
            "cifar-cnn", "cifar10", (32, 32, 3), CIFAR_CNN, 10, 20, 0.03, rounds=8, warmup=1, quick_rounds=2
        ),
        Problem("char-lstm", "text", (80,), CHAR_LSTM, 90, 32, 0.5, rounds=3, warmup=1, quick_rounds=1),
        Problem(
            "lr-mnist-flute", "mnist", (784,), logistic(784), 10, 10, 0.03, clients=1000, steps=6, rounds=100
        ),
    )
}

FLUTE_REMARK = (
    "FLUTE's own README reports 100 rounds of this row on CPU as 3 min 20 s for FLUTE and 30 min 14 s for "
    "Flower 1.0.0, on its machine: a published figure for orientation, not a measurement of this run."
)


def select(words: list[str]) -> list[Problem]:
    """The problems whose name contains one of the words; all of them for no words."""
    return [p for p in PROBLEMS.values() if not words or any(word in p.name for word in words)]
