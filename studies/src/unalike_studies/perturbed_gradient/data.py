"""Federations and curves of the study of perturbed gradients: when has a training converged?

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino). Labels are unlike by a
Dirichlet law of concentration 1 / ci and sizes by a log-normal law of variance di; (0, 0) is balanced. The
thesis has a hundred clients with FEMNIST's digits; here they are fifty with 12,000 images of MNIST where
UNALIKE_DATA has it and there is time, else twenty with scikit-learn's digits. All methods weigh clients by

    p_i = sum_j A_ij / sum_ij A_ij,        the similarity of their raw pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from unalike.algorithms import (
    Algorithm,
    FedAvg,
    FedProx,
    LocalWork,
    Optimizer,
    PerturbedGradient,
    SimilarityWeights,
    similarity_weights,
)
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.federation import Split
from unalike.data.sources.files import local
from unalike.models import Model, Task, linear, mlp
from unalike.training.run import Run
from unalike.training.train import train
from unalike.typing import Array, Float64s, Int64s, Params

from ..fixtures import load_rows

CLASSES, L2 = 10, 1e-4
PARTS = ("train", "test")
Contender = tuple[type[FedAvg], dict[str, float]]
CONTENDERS: dict[str, Contender] = {
    "beta 0.5": (PerturbedGradient, {"beta": 0.5}),
    "beta 0.7": (PerturbedGradient, {"beta": 0.7}),
    "beta 0.9": (PerturbedGradient, {"beta": 0.9}),
    "FedAvg": (FedAvg, {}),
    "FedProx": (FedProx, {"mu": 1.0}),
}
"""Methods in the order in which they are said to arrive."""


class Images(NamedTuple):
    """Pixels in 0..1 by row, and how they are learned."""

    name: str
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    clients: int
    epochs: int
    batch_size: int
    rate: float
    """The step of softmax regression."""
    target: float
    """The accuracy to be reached."""


def images(quick: bool, seed: int = 0) -> Images:
    """MNIST where it is there and there is time, else the embedded digits."""
    path = None if quick else local("mnist.npz")
    if path is None:
        return digits(seed)
    with np.load(path) as stored:
        train, test = ((stored[f"x_{part}"], stored[f"y_{part}"]) for part in PARTS)
    some = generator(seed, "perturbed gradient images").permutation(len(train[1]))[:12_000]
    learned, judged = (train[0][some], train[1][some]), (test[0][:10_000], test[1][:10_000])
    return Images("MNIST", _rows(*learned, 255), _rows(*judged, 255), 50, 10, 256, 1e-3, 0.75)


def color_images() -> Images | None:
    """CIFAR-10 with a hundred clients, as published; they have fewer rows where the file has. None without a
    file."""
    path = local("cifar10.npz")
    if path is None:
        return None
    with np.load(path) as stored:
        learned, judged = (_rows(stored[f"x_{part}"], stored[f"y_{part}"].ravel(), 255) for part in PARTS)
    return Images("CIFAR-10", learned, judged, 100, 10, 256, 1e-3, 0.30)


def digits(seed: int) -> Images:
    """8x8 digits, 1,437 to learn from and 360 to be judged by."""
    source = load_rows("digits")
    x, y = _rows(np.asarray(source.x), np.asarray(source.y), np.asarray(source.x).max())
    order = generator(seed, "perturbed gradient digits").permutation(len(y))
    learned, judged = order[:1437], order[1437:]
    return Images("digits", (x[learned], y[learned]), (x[judged], y[judged]), 20, 5, 32, 1e-2, 0.80)


def deal(labels: Int64s, clients: int, skew: float, spread: float, rng: np.random.Generator) -> list[Int64s]:
    """Rows of each client: labels unlike by `skew` (ci), sizes by `spread` (di); who has none is left out."""
    wanted = _wanted_counts(labels, clients, skew, spread, rng)
    piles = [list(rng.permutation(np.flatnonzero(labels == k))) for k in range(CLASSES)]
    held: list[list[int]] = [[] for _ in range(clients)]
    got = np.zeros_like(wanted)
    for i in range(clients):
        for k, pile in enumerate(piles):
            got[i, k] = min(wanted[i, k], len(pile))
            held[i] += [pile.pop() for _ in range(got[i, k])]
    for k, pile in enumerate(piles):
        for row in pile:
            missing = np.maximum(wanted.sum(axis=1) - got.sum(axis=1), 0)
            chance = 1.0 + np.maximum(wanted[:, k] - got[:, k], 0) + 0.25 * missing
            i = int(rng.choice(clients, p=chance / chance.sum()))
            held[i].append(row)
            got[i, k] += 1
    return [np.array(rows, np.int64) for rows in held if rows]


@dataclass(frozen=True, eq=False)
class Problem:
    """Clients, a model, and how it is trained."""

    data: Images
    skew: float
    spread: float
    seed: int = 0
    hidden: int = 0
    """ReLU units between pixels and classes; 0 is softmax regression."""
    rate: float | None = None
    epochs: int | None = None
    clip: float | None = None

    @cached_property
    def raw(self) -> Federation:
        """Pixels in 0..1; all test rows are the first client's, so that accuracy is over all of them."""
        rng = generator(self.seed, "perturbed gradient clients")
        x, y = self.data.train
        rows = deal(y, self.data.clients, self.skew, self.spread, rng)
        ends = np.cumsum([len(r) for r in rows])
        order, offsets = np.concatenate(rows), np.concatenate([[0], ends]).astype(np.int64)
        judged = np.concatenate([[0], np.full(len(rows), len(self.data.test[1]))]).astype(np.int64)
        nothing = Split(x[:0], y[:0], np.zeros(len(rows) + 1, np.int64))
        return Federation(
            Split(x[order], y[order], offsets), nothing, Split(*self.data.test, judged), CLASSES
        )

    @cached_property
    def similarity(self) -> SimilarityWeights:
        """Of raw pixels."""
        return similarity_weights(self.raw)

    @cached_property
    def federation(self) -> Federation:
        """Pixels between -1 and 1, and clients that count by their similarity to others."""
        learned, judged = (replace(part, x=2 * part.x - 1) for part in (self.raw.train, self.raw.test))
        scaled = replace(self.raw, train=learned, test=judged)
        return scaled.with_importance(self.similarity.importance)

    @property
    def task(self) -> Task:
        """Softmax regression, or one layer of ReLU units."""
        return _task(self.data.train[0].shape[1], self.hidden)

    def method(self, kind: type[FedAvg], **settings: Any) -> FedAvg:
        """A method with this problem's local work and step."""
        work = LocalWork(epochs=self.epochs or self.data.epochs, batch_size=self.data.batch_size)
        optimizer = Optimizer("sgd", self.rate or self.data.rate, clip=self.clip)
        if issubclass(kind, PerturbedGradient):
            settings = {"similarity": self.similarity, **settings}
        return kind(work=work, optimizer=optimizer, **settings)

    def learn(self, method: Algorithm, rounds: int, **options: Any) -> Run:
        """Train, and judge every model on the way."""
        every = {"rounds": rounds, "seed": self.seed, "evaluate_every": 1, **options}
        return train(self.federation, self.task, method, **every)

    def curve(self, kind: type[FedAvg], rounds: int, **settings: Any) -> Float64s:
        """Test accuracy after each round."""
        return self.learn(self.method(kind, **settings), rounds).metrics()["test_accuracy"][1:]


