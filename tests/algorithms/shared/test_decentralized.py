"""Are DPASGD and push-sum the recursions of their papers, and do they agree with FedAvg where they must?"""

import warnings
from dataclasses import replace

import jax
import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, LocalWork, Optimizer
from unalike.algorithms import DPASGD, PushSum
from unalike.core import pytrees
from unalike.topology import Gossip, OnNetwork, connect, consensus_distance, design, pushing
from unalike.topology.overlay import overlay_of

from .. import naive

WORK = LocalWork(steps=2, batch_size=0)
OPTIMA = np.array([1.0, -2.0, 4.0, 0.5])


def quadratics(optima=OPTIMA):
    """Client i has the loss (theta - optimum_i)^2 / 2."""
    data = {str(i): {"train": (np.ones((1, 1)), np.array([c]))} for i, c in enumerate(optima)}
    federation = unalike.Federation.from_clients(data, classes=None)
    return federation, unalike.Task.regression(unalike.models.linear(0, input_shape=(1,), outputs=1))


def train(algorithm, timing, rounds, **options):
    federation, task = quadratics()
    options = {"devices": 1, "evaluate_every": 0, **options}
    return unalike.train(federation, task, algorithm, rounds=rounds, timing=timing, **options)


def after_two_steps(theta, rate=0.1):
    return OPTIMA + (1 - rate) ** 2 * (theta - OPTIMA)


def silos(**options):
    return connect("mesh:4", "custom:1e6,10", **options)


def unbalanced():
    """0 -> 1 -> 2 -> 3 -> 0, and 0 -> 2: some are heard more than others."""
    return overlay_of([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], silos())


def test_dpasgd_is_descent_and_a_product_with_the_matrix():
    timing = OnNetwork("ring", silos())
    run = train(DPASGD(work=WORK), timing, 5)
    theta = np.zeros(4)
    for number in range(5):
        theta = timing.matrix(number) @ after_two_steps(theta)
    np.testing.assert_allclose(run.state["params"]["w"][:, 0, 0], theta, atol=1e-5)


def test_on_a_star_it_is_federated_averaging_of_equal_clients():
    federation = naive.federation([6, 6, 6, 6])
    options = {"rounds": 3, "devices": 1, "evaluate_every": 0}
    average = unalike.train(federation, naive.task(), FedAvg(work=WORK), **options)
    star = unalike.train(
        federation, naive.task(), DPASGD(work=WORK), timing=OnNetwork("star", silos()), **options
    )
    for silo in range(4):
        gap = pytrees.largest_difference(pytrees.row(star.state["params"], silo), average.state["params"])
        assert gap < 1e-5


def test_push_sum_is_the_recursion_of_numerators_and_masses():
    timing = OnNetwork(unbalanced(), silos(), push=True)
    run = train(PushSum(work=WORK), timing, 6)
    x, mass = np.zeros(4), np.ones(4)
    for number in range(6):
        z = x / mass
        matrix = timing.matrix(number)
        x, mass = matrix @ (x + after_two_steps(z) - z), matrix @ mass
    np.testing.assert_allclose(run.state["params"]["w"][:, 0, 0], x, atol=1e-5)
    np.testing.assert_allclose(run.state["mass"], mass, atol=1e-6)


def test_push_sum_settles_near_the_mean_optimum_where_row_weights_do_not():
    """Small steps: everyone should end at the mean of all optima, though some are heard more often."""
    work, slow = LocalWork(steps=1, batch_size=0), Optimizer("sgd", 0.01)
    pushed = train(PushSum(work=work, optimizer=slow), OnNetwork(unbalanced(), silos(), push=True), 1500)
    z = np.asarray(pushed.state["params"]["w"])[:, 0, 0] / np.asarray(pushed.state["mass"])
    assert abs(z.mean() - OPTIMA.mean()) < 0.03


def test_total_mass_is_kept_and_columns_sum_to_one():
    matrix = pushing(unbalanced().mixing())
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    run = train(PushSum(work=WORK), OnNetwork(unbalanced(), silos(), push=True), 4)
    assert float(np.sum(run.state["mass"])) == pytest.approx(4.0, abs=1e-5)


