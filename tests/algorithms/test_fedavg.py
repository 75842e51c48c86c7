"""Is federated averaging the average of naive local descents, with the server's optimizer as published?"""

import jax
import numpy as np
import optax
import pytest

from unalike.algorithms import FedAvg, LocalWork, Optimizer, algorithm_registry
from unalike.participation import Uniform

from . import naive

SIZES = [5, 8, 3]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)


def mean_change(federation, theta, clients, weights, rate=0.1, **terms):
    """sum_i weight_i (w_i - w) for clients that pass twice over their rows in order."""
    change = np.zeros_like(theta)
    for client, weight in zip(clients, weights, strict=True):
        x, y = federation.train.client(client)
        batches = naive.in_order(len(x), 3, 2)
        change += weight * (naive.descend(theta, x, y, batches, rate, **terms) - theta)
    return change


def test_two_rounds_equal_the_weighted_mean_of_naive_descents(federation, task):
    run = naive.train(federation, task, FedAvg(work=WORK), 2)
    theta = naive.zeros()
    for number in range(2):
        theta = theta + mean_change(federation, theta, range(3), np.array(SIZES) / 16)
        assert np.allclose(naive.flat(run.history.state(number + 1)["params"]), theta, atol=1e-5)
    assert np.abs(theta).max() > 0.05


def test_partial_participation_averages_over_the_cohort_alone(federation, task):
    run = naive.train(federation, task, FedAvg(work=WORK), 2, participation=naive.Fixed([2, 0], [1, 2]))
    theta = naive.zeros()
    theta = theta + mean_change(federation, theta, [2, 0], [3 / 8, 5 / 8])
    theta = theta + mean_change(federation, theta, [1, 2], [8 / 11, 3 / 11])
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


def test_weights_that_do_not_sum_to_one_scale_the_change_and_not_the_model(federation, task):
    start = FedAvg().init(task, None)
    start["params"] = {"w": start["params"]["w"] + 1.0, "b": start["params"]["b"] - 2.0}
    options = {"participation": naive.Fixed([0, 1], weights=[0.9, 0.4]), "initial": start}
    run = naive.train(federation, task, FedAvg(work=WORK), 1, **options)
    theta = naive.flat(start["params"])
    theta = theta + mean_change(federation, theta, [0, 1], [0.9, 0.4])
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


def test_the_reported_training_loss_is_the_weighted_mean_over_the_steps(federation, task):
    run = naive.train(federation, task, FedAvg(work=WORK), 1)
    losses = []
    for client in range(3):
        x, y = federation.train.client(client)
        theta, seen = naive.zeros(), []
        for rows in naive.in_order(len(x), 3, 2):
            seen.append(naive.loss(theta, x[rows], y[rows]))
            theta = naive.descend(theta, x, y, [rows], 0.1)
        losses.append(np.mean(seen))
    expected = np.average(losses, weights=SIZES)
    assert run.metrics()["train_loss"][-1] == pytest.approx(expected, abs=1e-5)


def test_one_full_batch_step_of_everyone_is_central_gradient_descent(federation, task):
    run = naive.train(federation, task, FedAvg(work=LocalWork(steps=1, batch_size=0)), 3)
    theta = naive.zeros()
    for _ in range(3):
        theta = theta - 0.1 * naive.gradient(theta, federation.train.x, federation.train.y)
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


def momentum(m, v, g, t):
    """Hsu et al. (2019): m <- 0.9 m + g, step m."""
    m = 0.9 * m + g
    return m, v, m


def adam(m, v, g, t):
    """Reddi et al. (2021), with Adam's bias corrections as Optax has them."""
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    return m, v, 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3)


def yogi(m, v, g, t):
    """Reddi et al. (2021): v moves by a step that does not depend on its distance from g^2."""
    m, v = 0.9 * m + 0.1 * g, v - 0.01 * np.sign(v - g**2) * g**2
    return m, v, 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3)


def adagrad(m, v, g, t):
    """Reddi et al. (2021); Optax adds epsilon under the root."""
    v = v + g**2
    return m, v, 0.03 * g / np.sqrt(v + 1e-3)


