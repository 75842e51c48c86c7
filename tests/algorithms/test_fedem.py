"""Is FedEM the E- and M-step of the paper, and what becomes of clients that join, die out or have no rows?"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import unalike
from unalike import ConfigError, FedAvg, LocalWork, Optimizer
from unalike.algorithms import FedEM
from unalike.algorithms.shared.mixture import (
    mean_posterior,
    mixture_task,
    negative_log_likelihood,
    posterior,
    unlike_starts,
)
from unalike.core import pytrees
from unalike.models import Batch, Model, Task, linear, mlp

from . import naive

SIZES, TEST = [5, 8, 3, 6], [4, 4, 4, 4]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)


def naive_losses(theta, x, y):
    scores = np.hstack([x, np.ones((len(x), 1))]) @ theta
    scores = scores - scores.max(1, keepdims=True)
    return np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]


def naive_gradient(theta, x, y, chance):
    """The gradient of mean_i chance_i loss_i."""
    wide = np.hstack([x, np.ones((len(x), 1))]).astype(np.float64)
    scores = wide @ theta
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return wide.T @ (chance[:, None] * p) / len(x)


def naive_fedem(federation, theta, rounds, rate):
    importance = np.array(SIZES) / sum(SIZES)
    weights = np.full((len(SIZES), len(theta)), 1 / len(theta))
    for _ in range(rounds):
        new = np.zeros_like(theta)
        for t, share in enumerate(importance):
            x, y = federation.train.client(t)
            losses = np.stack([naive_losses(one, x, y) for one in theta], 1)
            chance = weights[t] * np.exp(-losses)
            chance /= chance.sum(1, keepdims=True)
            weights[t] = chance.mean(0)
            for m, start in enumerate(theta):
                one = start
                for batch in naive.in_order(len(x), 3, 2):
                    one = one - rate * naive_gradient(one, x[batch], y[batch], chance[batch, m])
                new[m] += share * one
        theta = new
    return theta, weights


def as_matrix(params):
    return np.concatenate([np.asarray(params["w"], np.float64).T, np.asarray(params["b"])[None]])


@pytest.fixture(scope="module")
def trained(federation):
    return naive.train(federation, naive.task(), FedEM(components=2, work=WORK), 3, seed=4)


def test_three_rounds_are_those_of_a_naive_implementation(federation, trained):
    start = trained.history.state(0)["params"]
    theta, weights = naive_fedem(federation, np.stack([as_matrix(one) for one in start]), 3, 0.1)
    np.testing.assert_allclose([as_matrix(one) for one in trained.state["params"]], theta, atol=1e-5)
    found, fresh = trained.memories.gather(np.arange(4))
    assert not fresh.any()
    np.testing.assert_allclose(found["weights"], weights, atol=1e-5)


def test_clients_predict_with_the_mixture_of_probabilities(federation, trained):
    accuracy = trained.evaluate("test")["accuracy"]
    weights = np.asarray(trained.memories.gather(np.arange(4))[0]["weights"])
    for t in range(4):
        x, y = federation.test.client(t)
        chances = [jax.nn.softmax(naive.task().apply(one, x)) for one in trained.state["params"]]
        mixed = sum(w * np.asarray(p) for w, p in zip(weights[t], chances, strict=True))
        assert accuracy[t] == pytest.approx(np.mean(mixed.argmax(1) == y))


def test_a_loss_of_optax_is_mixed_as_ours(federation, trained):
    ours = naive.task()
    loss = optax.softmax_cross_entropy_with_integer_labels
    theirs = Task.custom(ours.model.init, ours.model.apply, loss, ours.metrics)
    run = naive.train(federation, theirs, FedEM(components=2, work=WORK), 3, seed=4)
    for metric in ("loss", "accuracy"):
        np.testing.assert_allclose(
            run.evaluate("test")[metric], trained.evaluate("test")[metric], rtol=1e-4, atol=1e-5
        )


def test_a_loss_that_does_not_tell_what_it_takes_is_refused_before_training(federation):
    task = replace(naive.task(), sample_loss=lambda outputs, y: outputs[:, 0] - y)
    with pytest.raises(ConfigError, match="predictions cannot be mixed"):
        FedEM(components=2).prepare(task, federation)
    assert (
        FedEM(components=2).prepare(replace(task, outputs="values", metrics={}), federation).components == 2
    )


@pytest.mark.exact
@pytest.mark.parametrize("server", [Optimizer("sgd", 1.0), Optimizer("adam", 0.01)])
def test_one_component_is_federated_averaging_to_the_bit(federation, server):
    settings = {"work": LocalWork(epochs=2, batch_size=4), "server_optimizer": server}
    one, average = (
        naive.train(federation, naive.task(), method, 3, participation=naive.Fixed([0, 2], [1, 3], [0, 1]))
        for method in (FedEM(components=1, **settings), FedAvg(**settings))
    )
    assert pytrees.largest_difference(one.state["params"][0], average.state["params"]) == 0.0


def test_every_component_is_clipped_for_itself(federation, trained):
    """However long another one's gradient is: against a step written by hand."""
    rate, clip, start = 0.1, 0.05, trained.history.state(0)["params"]
    method = FedEM(
        components=2, work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", rate, clip=clip)
    )
    run = naive.train(federation, naive.task(), method, 1, seed=4)
    theta = np.stack([as_matrix(one) for one in start])
    new = np.zeros_like(theta)
    for t, share in enumerate(np.array(SIZES) / sum(SIZES)):
        x, y = federation.train.client(t)
        chance = np.exp(-np.stack([naive_losses(one, x, y) for one in theta], 1))
        chance /= chance.sum(1, keepdims=True)
        for m, one in enumerate(theta):
            slope = naive_gradient(one, x, y, chance[:, m])
            new[m] += share * (one - rate * slope * min(1.0, clip / np.linalg.norm(slope)))
    np.testing.assert_allclose([as_matrix(one) for one in run.state["params"]], new, atol=1e-6)