def test_gossip_and_network_take_the_same_matrices_to_the_same_models():
    timing = OnNetwork("ring", silos())
    on_network = train(DPASGD(work=WORK), timing, 3)
    gossip = train(DPASGD(work=WORK), Gossip("complete", np.full((4, 4), 0.25)), 3)
    mean = np.asarray(on_network.state["params"]["w"]).mean()
    # Both are doubly stochastic, and the losses have one curvature: so the mean model is the same.
    assert np.asarray(gossip.state["params"]["w"]).mean() == pytest.approx(mean, abs=1e-5)


def test_the_clock_is_the_networks_and_messages_are_counted():
    timing = OnNetwork("ring", silos(local_steps=2))
    run = train(DPASGD(work=WORK), timing, 200)
    clock = run.metrics()["clock"]
    pace = timing.design.cycle_time(timing.connectivity) / 1000
    assert (clock[-1] - clock[-101]) / 100 == pytest.approx(pace, rel=1e-3)
    assert run.metrics()["bytes_up"][-1] == 4 * 1 * 4  # four messages of one number


@pytest.mark.exact
def test_a_resumed_run_is_the_same_run(tmp_path):
    class StopError(Exception):
        pass

    def stop(report, total):
        if report.round == 4:
            raise StopError

    make = lambda: OnNetwork("matcha", silos())  # noqa: E731
    options = {"checkpoint_every": 2, "out": tmp_path / "run"}
    with pytest.raises(StopError):
        train(DPASGD(work=WORK), make(), 6, observer=stop, **options)
    resumed = train(DPASGD(work=WORK), make(), 6, resume=True, **options)
    whole = train(DPASGD(work=WORK), make(), 6)
    assert pytrees.largest_difference(resumed.state, whole.state) == 0


def test_evaluation_has_the_mean_model_and_how_far_apart_models_are():
    federation = naive.federation([6, 6, 6, 6], [5, 5, 5, 5])
    timing = OnNetwork("ring", silos())
    run = unalike.train(federation, naive.task(), DPASGD(work=WORK), rounds=2, timing=timing, devices=1)
    metrics = run.metrics()
    assert metrics["consensus_distance"][-1] == pytest.approx(consensus_distance(run.state["params"]))
    mean = pytrees.scale(0.25, {k: v.sum(0) for k, v in run.state["params"].items()})
    test = federation.test
    loss = float(naive.task().losses(mean, test.x, test.y).mean())
    assert metrics["mean_model_test_loss"][-1] == pytest.approx(loss, abs=1e-5)


def test_as_many_clients_as_silos_are_needed():
    with pytest.raises(ConfigError, match="3 silos, but there are 4 clients"):
        train(DPASGD(work=WORK), OnNetwork("ring", connect("mesh:3", "custom:1e6,10")), 1)


def test_random_overlays_mix_as_they_are_drawn():
    chosen = design("matcha", silos())
    run = train(DPASGD(work=WORK), OnNetwork(chosen, silos()), 3)
    theta = np.zeros(4)
    for number in range(3):
        theta = chosen.mixing(number) @ after_two_steps(theta)
    np.testing.assert_allclose(run.state["params"]["w"][:, 0, 0], theta, atol=1e-5)


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_a_client_that_hears_nothing_usable_keeps_its_model(engine):
    """In the first round only pairs talk, and one pair's rows are spoilt."""
    federation = naive.federation([4, 4, 4, 4])
    x = np.array(federation.train.x)
    x[:8] = np.nan
    spoilt = replace(federation, train=replace(federation.train, x=x))
    pairs = np.kron(np.eye(2), np.full((2, 2), 0.5))
    timing = Gossip(matrices=np.stack([pairs, np.full((4, 4), 0.25)]))
    start = DPASGD(work=WORK).prepare(naive.task(), spoilt).init(naive.task(), jax.random.key(0))
    start["params"]["b"] = start["params"]["b"] + 1.0
    options = {"rounds": 1, "timing": timing, "engine": engine, "initial": start, "devices": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = unalike.train(spoilt, naive.task(), DPASGD(work=WORK), **options)
    params = run.state["params"]
    np.testing.assert_array_equal(params["b"][:2], start["params"]["b"][:2])
    assert np.abs(np.asarray(params["b"][2:]) - 1.0).max() > 1e-3