def rounds_to(curve: Float64s, target: float, stays: int = 1) -> int | None:
    """The first round, counted from 0, from which `stays` accuracies in a row are at least the target.

    >>> curve = np.array([0.1, 0.8, 0.7, 0.8, 0.9])
    >>> rounds_to(curve, 0.8), rounds_to(curve, 0.8, 2), rounds_to(curve, 0.95)
    (1, 3, None)
    """
    there = np.convolve(curve >= target, np.ones(stays), "valid") >= stays
    return int(np.argmax(there)) if there.any() else None


def zigzag(curve: Float64s, first: int = 9) -> tuple[float, float]:
    """The part of changes that turn around from one round to the next, and their mean size, from a round on.

    >>> zigzag(np.array([0.0, 1.0, 0.0, 1.0]), 0)
    (1.0, 1.0)
    """
    change = np.diff(curve[first:])
    turns = np.sign(change[1:]) * np.sign(change[:-1]) < 0
    return float(turns.mean()), float(np.abs(change).mean())


def _wanted_counts(
    labels: Int64s, clients: int, skew: float, spread: float, rng: np.random.Generator
) -> Int64s:
    """How many rows of each class each client would have if there were enough."""
    average = sum(int((labels == k).sum()) // clients for k in range(CLASSES))
    sizes = np.full(clients, average)
    if spread:
        drawn = rng.lognormal(np.log(average), np.sqrt(spread), clients)
        sizes = np.floor(drawn / drawn.sum() * average * clients).astype(np.int64)
    mix = np.full((clients, CLASSES), 1 / CLASSES)
    if skew:
        mix = np.stack([rng.dirichlet(np.full(clients, 1 / skew)) for _ in range(CLASSES)], axis=1)
        empty = mix.sum(axis=1) < 1e-300
        mix[empty] = np.eye(CLASSES)[rng.integers(0, CLASSES, int(empty.sum()))]
        mix = mix / mix.sum(axis=1, keepdims=True)
    return np.floor(sizes[:, None] * mix).astype(np.int64)


@cache
def _task(pixels: int, hidden: int) -> Task:
    """One object for all runs, so that programs are compiled once."""
    shape = {"input_shape": (pixels,), "outputs": CLASSES}
    model = mlp(hidden, **shape) if hidden else linear(**shape)  # type: ignore[arg-type]
    return Task.classification(_uniform_start(model), CLASSES, l2=L2)


def _uniform_start(model: Model) -> Model:
    """The model with all parameters uniform within one over the root of the number of a layer's inputs."""

    def init(key: jax.Array) -> Params:
        layers = model.init(key)
        single = isinstance(layers, dict)
        keys = jax.random.split(key, 2 * (1 if single else len(layers)))
        drawn = [
            _draw_layer(layer, keys[2 * n], keys[2 * n + 1])
            for n, layer in enumerate([layers] if single else layers)
        ]
        return drawn[0] if single else drawn

    return replace(model, init=init)


def _draw_layer(layer: Params, first: jax.Array, second: jax.Array) -> Params:
    reach = layer["w"].shape[1] ** -0.5
    return {
        name: jax.random.uniform(key, layer[name].shape, minval=-reach, maxval=reach)
        for name, key in (("w", first), ("b", second))
    }


def _rows(x: Array, y: Array, largest: float) -> tuple[Array, Array]:
    """Flat pixels in 0..1."""
    return (x.reshape(len(x), -1) / largest).astype(np.float32), y.astype(np.int32)
