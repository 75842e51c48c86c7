"""Do clients with a memory predict as the formula says, and can each look after its own?"""

from dataclasses import replace

import jax
import numpy as np
import optax
import pytest

import unalike
from unalike.data import Federation, Split
from unalike.errors import ConfigError
from unalike.memorization import Datastore, Projection, memorize
from unalike.models import Model, Task, linear, mlp
from unalike.models.losses import logistic

from . import naive

SIZES, TESTS, VALIDATION = [12, 1, 7, 30], [5, 2, 0, 9], [4, 0, 3, 5]


def split(sizes, seed, classes=3):
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=(sum(sizes), 4)).astype(np.float32)
    y = (rng.integers(0, 2, sum(sizes)) + owners) % classes
    return Split(x, y.astype(np.int32), np.r_[0, np.cumsum(sizes)].astype(np.int64))


@pytest.fixture(scope="module")
def federation():
    return Federation(split(SIZES, 1), split(VALIDATION, 2), split(TESTS, 3), 3)


@pytest.fixture(scope="module")
def task():
    return Task.classification(mlp(6, input_shape=(4,), outputs=3), 3)


@pytest.fixture(scope="module")
def run(federation, task):
    return unalike.train(federation, task, unalike.FedAvg(), rounds=3, seed=1, devices=1, evaluate_every=0)


def seen(task, params, x):
    """Keys and probabilities of the model by itself."""
    keys = np.asarray(task.model.features(params, x))
    return keys, np.asarray(jax.nn.softmax(task.apply(params, x)))


@pytest.mark.parametrize(
    ("k", "kernel", "sigma"),
    [(1, "euclid", 1.0), (3, "euclid", 0.2), (50, "sq_over_p", 2.0), (4, "uniform", 1.0)],
)
def test_predictions_are_the_naive_ones(run, federation, task, k, kernel, sigma):
    memory = memorize(run, k=k, kernel=kernel, sigma=sigma, choose=0.4)
    for client in (0, 1, 3):
        x, y = federation.train.client(client)
        queries = federation.test.client(client)[0]
        keys, asked = (seen(task, run.message, rows) for rows in (x, queries))
        expected = naive.mixed(keys[0], y, *asked, 0.4, k, kernel=kernel, sigma=sigma)
        assert np.allclose(memory.predict(client, queries), expected, atol=1e-5)


def test_evaluation_has_the_columns_and_numbers_of_the_engine(run, federation):
    found, plain = memorize(run, choose=0.0).evaluate("test"), run.evaluate("test")
    assert list(found) == list(plain)
    for name, column in plain.items():
        assert np.allclose(found[name], column, atol=1e-6, equal_nan=True)
    assert np.isnan(found["accuracy"][2])  # a client without test rows


def test_evaluation_measures_the_predictions(run, federation):
    memory = memorize(run)
    found = memory.evaluate("test")
    x, y = federation.test.client(3)
    said = memory.predict(3, x)
    assert found["accuracy"][3] == pytest.approx((said.argmax(1) == y).mean())
    assert found["loss"][3] == pytest.approx(-np.log(said[np.arange(9), y]).mean(), rel=1e-5)


def test_a_split_without_rows_is_not_measured(run, federation, task):
    empty = replace(federation, test=split([0] * 4, 0))
    found = memorize((task, run.message), empty).evaluate()
    assert not found["samples"].any()
    assert np.isnan(found["loss"]).all()


def test_without_rows_to_remember_the_global_model_predicts(run, federation):
    nothing = memorize(run, capacity=0.0, choose=1.0)
    assert np.allclose(nothing.evaluate()["loss"], run.evaluate()["loss"], atol=1e-6, equal_nan=True)
    assert nothing.explain(0, federation.test.client(0)[0]).share == 0


def test_a_label_that_nobody_has_seen_costs_much_but_not_everything(run, federation, task):
    one = replace(federation, train=replace(federation.train, y=np.zeros_like(federation.train.y)))
    found = memorize((task, run.message), one, choose=1.0).evaluate()["loss"]
    assert np.isfinite(found[[0, 1, 3]]).all()
    assert found[3] > 5


def test_capacity_and_k_may_differ_between_clients(run):
    memory = memorize(run, k=[1, 2, 3, 4], capacity=[0.5, 1.0, 0.0, 0.1])
    assert [len(store) for store in memory.stores] == [6, 1, 0, 3]
    assert [rule.k for rule in memory.rules] == [1, 2, 3, 4]
    assert [len(s) for s in memorize(run, capacity=5).stores] == [5, 1, 5, 5]
    with pytest.raises(ConfigError, match="one for each of 4 clients"):
        memorize(run, k=[1, 2])


