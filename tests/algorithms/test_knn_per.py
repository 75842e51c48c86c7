"""Does the compiled kNN-Per predict as the library does on the host, and train as FedAvg?"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike.algorithms import FedAvg, LocalWork
from unalike.algorithms.knn_per import KNNPer
from unalike.core.pytrees import largest_difference
from unalike.data import Federation, Split
from unalike.engine import Setting, engine_registry
from unalike.errors import ConfigError
from unalike.memorization import GRID, memorize, search
from unalike.memorization.compiled_knn import FixedStore, ask_own, nearest
from unalike.memorization.neighbors import search_others
from unalike.memorization.voting_rule import Rule
from unalike.models import Model, Task, mlp

SIZES, TESTS = [12, 1, 7, 30, 4], [5, 2, 0, 9, 3]
WORK = LocalWork(epochs=1, batch_size=4)


def split(sizes, seed):
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=(sum(sizes), 4)).astype(np.float32)
    x[1::5] = x[:1]  # duplicates, which make ties
    y = (rng.integers(0, 2, sum(sizes)) + owners) % 3
    return Split(x, y.astype(np.int32), np.r_[0, np.cumsum(sizes)].astype(np.int64))


@pytest.fixture(scope="module")
def federation():
    return Federation(split(SIZES, 1), split([0] * 5, 2), split(TESTS, 3), 3)


@pytest.fixture(scope="module")
def task():
    return Task.classification(mlp(6, input_shape=(4,), outputs=3), 3)


def trained(federation, task, algorithm, **options):
    settings = {"rounds": 2, "seed": 1, "devices": 1, "evaluate_every": 0, **options}
    return unalike.train(federation, task, algorithm, **settings)


@pytest.fixture(scope="module")
def plain(federation, task):
    return trained(federation, task, FedAvg(work=WORK))


def same(found, expected, tolerance=1e-5):
    for name, column in expected.items():
        assert np.allclose(found[name], column, atol=tolerance, equal_nan=True), name


def judged(federation, task, plain, **options):
    """The compiled method on a model that is there already."""
    return trained(federation, task, KNNPer(work=WORK, **options), rounds=0, initial=plain.state)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 1, "choose": 1.0},
        {"k": 100, "kernel": "sq_over_p", "sigma": 0.3},
        {"k": 3, "kernel": "uniform", "choose": 0.3},
    ],
)
def test_the_compiled_method_agrees_with_the_library(federation, task, plain, options):
    run = judged(federation, task, plain, **options)
    same(run.evaluate(), memorize(plain, **options).evaluate())


@pytest.mark.exact
def test_it_trains_as_fedavg_and_sends_the_same(federation, task, plain):
    run = trained(federation, task, KNNPer(work=WORK))
    assert largest_difference(run.state, plain.state) == 0
    for name in ("bytes_up", "bytes_down"):
        assert np.array_equal(run.metrics()[name], plain.metrics()[name], equal_nan=True)


def test_no_share_and_no_capacity_leave_the_global_model(federation, task, plain):
    for options in ({"choose": 0.0}, {"capacity": 0.0, "choose": 1.0}):
        same(judged(federation, task, plain, **options).evaluate(), plain.evaluate())


def predictor(federation, task, plain, client, seed=1, **options):
    """What a client predicts with, outside any compiled program."""
    algorithm = KNNPer(**options)
    engine = engine_registry.make("debug", setting=Setting(federation, task, algorithm, seed))
    data = engine.client_data(0, client, algorithm.evaluation_work)
    return algorithm.predictor(task, plain.message, {}, data, data.key)


@pytest.mark.parametrize("choose", ["loo", 0.5])
def test_a_part_of_the_rows_is_remembered_and_asked_as_the_library_would(federation, task, plain, choose):
    made = predictor(federation, task, plain, 3, capacity=0.4, choose=choose)
    kept = np.flatnonzero(made["store"].kept)
    assert len(kept) == 12
    memory = memorize(plain)
    memory.stores[3] = memory.stores[3].take(kept)
    memory = memory.tune(choose)
    assert float(made["share"]) == pytest.approx(memory.shares[3])
    x = federation.test.client(3)[0]
    said = jnp.exp(KNNPer(capacity=0.4).predict(task, made, x))
    assert np.allclose(said, memory.predict(3, x), atol=1e-5)


@pytest.mark.parametrize(("capacity", "rows"), [(1, 1), (1.0, 30), (20, 20), (500, 30), (0, 0)])
def test_capacity_means_the_same_as_in_the_library(federation, task, plain, capacity, rows):
    made = predictor(federation, task, plain, 3, capacity=capacity, choose=0.5)
    assert int(made["store"].kept.sum()) == len(memorize(plain, capacity=capacity).stores[3]) == rows


def test_clients_with_few_rows_do_not_choose(federation, task, plain):
    shares = [float(predictor(federation, task, plain, client)["share"]) for client in (1, 4)]
    assert shares == pytest.approx([0.3, 0.3])
    assert float(predictor(federation, task, plain, 1, capacity=0.5)["share"]) == 0


def test_chance_has_a_part_only_where_something_is_drawn(federation, task, plain):
    whole, part = (
        [
            np.asarray(predictor(federation, task, plain, 3, seed=s, choose=0.5, **o)["store"].kept)
            for s in (1, 2)
        ]
        for o in ({}, {"capacity": 0.5})
    )
    assert np.array_equal(*whole)
    assert not np.array_equal(*part)


def test_held_out_rows_are_a_fifth_and_not_in_the_store_they_are_looked_up_in(federation, task, plain):
    made = predictor(federation, task, plain, 3, choose="holdout")
    assert int(made["store"].kept.sum()) == 30
    assert np.isclose(float(made["share"]), GRID).any()


def test_rows_whose_key_is_not_finite_are_not_remembered(federation, task, plain):
    spoilt = replace(federation.train, x=federation.train.x.copy())
    spoilt.x[15] = np.inf
    made = predictor(replace(federation, train=spoilt), task, plain, 2)
    assert int(made["store"].kept.sum()) == 6
    assert np.isfinite(made["store"].keys).all()


def test_one_class_is_predicted_by_every_neighbor(federation, task, plain):
    train = replace(federation.train, y=np.full_like(federation.train.y, 2))
    alike = replace(
        federation, train=train, test=replace(federation.test, y=np.full_like(federation.test.y, 2))
    )
    found = judged(alike, task, plain, choose=1.0).evaluate()
    assert np.nanmin(found["accuracy"]) == 1
    assert np.nanmax(found["loss"]) < 1e-5


def test_a_regression_agrees_with_the_library():
    rng = np.random.default_rng(5)

    def part(sizes):
        x = rng.normal(size=(sum(sizes), 3)).astype(np.float32)
        return Split(x, np.sin(x.sum(1)), np.r_[0, np.cumsum(sizes)].astype(np.int64))

    federation = Federation(part([9, 20]), part([0, 0]), part([4, 6]), None)
    task = Task.regression(mlp(5, input_shape=(3,), outputs=1))
    run = trained(federation, task, KNNPer(work=WORK, k=3))
    same(run.evaluate(), memorize(run, k=3).evaluate())


@pytest.mark.parametrize("seed", range(5))
def test_the_compiled_search_is_the_search(seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(-2, 3, (40, 3)).astype(np.float32)
    kept = rng.random(40) < (0.1 if seed == 0 else 0.7)
    queries = rng.integers(-2, 3, (6, 3)).astype(np.float32)
    distances, rows = nearest(jnp.asarray(keys), jnp.asarray(kept), jnp.asarray(queries), 7)
    found = search(keys[kept], queries, 7)
    places, there = np.flatnonzero(kept)[found.rows], found.rows.shape[1]
    assert np.array_equal(rows[:, :there], places)
    assert np.allclose(distances[:, :there], found.distances, atol=1e-6)
    assert np.isinf(distances[:, there:]).all()


@pytest.mark.parametrize(("rows", "width"), [(100, 64), (300, 3)])
def test_neighbors_in_groups_that_are_far_apart_are_those_of_double_precision(rows, width):
    """Two clouds at -100 and 100, whose rows are 0.05 apart: products of single precision cannot tell."""
    rng = np.random.default_rng(0)
    sides = np.where(rng.random((rows + 20, 1)) < 0.5, -100.0, 100.0)
    points = (sides + 0.05 * rng.normal(size=(rows + 20, width))).astype(np.float32)
    keys, queries = points[:rows], points[rows:]
    exact = np.linalg.norm(queries[:, None].astype(np.float64) - keys.astype(np.float64), axis=2)
    distances, found = nearest(jnp.asarray(keys), jnp.ones(rows, bool), jnp.asarray(queries), 10)
    np.testing.assert_array_equal(found, np.argsort(exact, axis=1)[:, :10])
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :10], rtol=1e-5)
    mine = nearest(jnp.asarray(keys), jnp.ones(rows, bool), jnp.asarray(keys), 5, own=jnp.arange(rows))[1]
    np.testing.assert_array_equal(mine, search_others(keys, 5).rows)


def test_rows_are_asked_about_in_blocks_without_themselves():
    rng = np.random.default_rng(0)
    task = Task.classification(Model(lambda key: {}, lambda params, x: x), 3)
    keys, labels = rng.normal(size=(300, 2)).astype(np.float32), rng.integers(0, 3, 300)
    common = np.full((300, 3), 1 / 3, np.float32)
    store = FixedStore(jnp.asarray(keys), jnp.asarray(labels), jnp.asarray(common), jnp.ones(300, bool))
    assert np.allclose(
        ask_own(task, Rule(4), store), Rule(4).ask_others(task, keys, labels, common), atol=1e-5
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"sigma": 0.0}, "sigma must be a positive number"),
        ({"sigma": "median"}, "sigma must be a number here"),
        ({"kernel": "euclids"}, "did you mean 'euclid'"),
        ({"capacity": 1.5}, "capacity must be"),
        ({"capacity": True}, "capacity must be"),
        ({"choose": "looo"}, "did you mean 'loo'"),
        ({"choose": 2.0}, "between 0 and 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        KNNPer(**options)


def test_a_model_without_representation_is_refused_before_training_unless_one_is_given(federation, task):
    bare = Task.classification(Model(task.model.init, task.model.apply), 3)
    with pytest.raises(ConfigError, match="no `features`"):
        trained(federation, bare, KNNPer())
    given = KNNPer(features=task.model.features)
    assert given.prepare(bare, federation) is given
