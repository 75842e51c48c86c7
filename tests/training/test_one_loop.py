"""Does one training loop serve every kind of method?

One toy algorithm for each word of the sentence that holds the system together: old versions (asynchronous
training), several models and client memory (mixtures), a mixing matrix (decentralised training), per-sample
weights and changing rows (streams), a history that can be rewound (unlearning), closed forms (regression).
"""

from dataclasses import dataclass, field
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import ClientData, FedAvg, LocalWork, Optimizer, Reply, Step, local_sgd
from unalike.core import pytrees
from unalike.data.sources.quadratic import quadratic_truth, weighted_optimum
from unalike.models import linear
from unalike.testing import check_algorithm


def scalar_quadratics(*optima: float) -> tuple[unalike.Federation, unalike.Task]:
    """Client i has the loss (theta - optimum_i)^2 / 2."""
    data = {str(i): {"train": (np.ones((1, 1)), np.array([c]))} for i, c in enumerate(optima)}
    federation = unalike.Federation.from_clients(data, classes=None)
    return federation, unalike.Task.regression(linear(0, input_shape=(1,), outputs=1))


# ---------------------------------------------------------------- version: results computed from old models


class Alternating(unalike.Timing):
    """Two clients report in turn, each with a result computed from the version before the newest."""

    def __init__(self, weights):
        self.weights = weights

    def steps(self, draw, first):
        for number in count(first):
            client, version = number % 2, max(number - 1, 0)
            yield Step(
                number,
                np.array([client]),
                np.array([version]),
                np.array([self.weights[client]]),
                float(number + 1),
                done_with=np.array([number - 1]),
            )


@pytest.mark.parametrize(
    ("phi", "after_first", "after_second"), [(0.5, 0.45701, 0.26697), (0.01, 0.40126, 0.39707)]
)
def test_stale_results_settle_on_the_cycle_known_in_closed_form(phi, after_first, after_second):
    federation, task = scalar_quadratics(1.0, -1.0)
    algorithm = FedAvg(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", phi))
    options = {"rounds": 3000 if phi < 0.1 else 200, "evaluate_every": 0, "timing": Alternating((0.7, 0.3))}
    run = unalike.train(federation, task, algorithm, keep_history=True, **options)
    odd, even = (float(run.history.state(run.rounds - back)["params"]["w"][0, 0]) for back in (1, 0))
    np.testing.assert_allclose([odd, even], [after_first, after_second], atol=2e-5)


# ------------------------------------------- several models at once, and a memory that stays with the client


@dataclass(frozen=True, kw_only=True)
class ToyMixture(FedAvg):
    """A mixture of `components` models; every client keeps its own mixture weights (the idea of FedEM)."""

    components: int = 2
    personalized = True

    @property
    def equals_local_training(self):
        return False

    def init(self, task, key):
        return {"params": [task.init(k) for k in jax.random.split(key, self.components)]}

    def init_client(self, task, message, key):
        return {"shares": jnp.full(self.components, 1.0 / self.components)}

    def client(self, task, message, memory, data: ClientData, key):
        rows = data.all_rows()
        losses = jnp.stack([task.losses(params, rows.x, rows.y) for params in message], axis=1)
        posterior = jax.nn.softmax(jnp.log(memory["shares"]) - losses, axis=1)
        shares = jnp.sum(posterior * rows.weight[:, None], axis=0) / rows.size
        trained = [
            local_sgd(task, params, data.weighted(posterior[:, m]), self.optimizer).params
            for m, params in enumerate(message)
        ]
        return Reply(trained, {"shares": shares})

    def aggregate(self, task, state, mixed):
        return {"params": mixed.total}

    def predictor(self, task, message, memory, data, key):
        return {"models": message, **memory}

    def predict(self, task, predictor, x):
        chances = [jax.nn.softmax(task.apply(params, x)) for params in predictor["models"]]
        return jnp.log(sum(share * p for share, p in zip(predictor["shares"], chances, strict=True)))


def test_a_mixture_of_one_is_federated_averaging():
    federation = unalike.testing.example_federation()
    task = unalike.testing.example_task(federation)
    work = LocalWork(epochs=2, batch_size=4)
    one = unalike.train(federation, task, ToyMixture(work=work, components=1), rounds=3, seed=1).state[
        "params"
    ][0]
    assert (
        pytrees.largest_difference(
            one, unalike.train(federation, task, FedAvg(work=work), rounds=3, seed=1).state["params"]
        )
        < 1e-6
    )


def test_mixture_weights_are_remembered_and_are_the_mean_posterior():
    federation = unalike.testing.example_federation()
    task = unalike.Task.classification(unalike.models.mlp(4, input_shape=(4,), outputs=3), 3)
    algorithm = ToyMixture(work=LocalWork(steps=1, batch_size=0))
    start = algorithm.init(task, jax.random.key(3))
    run = unalike.train(federation, task, algorithm, rounds=1, initial=start)
    shares, _ = run.memories.gather(np.arange(len(federation)))
    for i in range(len(federation)):
        x, y = federation.train.client(i)
        losses = np.stack([np.asarray(task.losses(p, x, y)) for p in start["params"]], axis=1)
        posterior = np.exp(-losses) / np.exp(-losses).sum(1, keepdims=True)
        np.testing.assert_allclose(shares["shares"][i], posterior.mean(0), atol=1e-5)


# -------------------------------------------------------------------------- mixing: everyone hears neighbors


class OnRing(unalike.Timing):
    """Everyone works every round and averages with the predecessor on a ring."""

    def __init__(self, clients):
        self.matrix = 0.5 * np.eye(clients) + 0.5 * np.roll(np.eye(clients), 1, axis=1)

    def steps(self, draw, first):
        everyone = np.arange(len(self.matrix))
        for number in count(first):
            yield Step(
                number,
                everyone,
                np.full(len(everyone), number),
                self.matrix,
                float(number + 1),
                np.array([number]),
            )


@dataclass(frozen=True, kw_only=True)
class ToyGossip(unalike.Algorithm):
    """Every client keeps a model and mixes it with its neighbors' after some local steps."""

    clients: int
    optimizer: Optimizer = field(default_factory=Optimizer)
    decentralized = True

    def init(self, task, key):
        return {"params": pytrees.stack([task.init(key)] * self.clients)}

    def client(self, task, message, memory, data, key):
        return Reply(local_sgd(task, message, data, self.optimizer).params)

    def aggregate(self, task, state, mixed):
        return {"params": mixed.total}


def test_decentralised_training_equals_the_matrix_recursion():
    optima = np.array([1.0, -2.0, 4.0, 0.5, 3.0])
    federation, task = scalar_quadratics(*optima)
    timing = OnRing(5)
    algorithm = ToyGossip(clients=5, work=LocalWork(steps=2, batch_size=0), optimizer=Optimizer("sgd", 0.1))
    run = unalike.train(federation, task, algorithm, rounds=7, timing=timing, evaluate_every=0)
    theta = np.zeros(5)
    for _ in range(7):
        theta = timing.matrix @ (optima + 0.81 * (theta - optima))
    np.testing.assert_allclose(np.asarray(run.state["params"]["w"])[:, 0, 0], theta, atol=1e-5)


# ------------------------------------------------------------------ clients: rows and weights that change


class Growing(unalike.Stream):
    """In round r a client holds its first r + 1 rows, weighted by their age."""

    def __init__(self, federation):
        self.split = federation.train

    def select(self, round, clients):
        sizes = np.minimum(round + 1, self.split.sizes[clients])
        rows = np.concatenate(
            [self.split.offsets[c] + np.arange(n) for c, n in zip(clients, sizes, strict=True)]
        )
        weights = np.concatenate([np.arange(1, n + 1) for n in sizes]).astype(np.float32)
        return unalike.Selection(rows, np.concatenate([[0], np.cumsum(sizes)]), weights)


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_a_stream_with_weights_equals_weighted_descent_by_hand(engine):
    federation = unalike.load("quadratic:3,1,4,2", clients=4, seed=2)
    task = unalike.Task.regression(linear(0, input_shape=(3,), outputs=1))
    algorithm = FedAvg(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.05))
    run = unalike.train(
        federation, task, algorithm, rounds=4, stream=Growing(federation), evaluate_every=0, engine=engine
    )
    theta = np.zeros(3)
    for round in range(4):
        changes = []
        for i in range(4):
            x, y = (part[: round + 1] for part in federation.train.client(i))
            weights = np.arange(1, len(x) + 1)
            changes.append(-0.05 * (weights * (x @ theta - y)) @ x / len(x))
        theta = theta + federation.importance @ np.array(changes)
    np.testing.assert_allclose(np.asarray(run.state["params"]["w"])[0], theta, atol=1e-5)