@pytest.mark.parametrize("choose", ["loo", "holdout", "kfold", "validation"])
def test_shares_are_chosen_by_each_client(run, choose):
    memory = memorize(run, choose=choose)
    assert memory.shares[1] == 0.3  # one row is too few
    assert set(memory.shares) <= {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}
    assert np.array_equal(memory.shares, memorize(run, choose=choose).shares)


@pytest.mark.parametrize(
    ("capacity", "rows"),
    [
        (5, [5, 1, 5, 5]),
        (0.0, [0, 0, 0, 0]),
        (0, [0, 0, 0, 0]),
        (0.5, [8, 0, 5, 17]),
        ([3, 1, 0.5, 1.0], [3, 1, 5, 35]),
    ],
)
def test_capacity_holds_for_training_and_validation_rows_together(run, capacity, rows):
    memory = memorize(run, capacity=capacity, choose="validation")
    assert [len(store) for store in memory.stores] == rows


def test_validation_rows_are_remembered_once_lambda_is_chosen(run, federation):
    sizes = [len(store) for store in memorize(run, choose="validation").stores]
    assert sizes == [a + b for a, b in zip(SIZES, VALIDATION, strict=True)]
    without = replace(federation, validation=split([0] * 4, 0))
    with pytest.raises(ConfigError, match="needs validation rows"):
        memorize((run.setting.task, run.message), without, choose="validation")


def test_newcomers_remember_with_a_model_they_did_not_train(run, federation, task):
    others = federation.subset([3, 0])
    memory = memorize(run, others)
    assert np.allclose(memory.evaluate()["loss"], memorize(run).evaluate()["loss"][[3, 0]], atol=1e-6)


def test_an_explanation_adds_up_to_the_prediction(run, federation, task):
    memory = memorize(run, k=4, choose=0.6)
    x = federation.test.client(3)[0]
    why = memory.explain(3, x)
    votes = np.stack([(why.weights * (why.labels == c)).sum(1) for c in range(3)], 1)
    assert np.allclose(0.6 * votes + 0.4 * seen(task, run.message, x)[1], why.prediction, atol=1e-5)
    assert (np.diff(why.distances, axis=1) >= 0).all()
    assert np.array_equal(why.labels, federation.train.client(3)[1][why.ids])


def test_a_remembered_row_is_its_own_nearest_neighbor(run, federation):
    memory = memorize(run, k=1, choose=1.0)
    x, y = federation.train.client(3)
    assert np.array_equal(memory.predict(3, x).argmax(1), y)
    assert not memory.explain(3, x).distances.any()


def test_forgetting_a_row_takes_back_its_vote(run, federation):
    memory = memorize(run, k=1, choose=1.0)
    x, _ = federation.train.client(3)
    memory.forget(3, [7])
    assert 7 not in memory.explain(3, x[7:8]).ids
    assert len(memory.stores[0]) == 12  # the others keep theirs


def test_new_rows_are_remembered_by_the_policy_and_answer_at_once(run, federation):
    memory = memorize(run, k=1, choose=1.0)
    x, y = federation.test.client(3)
    memory.update(3, x, y)
    assert len(memory.stores[3]) == 30
    assert np.array_equal(memory.predict(3, x).argmax(1), y)
    memory.update(3, x[:2], y[:2], policy="concat")
    assert len(memory.stores[3]) == 32
    assert memory.stores[3].times[-1] == 2


def test_a_changed_copy_has_a_memory_of_its_own(run, federation):
    memory = memorize(run)
    copies = [memory.changed(k=2), memory.tune("holdout"), memory.with_capacity(1.0)]
    memory.forget(3, [7])
    assert [len(copy.stores[3]) for copy in copies] == [30, 30, 30]


def test_tuning_again_uses_only_training_rows(run, federation):
    memory = memorize(run)
    memory.update(3, *federation.test.client(3), policy="concat")
    assert np.array_equal(memory.tune("loo").shares, memory.shares)