@pytest.mark.exact
def test_the_first_component_gets_the_noise_that_a_model_alone_would_get():
    """So one component with dropout is federated averaging with dropout."""
    dropout = Model(
        lambda key: jnp.ones(2),
        lambda w, x: x * w,
        None,
        lambda w, x, key: x * w * jax.random.normal(key, (2,)),
    )
    task = Task(dropout, lambda outputs, y: outputs[:, 0] - y)
    batch = Batch.of(jnp.ones((3, 2)), jnp.zeros(3), key=jax.random.key(5))
    wide = batch._replace(weight=jnp.array([[1.0, 0.0]] * 3))
    assert mixture_task(task, 2).loss([jnp.ones(2)] * 2, wide) == task.loss(jnp.ones(2), batch)


def test_messages_are_as_many_times_larger_as_there_are_components(federation, trained):
    average = naive.train(federation, naive.task(), FedAvg(work=WORK), 3)
    for name in ("bytes_up", "bytes_down"):
        assert np.nansum(trained.metrics()[name]) == 2 * np.nansum(average.metrics()[name])


def test_newcomers_fit_their_weights_to_the_global_optimum_from_any_start(federation, trained):
    """The likelihood is concave in the weights alone, so EM forgets where it began."""
    x, y = federation.train.client(1)
    losses = np.stack([naive_losses(as_matrix(one), x, y) for one in trained.state["params"]], 1)
    grid = np.linspace(0, 1, 4001)
    best = min(-np.log(w * np.exp(-losses[:, 0]) + (1 - w) * np.exp(-losses[:, 1])).mean() for w in grid)
    losses, rows = jnp.array(losses), jnp.ones(len(x))
    for start in ([0.5, 0.5], [0.9, 0.1], [0.02, 0.98]):
        weights = lax.fori_loop(
            0, 2000, lambda _, w: mean_posterior(posterior(losses, w), rows), jnp.array(start)
        )
        assert negative_log_likelihood(losses, weights).mean() <= best + 1e-4


def test_evaluation_of_a_newcomer_is_the_written_rule(federation, trained):
    newcomers = federation.subset([2, 0])
    columns = unalike.training.newcomers.evaluate_newcomers(trained, newcomers)
    for place, t in enumerate((2, 0)):
        x, y = federation.train.client(t)
        losses = np.stack([naive_losses(as_matrix(one), x, y) for one in trained.state["params"]], 1)
        weights = np.full(2, 0.5)
        for _ in range(20):
            chance = weights * np.exp(-losses)
            weights = (chance / chance.sum(1, keepdims=True)).mean(0)
        test = np.stack(
            [naive_losses(as_matrix(o), *federation.test.client(t)) for o in trained.state["params"]], 1
        )
        expected = -np.log(np.exp(-test) @ weights).mean()
        assert columns["loss"][place] == pytest.approx(expected, abs=1e-5)