# ------------------------------------------------------------------------ results that can be taken back


@pytest.mark.exact
def test_a_run_can_be_rewound_and_go_on_without_a_client():
    federation = unalike.testing.example_federation()
    task = unalike.testing.example_task(federation)
    first = unalike.train(federation, task, FedAvg(), rounds=8, seed=1, keep_history=True)
    rest = federation.subset([0, 1, 3, 4])
    restart = first.history.state(5)
    forgotten = unalike.train(rest, task, FedAvg(), rounds=3, seed=1, initial=restart)
    again = unalike.train(rest, task, FedAvg(), rounds=3, seed=1, initial=restart)
    assert pytrees.largest_difference(forgotten.state, again.state) == 0
    assert pytrees.largest_difference(forgotten.state, first.state) > 1e-4
    with pytest.raises(unalike.UnalikeError, match="not in the history"):
        first.history.state(9)


# ------------------------------------------------------------------------------ local work in closed form


@dataclass(frozen=True, kw_only=True)
class ToyLeastSquares(unalike.Algorithm):
    """Clients send the moments of their rows; the server solves the normal equations of the pooled data."""

    def client(self, task, message, memory, data, key):
        rows = data.all_rows()
        x = rows.x * rows.weight[:, None]
        return Reply({"xx": x.T @ rows.x / rows.size, "xy": x.T @ rows.y[:, None] / rows.size})

    def aggregate(self, task, state, mixed):
        return {"params": {"w": jnp.linalg.solve(mixed.total["xx"], mixed.total["xy"]).T}}


def test_closed_form_work_solves_the_pooled_problem_in_one_round():
    federation = unalike.load("quadratic:4,1,5,3", clients=6, seed=3)
    task = unalike.Task.regression(linear(0, input_shape=(4,), outputs=1))
    run = unalike.train(federation, task, ToyLeastSquares(), rounds=1)
    pooled, *_ = np.linalg.lstsq(federation.train.x, federation.train.y, rcond=None)
    np.testing.assert_allclose(np.asarray(run.state["params"]["w"])[0], pooled, atol=1e-4)
    truth = quadratic_truth(4, 1, 5, 3, clients=6, seed=3)
    np.testing.assert_allclose(pooled, weighted_optimum(truth), atol=1e-4)


def test_least_squares_keeps_the_contract():
    federation = unalike.load("quadratic:4,1,5,3", clients=5, seed=3)
    task = unalike.Task.regression(linear(0, input_shape=(4,), outputs=1))
    check_algorithm(ToyLeastSquares(), federation=federation, task=task)
