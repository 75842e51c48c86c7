"""Does FEM-OMD do what its recipe says, in the one loop and on every engine?"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import LocalWork, Optimizer
from unalike.algorithms import FedOMD, FemOMD, GaussianFemOMD
from unalike.algorithms.shared.federated_kmeans import client_sums, federated_kmeans, lloyd
from unalike.algorithms.shared.gaussian_mixture import gaussian_task, mixture_log_density
from unalike.algorithms.shared.online_mixture import OnlineMixture, outer_share
from unalike.data.streams import HeldSteps
from unalike.testing import check_algorithm
from unalike.typing import Float64s

from .online import NaiveFemOMD

CLIENTS, STEPS, ROWS, DIMENSION, COMPONENTS = 4, 6, 7, 3, 3
TRUTH = 4 * np.eye(COMPONENTS, DIMENSION)


class Fresh(unalike.Stream):
    """In time step t every client has its t-th lot of rows."""

    def __init__(self, federation, rows=ROWS):
        self.split, self.rows = federation.train, np.broadcast_to(rows, (len(federation),))

    def select(self, round, clients):
        sizes = self.rows[clients]
        starts = self.split.offsets[clients] + round * sizes
        rows = np.concatenate([start + np.arange(n) for start, n in zip(starts, sizes, strict=True)])
        return unalike.Selection(rows, np.concatenate([[0], np.cumsum(sizes)]))


def clients_of(x: Float64s) -> unalike.Federation:
    """A federation of x[client, row, dimension]."""
    data = {str(c): {"train": (rows.astype(np.float32), np.zeros(len(rows)))} for c, rows in enumerate(x)}
    return unalike.Federation.from_clients(data, classes=None)


def drawn(seed=0, clients=CLIENTS, steps=STEPS, rows=ROWS):
    rng = np.random.default_rng(seed)
    which = rng.integers(COMPONENTS, size=(clients, steps * rows))
    return TRUTH[which] + rng.normal(size=(clients, steps * rows, DIMENSION))


def started(seed=1):
    return TRUTH + 0.5 * np.random.default_rng(seed).normal(size=TRUTH.shape)


def learned(x, algorithm, start, steps=STEPS, rows=ROWS, **options):
    """The means and the played weights after some time steps."""
    federation = clients_of(x)
    run = unalike.train(
        federation,
        gaussian_task(DIMENSION),
        algorithm,
        rounds=steps * algorithm.rounds_per_step,
        stream=Fresh(federation, rows),
        initial=algorithm.start([jnp.asarray(mean, jnp.float32) for mean in start]),
        evaluate_every=0,
        **options,
    )
    memory, _ = run.memories.gather(np.arange(len(federation)))
    return np.stack(run.state["params"]), np.asarray(memory["weights"]), run


def gaussian(**options):
    usual = {"components": COMPONENTS, "em_steps": 2, "gradient": "data", "split": False}
    return GaussianFemOMD(**{**usual, "min_mass": 0.5, "floor": 1e-3, **options})


# ------------------------------------------------------------------------- against the recipe in NumPy


@pytest.mark.parametrize(
    ("engine", "split", "steps"), [("local", False, STEPS), ("local", True, STEPS), ("debug", True, 2)]
)
def test_the_loop_gives_what_the_recipe_gives(engine, split, steps):
    x, start = drawn(), started()
    means, weights, _ = learned(x, gaussian(split=split), start, steps, engine=engine)
    naive = NaiveFemOMD(start, CLIENTS, em_steps=2, split=split)
    for t in range(steps):
        naive.step(list(x[:, t * ROWS : (t + 1) * ROWS].astype(np.float32).astype(float)))
    np.testing.assert_allclose(means, naive.means, atol=2e-5)
    np.testing.assert_allclose(weights, naive.weights, atol=2e-5)


def test_two_engines_give_the_same_with_draws_of_the_model():
    x, start = drawn(2), started()
    found = [learned(x, gaussian(gradient="model"), start, steps=2, engine=e)[:2] for e in ("local", "debug")]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(("outer", "share"), [("last", 1.0), ("average:0.3", 0.3)])
def test_what_is_played_next_may_be_the_last_estimate_or_an_average(outer, share):
    x, start = drawn(3), started()
    means, _, _ = learned(x, gaussian(outer=outer), start, steps=3)
    naive = NaiveFemOMD(start, CLIENTS, em_steps=2, outer=share)
    for t in range(3):
        naive.step(list(x[:, t * ROWS : (t + 1) * ROWS]))
    np.testing.assert_allclose(means, naive.means, atol=2e-5)


def test_a_step_of_several_rounds_sees_one_set_of_rows():
    """A stream that knows nothing of steps is held for K + 1 rounds; one that is held already stays."""
    federation, algorithm = clients_of(drawn()), gaussian()
    options = {"rounds": 6, "evaluate_every": 0, "initial": algorithm.start(list(jnp.asarray(started())))}
    arrives = [unalike.MemoryStream("constant:7", "replace", ordered=True) for _ in range(3)]
    streams = (arrives[0], HeldSteps(arrives[1], 3))
    one, other = (
        unalike.train(federation, gaussian_task(DIMENSION), algorithm, stream=stream, **options)
        for stream in streams
    )
    assert one.metrics()["arrived"][1:].tolist() == [28.0, 0, 0, 28, 0, 0]
    assert unalike.core.pytrees.largest_difference(one.state, other.state) == 0
    naive = NaiveFemOMD(started(), CLIENTS, em_steps=2)
    for t in range(2):
        naive.step([rows[t * 7 : (t + 1) * 7] for rows in drawn()])
    np.testing.assert_allclose(np.stack(one.state["params"]), naive.means, atol=2e-5)
    with pytest.raises(unalike.ConfigError, match="takes 3"):
        unalike.train(
            federation, gaussian_task(DIMENSION), algorithm, stream=HeldSteps(arrives[2], 2), **options
        )


# --------------------------------------------------------------------------------------- closed forms


def test_one_component_of_one_client_is_the_running_mean_of_batch_means():
    x = drawn(4, clients=1)
    algorithm = gaussian(components=1, em_steps=1)
    means, weights, _ = learned(x, algorithm, [np.zeros(DIMENSION)])
    batches = x.reshape(STEPS, ROWS, DIMENSION).mean(axis=1)
    np.testing.assert_allclose(means[0], batches.sum(0) / (STEPS + 1), atol=1e-5)
    assert weights == pytest.approx(1.0)


def test_one_exchange_by_hand():
    """K = 1, one client, two rows: responsibilities from equal weights, the means they give, half a step."""
    rows, start = np.array([[0.0, 0, 0], [2.0, 0, 0]]), np.array([[0.0, 0, 0], [1.0, 0, 0]])
    means, _, _ = learned(rows[None], gaussian(components=2, em_steps=1, min_mass=0), start, 1, 2)
    r = np.array([[1 / (1 + np.exp(-0.5)), 0], [1 / (1 + np.exp(1.5)), 0]])
    r[:, 1] = 1 - r[:, 0]
    wanted = 0.5 * start + 0.5 * (r.T @ rows) / r.sum(0)[:, None]
    np.testing.assert_allclose(means, wanted, atol=1e-6)


def test_more_exchanges_than_rows_use_each_row_once():
    x, start = drawn(5, rows=2), started()
    means, _, _ = learned(x, gaussian(split=True, em_steps=4), start, 2, 2)
    naive = NaiveFemOMD(start, CLIENTS, em_steps=4, split=True)
    for t in range(2):
        naive.step(list(x[:, 2 * t : 2 * t + 2]))
    np.testing.assert_allclose(means, naive.means, atol=2e-5)
    assert np.isfinite(means).all()


# ----------------------------------------------------------------------------------------- invariances


def test_names_of_components_and_clients_do_not_matter():
    x, start = drawn(6), started()
    means, weights, _ = learned(x, gaussian(), start, steps=3)
    turned, order = [2, 0, 1], [3, 1, 0, 2]
    other_means, other_weights, _ = learned(x[order], gaussian(), start[turned], steps=3)
    np.testing.assert_allclose(other_means, means[turned], atol=1e-5)
    np.testing.assert_allclose(other_weights, weights[order][:, turned], atol=1e-5)


@pytest.mark.parametrize("gradient", ["data", "model"])
def test_weights_stay_in_the_simplex_and_above_the_floor(gradient):
    algorithm = gaussian(weight_rate=5.0, floor=0.01, gradient=gradient)
    _, weights, _ = learned(drawn(7), algorithm, started())
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    assert weights.min() >= 0.01 / (1 + 2 * 0.01) - 1e-6


# ---------------------------------------------------------------------------- guards, absence, baselines


def test_a_component_without_rows_stays_where_it_is_and_so_does_its_counter():
    rng = np.random.default_rng(0)
    x = TRUTH[0] + rng.normal(size=(CLIENTS, ROWS, DIMENSION))
    far = np.vstack([TRUTH[0], 50 + TRUTH[1], -50 + TRUTH[2]])
    means, _, run = learned(x, gaussian(), far, steps=1)
    np.testing.assert_allclose(means[1:], far[1:])
    assert run.state["counts"].tolist() == [2.0, 1.0, 1.0]
    assert np.abs(means[0] - far[0]).max() > 1e-3


def test_clients_with_different_numbers_of_rows_and_without_any_are_served():
    x, start, rows = drawn(8), started(), np.array([7, 7, 7, 0])
    means, weights, _ = learned(x, gaussian(), start, 3, rows)
    naive = NaiveFemOMD(start, CLIENTS, em_steps=2)
    for t in range(3):
        naive.step([x[c, t * n : (t + 1) * n] for c, n in enumerate(rows)])
    np.testing.assert_allclose(means, naive.means, atol=2e-5)
    np.testing.assert_allclose(weights, naive.weights, atol=2e-5)
    np.testing.assert_allclose(weights[3], 1 / 3, atol=1e-7)


def test_the_oracle_keeps_its_means_and_the_static_one_its_weights():
    x = drawn(9)
    means, weights, _ = learned(x, gaussian(learns="weights"), TRUTH, steps=2)
    np.testing.assert_array_equal(means, TRUTH.astype(np.float32))
    assert np.abs(weights - 1 / 3).max() > 1e-3
    means, weights, _ = learned(x, gaussian(learns="components"), started(), steps=2)
    np.testing.assert_allclose(weights, 1 / 3)
    assert np.abs(means - started()).max() > 1e-2


def test_the_recorded_loss_of_a_first_round_is_that_of_the_played_model_on_unseen_rows():
    x, start = drawn(10), started()
    _, _, run = learned(x, gaussian(), start, steps=1)
    logs = mixture_log_density(
        jnp.asarray(start), jnp.full(3, 1 / 3), jnp.asarray(x[:, :ROWS].reshape(-1, 3))
    )
    assert run.metrics()["train_loss"][1] == pytest.approx(-float(logs.mean()), rel=1e-5)


def test_a_round_costs_what_the_method_sends():
    _, _, run = learned(drawn(), gaussian(em_steps=2), started(), steps=1)
    floats = COMPONENTS * DIMENSION
    assert run.metrics()["bytes_down"][1] == 4 * floats * CLIENTS
    assert run.metrics()["bytes_up"][1] == 4 * (floats + COMPONENTS) * 2 // 3 * CLIENTS


# ------------------------------------------------------------------------------------------- k-means


def test_federated_k_means_is_k_means_of_the_pooled_rows():
    x = drawn(11)
    start = started()
    pooled = lloyd([x.reshape(-1, DIMENSION)], start, 20)
    np.testing.assert_allclose(lloyd(list(x), start, 20), pooled, atol=1e-10)
    counts, sums = client_sums(x[0], start)
    assert counts.sum() == STEPS * ROWS
    np.testing.assert_allclose(sums.sum(0), x[0].sum(0))


def test_federated_k_means_finds_well_separated_means():
    x = drawn(12) + 5 * TRUTH[np.zeros(1, int)]
    found = federated_kmeans(list(x), COMPONENTS, seed=1)
    wanted = TRUTH + 5 * TRUTH[0]
    gaps = np.linalg.norm(found[:, None] - wanted, axis=-1)
    assert gaps.min(axis=0).max() < 1
    with pytest.raises(unalike.ConfigError, match="at least 3 rows"):
        federated_kmeans([x[0, :2]], 3)
    assert federated_kmeans([np.zeros((4, 2))], 3).shape == (3, 2)


# ------------------------------------------------------------------------- any task's models as components


def test_one_component_is_averaging_where_the_weights_have_nothing_to_say():
    """With K = 1 a time step is one round of FedOMD and one in which the model stands still."""
    federation = unalike.testing.example_federation()
    task = unalike.testing.example_task(federation)
    work, optimizer = LocalWork(steps=1, batch_size=0), Optimizer("sgd", 0.01)
    both = (
        (FemOMD(components=1, work=work, optimizer=optimizer), 6),
        (FedOMD(work=work, optimizer=optimizer), 3),
    )
    mixed, plain = (unalike.train(federation, task, one, rounds=n, seed=1) for one, n in both)
    gap = unalike.core.pytrees.largest_difference(mixed.state["params"][0], plain.state["params"])
    assert gap < 1e-6


def test_models_are_weighted_by_the_share_that_a_client_has_of_them():
    federation = unalike.testing.example_federation()
    task = unalike.testing.example_task(federation)
    algorithm = FemOMD(
        components=2, work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.05), min_mass=0
    )
    start = algorithm.init(task, jax.random.key(3))
    after = unalike.train(federation, task, algorithm, rounds=1, initial=start).state["params"]
    totals, sums = np.zeros(2), [0.0, 0.0]
    for c, importance in enumerate(federation.importance):
        x, y = federation.train.client(c)
        losses = np.stack([np.asarray(task.losses(p, x, y)) for p in start["params"]], axis=1)
        r = np.exp(-losses) / np.exp(-losses).sum(1, keepdims=True)
        for j, params in enumerate(start["params"]):
            slope = jax.grad(lambda p, w=r[:, j], x=x, y=y: (w * task.losses(p, x, y)).sum())(params)
            own = np.asarray(params["w"] - 0.05 * slope["w"])
            totals[j] += importance * r[:, j].mean()
            sums[j] = sums[j] + importance * r[:, j].mean() * own
    for j in range(2):
        np.testing.assert_allclose(after[j]["w"], sums[j] / totals[j], atol=1e-5)


def test_the_rival_takes_sums_of_gradients():
    federation = unalike.load("quadratic:3,1,4,2", clients=4, seed=2).subset([0, 2, 3])
    task = unalike.Task.regression(unalike.models.linear(0, input_shape=(3,), outputs=1))
    work = LocalWork(steps=1, batch_size=0)
    rows = int(federation.train.sizes[0])
    assert (federation.train.sizes == rows).all()
    one, other = (
        unalike.train(federation, task, method, rounds=3, evaluate_every=0).state["params"]["w"]
        for method in (
            FedOMD(work=work, optimizer=Optimizer("sgd", 0.01)),
            unalike.FedAvg(work=work, optimizer=Optimizer("sgd", 0.01 * rows)),
        )
    )
    np.testing.assert_allclose(one, other, atol=1e-5)


# ------------------------------------------------------------------------------------ contract, refusals


def test_the_gaussian_version_keeps_the_contract():
    federation = clients_of(drawn(13, clients=5))
    task, slow = gaussian_task(DIMENSION), ["every engine"]  # which is tried for mixtures of models
    checks = check_algorithm(gaussian(em_steps=1), federation=federation, task=task, skip=slow)
    assert {"order of clients", "clients keep to themselves"} <= set(checks)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"components": 0}, "at least 1"),
        ({"em_steps": 0}, "at least 1"),
        ({"floor": 0.5}, "floor"),
        ({"min_mass": -1}, "negative"),
        ({"weight_rate": -1.0}, "weight_rate"),
        ({"outer": "median"}, "median"),
        ({"outer": "average:2"}, "above 0"),
        ({"learns": "nothing"}, "nothing"),
        ({"inner_start": "random"}, "random"),
        ({"gradient": "exact"}, "exact"),
    ],
)
def test_impossible_settings_are_refused(options, words):
    with pytest.raises(unalike.ConfigError, match=words):
        gaussian(**options)


def test_a_task_that_is_no_gaussian_is_refused_in_a_sentence():
    federation = unalike.testing.example_federation()
    with pytest.raises(unalike.ConfigError, match="gaussian_task"):
        unalike.train(federation, unalike.testing.example_task(federation), gaussian(), rounds=1)


def test_a_family_must_say_what_its_m_step_is():
    federation = unalike.testing.example_federation()
    with pytest.raises(NotImplementedError, match="must implement estimates"):
        unalike.train(federation, unalike.testing.example_task(federation), OnlineMixture(), rounds=1)


def test_parts_of_an_average_over_time():
    counts = jnp.array([1.0, 4.0])
    assert outer_share("last", counts).tolist() == [1, 1]
    np.testing.assert_allclose(outer_share("running-mean", counts), [0.5, 0.2])
    np.testing.assert_allclose(outer_share("average:0.25", counts), 0.25)
    assert replace(gaussian(), outer="average").outer == "average"


def test_a_timing_whose_clients_start_from_different_models_is_refused():
    with pytest.raises(unalike.ConfigError, match="phases that all clients share"):
        learned(drawn(), gaussian(), started(), timing=unalike.timing.timing_registry.make("async"))
    learned(
        drawn(), gaussian(), started(), steps=1, timing=unalike.timing.timing_registry.make("wait-for-all")
    )


def test_gaussian_components_are_found_by_name_in_a_world_that_changes():
    """From means that are some way off, with the guard and a clock of its own steps."""
    federation = unalike.load("gaussians:3,4,9", clients=8, partition="iid", samples=3000, seed=1)
    task = unalike.Task.of(federation, "gaussian:5")
    algorithm = unalike.algorithms.algorithm_registry.make("fem-omd-gaussian", components=3, em_steps=2)
    assert (algorithm.split, algorithm.min_mass, algorithm.floor, algorithm.outer) == (
        True,
        0,
        0,
        "running-mean",
    )
    algorithm = replace(algorithm, split=False, min_mass=0.5, outer="average:0.5")
    stream = unalike.MemoryStream("mixture:0.5,3,constant:15", "replace")
    truth = np.stack([federation.train.x[federation.train.y == c].mean(axis=0) for c in range(3)])
    first = algorithm.start([jnp.asarray(mean + 2, jnp.float32) for mean in truth])
    run = unalike.train(
        federation, task, algorithm, rounds=60, stream=stream, seed=1, evaluate_every=0, initial=first
    )
    assert np.linalg.norm(truth - np.stack(run.state["params"]), axis=-1).max() < 0.3


def test_a_mixture_of_densities_is_the_density_of_the_mixture():
    task = gaussian_task(2)
    means, x = jnp.asarray([[0.0, 0.0], [3.0, 0.0]]), jnp.asarray([[1.0, 1.0], [2.0, -1.0]])
    mixed = task.mixture(jnp.stack([task.apply(mean, x) for mean in means]), jnp.asarray([0.3, 0.7]))
    np.testing.assert_allclose(mixed, mixture_log_density(means, jnp.asarray([0.3, 0.7]), x), rtol=1e-6)