def test_a_saved_store_comes_back_unless_the_model_has_changed(run, tmp_path):
    memory = memorize(run)
    memory.stores[0].save(tmp_path / "store.safetensors")
    store = Datastore.load(tmp_path / "store.safetensors")
    memory.put(0, store)
    other = memorize(
        (run.setting.task, jax.tree.map(lambda leaf: leaf * 2, run.message)), run.setting.federation
    )
    with pytest.raises(ConfigError, match="stale"):
        other.put(0, store)


def test_a_full_projection_changes_nothing_and_a_short_one_makes_keys_short(run):
    plain, turned = memorize(run), memorize(run, projection="pca:6")
    assert np.allclose(plain.evaluate()["loss"], turned.evaluate()["loss"], atol=1e-4, equal_nan=True)
    short = memorize(run, projection="random:2")
    assert short.stores[0].dimension == 2
    assert short.memory()["shared_bytes"] == 4 * (2 * 6 + 6)
    given = memorize(run, projection=Projection(np.eye(6, dtype=np.float32), np.zeros(6, np.float32)))
    assert np.allclose(given.evaluate()["loss"], plain.evaluate()["loss"], atol=1e-6, equal_nan=True)
    with pytest.raises(ConfigError, match="cannot be projected to 9"):
        memorize(run, projection="pca:9")


def test_keys_in_half_precision_hardly_matter(run):
    memory = memorize(run)
    packed = memory.packed("float16")
    assert np.allclose(packed.evaluate()["loss"], memory.evaluate()["loss"], atol=1e-2, equal_nan=True)
    assert packed.memory()["bytes"] < memory.memory()["bytes"]


def test_a_loss_of_optax_is_memorized_as_ours(run, federation, task):
    theirs = Task(task.model, optax.softmax_cross_entropy_with_integer_labels, task.metrics)
    ours, same = memorize(run), memorize((theirs, run.message), federation)
    assert np.array_equal(same.shares, ours.shares)
    assert np.allclose(same.evaluate()["loss"], ours.evaluate()["loss"], rtol=1e-6, equal_nan=True)


def test_a_representation_can_be_given(run, federation):
    memory = memorize(run, k=1, choose=1.0, features=lambda params, x: x)
    assert np.array_equal(memory.stores[0].keys, federation.train.client(0)[0])


def test_a_model_without_representation_or_with_odd_labels_is_refused(federation, task):
    bare = Task.classification(Model(task.model.init, task.model.apply), 3)
    params = task.init(jax.random.key(0))
    with pytest.raises(ConfigError, match="no `features`"):
        memorize((bare, params), federation)
    strange = Task(task.model, lambda outputs, y: outputs[:, 0])
    with pytest.raises(ConfigError, match="outputs='logits'"):
        memorize((strange, params), federation)
    with pytest.raises(ConfigError, match="cross-entropy"):
        memorize((replace(strange, outputs="values"), params), federation)
    with pytest.raises(ConfigError, match="need the federation"):
        memorize((task, params))


def test_parameters_that_are_not_one_model_are_refused(run, federation, task):
    with pytest.raises(ConfigError, match="one model for all"):
        memorize((task, [run.message, run.message]), federation)


def test_a_regression_mixes_means():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(9, 2)).astype(np.float32)
    part = Split(x, x.sum(1), np.array([0, 9]))
    federation = Federation(part, part, part, None)
    task = Task.regression(linear(input_shape=(2,), outputs=1))
    params = {"w": np.ones((1, 2), np.float32), "b": np.ones(1, np.float32)}
    memory = memorize((task, params), federation, k=1, choose=0.25)
    # The nearest row is the row itself, and the model is wrong by one.
    assert np.allclose(memory.predict(0, x)[:, 0], x.sum(1) + 0.75, atol=1e-5)
    assert memory.evaluate()["mse"][0] == pytest.approx(0.5625, rel=1e-4)
    assert memorize((task, params), federation, k=1).shares[0] in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)


def test_one_logit_mixes_chances():
    x = np.float32([[0.0], [1.0]])
    part = Split(x, np.array([0, 1], np.int32), np.array([0, 2]))
    task = replace(Task.regression(linear(input_shape=(1,), outputs=1)), sample_loss=logistic, metrics={})
    params = {"w": np.zeros((1, 1), np.float32), "b": np.zeros(1, np.float32)}
    memory = memorize((task, params), Federation(part, part, part, 2), k=1, choose=0.5)
    assert np.allclose(memory.predict(0, x)[:, 0], [0.25, 0.75])
    assert memory.evaluate()["loss"][0] == pytest.approx(-np.log(0.75), rel=1e-5)
