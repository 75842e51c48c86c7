"""Do losses and metrics equal their closed forms, and do weights of zero take rows away?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.models import Batch, Task, accuracy, linear, loss_registry, mean_squared_error, mlp
from unalike.models.losses import cross_entropy, logistic

from .filled import filled

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(6, 3)).astype(np.float32)
LABELS = RNG.integers(0, 3, 6)


def test_cross_entropy_is_minus_the_log_of_the_labels_softmax():
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    assert np.allclose(cross_entropy(LOGITS, LABELS), -np.log(softmax[np.arange(6), LABELS]), atol=1e-6)


def test_cross_entropy_survives_huge_logits():
    assert np.allclose(cross_entropy(jnp.array([[1e4, 0.0]]), jnp.array([1])), 1e4)


@pytest.mark.parametrize("shape", [(5,), (5, 1)])
def test_logistic_loss_is_cross_entropy_with_two_classes(shape):
    score, labels = np.linspace(-40, 40, 5).astype(np.float32), np.array([0, 1, 1, 0, 1])
    two = np.stack([np.zeros(5, np.float32), score], 1)
    assert np.allclose(logistic(score.reshape(shape), labels), cross_entropy(two, labels), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("squared_error", lambda gap: 0.5 * gap**2),
        ("absolute_error", np.abs),
        ("huber", lambda gap: np.where(np.abs(gap) <= 1, 0.5 * gap**2, np.abs(gap) - 0.5)),
    ],
)
def test_regression_losses_equal_their_closed_forms_and_sum_over_outputs(name, form):
    predictions, targets = 2 * RNG.normal(size=(6, 2)), 2 * RNG.normal(size=(6, 2))
    assert np.allclose(
        loss_registry[name](predictions, targets), form(predictions - targets).sum(1), atol=1e-6
    )
    # One output may be written with or without its axis.
    one = loss_registry[name](predictions[:, :1], targets[:, 0])
    assert one.shape == (6,)
    assert np.allclose(one, form(predictions[:, 0] - targets[:, 0]), atol=1e-6)


@pytest.mark.parametrize("name", ["squared_error", "absolute_error", "huber"])
def test_a_column_of_targets_is_as_good_as_a_row_of_them(name):
    predictions, targets = RNG.normal(size=6), RNG.normal(size=6)
    expected = loss_registry[name](predictions, targets)
    answer = loss_registry[name](predictions, targets[:, None])
    assert answer.shape == (6,)
    assert np.allclose(answer, expected)


def test_hubers_loss_is_smooth_at_its_threshold():
    slope = jax.vmap(jax.grad(lambda p: loss_registry["huber"](p[None], jnp.zeros(1))[0]))
    assert np.allclose(slope(jnp.array([0.999, 1.001, -0.999, -1.001])), [1, 1, -1, -1], atol=2e-3)


def test_accuracy_counts_the_most_likely_class():
    assert np.array_equal(accuracy(LOGITS, LABELS), (LOGITS.argmax(1) == LABELS).astype(np.float32))
    assert accuracy(jnp.array([[2.0], [-1.0], [3.0]]), jnp.array([1, 1, 0])).tolist() == [1.0, 0.0, 0.0]


def test_mean_squared_error_is_twice_the_half_squared_error():
    predictions, targets = RNG.normal(size=(4, 1)), RNG.normal(size=4)
    assert np.allclose(
        mean_squared_error(predictions, targets), 2 * loss_registry["squared_error"](predictions, targets)
    )


@pytest.fixture(scope="module")
def task():
    return Task.classification(mlp(4, input_shape=(5,), outputs=3), classes=3)


@pytest.fixture(scope="module")
def params(task):
    return filled(task)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return rng.normal(size=(6, 5)).astype(np.float32), rng.integers(0, 3, 6)


@pytest.fixture(scope="module")
def loss_and_gradient(task):
    return jax.jit(task.loss_and_gradient)


def same(a, b, tolerance=1e-6):
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.allclose(x, y, atol=tolerance) for x, y in pairs)


def test_rows_of_weight_zero_change_neither_loss_nor_gradient(params, rows, loss_and_gradient):
    x, y = rows
    alone = loss_and_gradient(params, Batch.of(x[:4], y[:4]))
    weight = jnp.array([1.0, 1, 1, 1, 0, 0])
    for filling in (x[4:], 1e6 * x[4:], x[:2]):
        padded = Batch(jnp.concatenate([x[:4], filling]), jnp.asarray(y), weight, jnp.asarray(4.0))
        assert same(alone, loss_and_gradient(params, padded))


def test_the_loss_is_divided_by_the_number_of_rows_and_not_by_their_weights(
    task, params, rows, loss_and_gradient
):
    x, y = rows
    weights = np.array([0.5, 2.0, 0.0, 1.0, 3.0, 0.25], np.float32)
    each = np.asarray(task.losses(params, x, y))
    assert float(loss_and_gradient(params, Batch.of(x, y, weights))[0]) == pytest.approx(
        float(weights @ each) / 6
    )
    assert float(loss_and_gradient(params, Batch.of(x, y))[0]) == pytest.approx(float(each.mean()))


def test_doubling_all_weights_doubles_the_gradient(params, rows, loss_and_gradient):
    x, y = rows
    once = loss_and_gradient(params, Batch.of(x, y, jnp.ones(6)))
    twice = loss_and_gradient(params, Batch.of(x, y, 2 * jnp.ones(6)))
    assert same(jax.tree.map(lambda leaf: 2 * leaf, once), twice)


def test_a_batch_of_nothing_has_loss_zero(params, rows, loss_and_gradient):
    x, y = rows
    nothing = Batch(jnp.asarray(x), jnp.asarray(y), jnp.zeros(6), jnp.zeros(()))
    assert float(loss_and_gradient(params, nothing)[0]) == 0.0


def test_l2_adds_half_the_squared_norm_and_its_gradient_is_the_parameters(task, params, rows):
    x, y = rows
    heavy = Task.classification(task.model, classes=3, l2=0.3)
    batch = Batch.of(x, y)
    plain, penalized = (jax.jit(jax.value_and_grad(t.loss))(params, batch) for t in (task, heavy))
    norm = sum(float((np.asarray(leaf) ** 2).sum()) for leaf in jax.tree.leaves(params))
    assert float(penalized[0] - plain[0]) == pytest.approx(0.15 * norm, rel=1e-5)
    assert same(jax.tree.map(lambda g, p: g + 0.3 * p, plain[1], params), penalized[1])
    # The penalty is part of training, not of what is measured.
    assert same(heavy.measure(heavy.apply(params, x), y), task.measure(task.apply(params, x), y))


def test_the_gradient_of_logistic_regression_is_its_closed_form():
    task = Task.classification(linear(input_shape=(5,), outputs=3), classes=3)
    rng = np.random.default_rng(2)
    x, y, w = rng.normal(size=(8, 5)), rng.integers(0, 3, 8), rng.normal(size=(5, 3))
    scores = np.exp(x @ w)
    residual = scores / scores.sum(1, keepdims=True) - np.eye(3)[y]
    _, gradient = task.loss_and_gradient({"w": jnp.asarray(w.T), "b": jnp.zeros(3)}, Batch.of(x, y))
    assert np.allclose(gradient["w"], (x.T @ residual / 8).T, atol=1e-5)
    assert np.allclose(gradient["b"], residual.mean(0), atol=1e-5)


def test_measure_gives_loss_and_metrics_for_every_row(task, params, rows):
    x, y = rows
    values = task.measure(task.apply(params, x), y)
    assert {name: value.shape for name, value in values.items()} == {"loss": (6,), "accuracy": (6,)}
    regression = Task.regression(linear(input_shape=(5,), outputs=1))
    assert set(regression.measure(jnp.zeros((6, 1)), jnp.ones(6))) == {"loss", "mse"}


def test_a_custom_task_is_two_functions_and_a_loss():
    task = Task.custom(
        lambda key: {"m": jnp.zeros(())}, lambda p, x: p["m"] + 0 * x[:, 0], loss_registry["squared_error"]
    )
    x = np.arange(4.0)[:, None]
    loss, gradient = task.loss_and_gradient(task.init(jax.random.key(0)), Batch.of(x, x[:, 0]))
    assert float(loss) == pytest.approx(0.5 * (x**2).mean())
    assert float(gradient["m"]) == pytest.approx(-x.mean())


def test_an_unknown_loss_is_refused_with_the_nearest_spelling():
    with pytest.raises(ConfigError, match="did you mean 'cross_entropy'"):
        loss_registry["cross_entrop"]