def test_a_client_without_rows_has_equal_weights():
    assert mean_posterior(jnp.zeros((4, 3)), jnp.zeros(4)).tolist() == pytest.approx([1 / 3] * 3)


def test_smoothing_adds_pretended_rows():
    chances = jnp.array([[1.0, 0.0], [1.0, 0.0]])
    assert mean_posterior(chances, jnp.ones(2), 1.0).tolist() == pytest.approx([3 / 4, 1 / 4])


def test_a_weight_of_zero_stays_zero():
    assert posterior(jnp.zeros((1, 2)), jnp.array([0.0, 1.0]))[0, 0] < 1e-11


def test_a_high_temperature_forgets_the_losses():
    chances = posterior(jnp.array([[0.0, 5.0]]), jnp.array([0.5, 0.5]), temperature=1e6)
    np.testing.assert_allclose(chances, 0.5, atol=1e-5)


def test_very_large_losses_do_not_overflow():
    chances = posterior(jnp.array([[1e4, 1e4 + 1.0]]), jnp.array([0.5, 0.5]))
    assert chances[0, 0] == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-5)


def test_models_that_always_start_alike_are_pushed_apart():
    same = Task.classification(linear(input_shape=(3,), outputs=2), 2)
    first, second = unlike_starts(same, 2, jax.random.key(0))
    assert pytrees.largest_difference(first, second) > 0.01


def test_models_that_start_apart_are_left_as_they_are():
    task = Task.classification(mlp(4, input_shape=(3,), outputs=2), 2)
    first = unlike_starts(task, 3, jax.random.key(0))[0]
    assert pytrees.largest_difference(first, task.init(jax.random.key(0))) == 0.0


def test_all_components_learn_at_once_as_they_would_alone(federation):
    task, (x, y) = naive.task(), federation.train.client(1)
    starts = unlike_starts(task, 2, jax.random.key(1))
    weight = jnp.stack([jnp.linspace(0, 1, len(x)), jnp.linspace(1, 0, len(x))], 1)
    together = jax.grad(mixture_task(task, 2).loss)(starts, Batch.of(x, y)._replace(weight=weight))
    for m, start in enumerate(starts):
        alone = jax.grad(task.loss)(start, Batch.of(x, y, weight[:, m]))
        assert pytrees.largest_difference(together[m], alone) < 1e-6


def test_hard_assignment_gives_every_client_one_component(federation):
    run = naive.train(federation, naive.task(), FedEM(components=2, hard=True, work=WORK), 2)
    weights = np.asarray(run.memories.gather(np.arange(4))[0]["weights"])
    for t in range(4):
        x, y = federation.test.client(t)
        chosen = run.state["params"][int(weights[t].argmax())]
        loss = float(naive.task().losses(chosen, x, y).mean())
        assert run.evaluate("test")["loss"][t] == pytest.approx(loss, abs=1e-5)


def test_a_component_that_nobody_uses_is_recorded_once(federation):
    """It is sure of a class that nobody has."""
    two = replace(federation, train=replace(federation.train, y=np.minimum(federation.train.y, 1)))
    start = FedEM(components=2).init(naive.task(), jax.random.key(0))
    start["params"][1]["b"] = jnp.array([0.0, 0.0, 1e4])
    options = {"initial": start, "evaluate_every": 1}
    run = naive.train(two, naive.task(), FedEM(components=2, work=WORK), 3, **options)
    events = [event for event in run.events() if event["kind"] == "dead component"]
    assert [(event["component"], event["rows"] < 1) for event in events] == [(2, True)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"components": 0}, "at least 1"),
        ({"temperature": 0.0}, "positive"),
        ({"em_steps": -1}, "negative"),
        ({"smoothing": -0.5}, "negative"),
    ],
)
def test_impossible_settings_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        FedEM(**settings)


def test_more_components_than_clients_are_refused(federation):
    with pytest.raises(ConfigError, match="5 components need as many clients"):
        naive.train(federation, naive.task(), FedEM(components=5), 1)