@pytest.mark.parametrize(
    ("name", "rule", "first_m", "first_v"),
    [
        ("fedavgm", momentum, 0.0, 0.0),
        ("fedadam", adam, 0.0, 0.0),
        ("fedyogi", yogi, 1e-6, 1e-6),
        ("fedadagrad", adagrad, 0.0, 0.1),
    ],
)
def test_server_optimizers_follow_their_published_rules(federation, task, name, rule, first_m, first_v):
    run = naive.train(federation, task, algorithm_registry.make(name, work=WORK), 2)
    theta = naive.zeros()
    m, v = np.full_like(theta, first_m), np.full_like(theta, first_v)
    for t in (1, 2):
        # The server takes the mean change for a negative gradient.
        m, v, step = rule(m, v, -mean_change(federation, theta, range(3), np.array(SIZES) / 16), t)
        theta = theta - step
        assert np.allclose(naive.flat(run.history.state(t)["params"]), theta, atol=2e-5)


def test_schedules_and_rates_multiply_the_clients_and_the_servers_steps(federation, task):
    algorithm = FedAvg(
        work=WORK,
        optimizer=Optimizer("sgd", 0.1, schedule="decay:0.5"),
        server_optimizer=Optimizer("sgd", 0.7, schedule="inverse-sqrt"),
    )
    run = naive.train(federation, task, algorithm, 3)
    theta = naive.zeros()
    for number in range(3):
        change = mean_change(federation, theta, range(3), np.array(SIZES) / 16, rate=0.1 * 0.5**number)
        theta = theta + 0.7 * change / np.sqrt(number + 1)
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


def test_clipping_bounds_every_gradients_norm(federation, task):
    run = naive.train(federation, task, FedAvg(work=WORK, optimizer=Optimizer("sgd", 0.1, clip=0.3)), 1)
    clipped, free = (
        mean_change(federation, naive.zeros(), range(3), np.array(SIZES) / 16, clip=clip)
        for clip in (0.3, None)
    )
    assert np.allclose(naive.flat(run.state["params"]), clipped, atol=1e-5)
    assert np.abs(clipped - free).max() > 1e-2


@pytest.mark.parametrize("name", ["adam", "adagrad", "rmsprop"])
def test_any_optax_optimizer_can_be_named_and_starts_afresh_every_round(federation, task, name):
    # The large epsilon keeps rounding errors of gradients that are zero from becoming whole steps.
    algorithm = FedAvg(work=WORK, optimizer=Optimizer.of(name, 0.01, {"eps": 1e-2}))
    run = naive.train(federation, task, algorithm, 2, participation=naive.Fixed([1], [1]))
    x, y = federation.train.client(1)
    optimizer = getattr(optax, name)(0.01, eps=1e-2)
    update = jax.jit(optimizer.update)
    theta = naive.zeros().astype(np.float32)
    for _ in range(2):
        state = optimizer.init(theta)
        for rows in naive.in_order(8, 3, 2):
            step = naive.gradient(np.asarray(theta), x[rows], y[rows]).astype(np.float32)
            updates, state = update(step, state, theta)
            theta = theta + np.asarray(updates)
    assert np.allclose(naive.flat(run.state["params"]), theta, atol=1e-5)


@pytest.mark.exact
def test_a_transformation_of_the_users_own_replaces_the_named_one(federation, task):
    name_contains, own = (
        naive.train(federation, task, FedAvg(work=WORK, optimizer=optimizer), 1).state["params"]
        for optimizer in (Optimizer("sgd", 0.1), Optimizer(custom=optax.sgd(0.1)))
    )
    assert np.array_equal(naive.flat(name_contains), naive.flat(own))


def test_the_mean_over_cohorts_of_unbiased_weights_is_full_participation(federation, task):
    """One full-batch step is linear in the weights, so the expectation over all cohorts is exact."""
    work = LocalWork(steps=1, batch_size=0)
    everyone = naive.flat(naive.train(federation, task, FedAvg(work=work), 1).state["params"])
    mean = np.zeros_like(everyone)
    for cohort in ([0, 1], [0, 2], [1, 2]):
        dealt = Uniform(per_round=2).draw(federation.importance, _Dealer(cohort))
        participation = naive.Fixed(dealt.clients, weights=dealt.weights)
        run = naive.train(federation, task, FedAvg(work=work), 1, participation=participation)
        mean += naive.flat(run.state["params"]) / 3
    assert np.allclose(mean, everyone, atol=1e-6)


class _Dealer:
    """A generator whose next choice is known."""

    def __init__(self, cohort):
        self.cohort = cohort

    def choice(self, n, size, replace):
        return np.array(self.cohort)


def test_a_state_is_a_tree_of_arrays(task):
    for name in ("fedavg", "fedadam", "scaffold"):
        state = algorithm_registry.make(name).init(task, jax.random.key(0))
        assert all(hasattr(leaf, "dtype") for leaf in jax.tree.leaves(state))
