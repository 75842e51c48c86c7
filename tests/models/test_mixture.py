"""Is what several models predict together the mean of their predictions, and never of their logits?"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from unalike.errors import ConfigError
from unalike.models import Task, linear
from unalike.models.losses import cross_entropy, logistic, outputs_for, squared_error
from unalike.models.mixture import mixture

MODELS, ROWS, CLASSES = 3, 4, 5
LOGITS = np.random.default_rng(0).normal(scale=3.0, size=(MODELS, ROWS, CLASSES)).astype(np.float32)
SHARES = np.array([0.2, 0.5, 0.3], np.float32)
SHARES_OF_ROWS = np.random.default_rng(1).dirichlet(np.ones(MODELS), ROWS).T.astype(np.float32)


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def sigmoid(logits):
    return 1.0 / (1.0 + np.exp(-logits))


@pytest.mark.parametrize("shares", [SHARES, SHARES_OF_ROWS], ids=["one per model", "one per model and row"])
def test_probabilities_of_classes_are_mixed(shares):
    each = shares.reshape(MODELS, -1, 1)
    naive = (each * softmax(LOGITS)).sum(axis=0)
    np.testing.assert_allclose(np.exp(mixture("logits", LOGITS, shares)), naive, rtol=1e-5)


@pytest.mark.parametrize("shares", [SHARES, SHARES_OF_ROWS], ids=["one per model", "one per model and row"])
def test_probabilities_of_yes_are_mixed(shares):
    """Two classes with one logit, and many labels with one logit each."""
    for logits in (LOGITS[..., 0], LOGITS):
        each = shares.reshape(*shares.shape, *(1,) * (logits.ndim - shares.ndim))
        naive = (each * sigmoid(logits)).sum(axis=0)
        np.testing.assert_allclose(sigmoid(np.asarray(mixture("logit", logits, shares))), naive, rtol=2e-5)


def test_predictions_of_a_regression_are_averaged():
    naive = sum(share * prediction for share, prediction in zip(SHARES, LOGITS, strict=True))
    np.testing.assert_allclose(mixture("values", LOGITS, SHARES), naive, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", [cross_entropy, logistic, squared_error])
def test_a_model_with_all_the_weight_predicts_alone(loss):
    """Up to what a loss does not see: a constant added to the logits of a row."""
    alone = np.asarray(mixture(outputs_for(loss), LOGITS, np.array([0.0, 1.0, 0.0], np.float32)))
    seen = (lambda v: v - v.mean(axis=-1, keepdims=True)) if loss is cross_entropy else (lambda v: v)
    np.testing.assert_allclose(seen(alone), seen(LOGITS[1]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", [cross_entropy, logistic, squared_error])
def test_the_order_of_the_models_does_not_matter(loss):
    order = [2, 0, 1]
    kind = outputs_for(loss)
    there, back = mixture(kind, LOGITS, SHARES), mixture(kind, LOGITS[order], SHARES[order])
    np.testing.assert_allclose(there, back, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", [cross_entropy, logistic])
def test_very_sure_models_give_finite_losses_and_gradients(loss):
    """One of the models puts nearly no probability on what happened, the other of nearly one."""
    outputs = jnp.array([[[1000.0, -1000.0]], [[-1000.0, 1000.0]]])
    labels = jnp.array([0]) if loss is cross_entropy else jnp.array([[1.0, 0.0]])

    def judged(outputs, shares):
        return loss(mixture(outputs_for(loss), outputs, shares), labels).sum()

    for shares in ([0.5, 0.5], [1.0, 0.0]):
        value, slopes = jax.value_and_grad(judged, argnums=(0, 1))(outputs, jnp.array(shares))
        assert np.isfinite(value)
        assert np.isfinite(slopes[0]).all()
    halves = float(judged(outputs, jnp.array([0.5, 0.5])))
    assert halves == pytest.approx(np.log(2.0) * (1 if loss is cross_entropy else 2), rel=1e-5)


def test_a_mixture_is_never_worse_than_the_mean_of_its_models_losses():
    """-log is convex (Jensen)."""
    labels = jnp.array([0, 1, 2, 3])
    together = cross_entropy(mixture("logits", LOGITS, SHARES), labels)
    each = jnp.stack([cross_entropy(jnp.asarray(one), labels) for one in LOGITS])
    assert (np.asarray(together) <= SHARES @ np.asarray(each) + 1e-5).all()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (optax.softmax_cross_entropy_with_integer_labels, cross_entropy),
        (optax.softmax_cross_entropy, cross_entropy),
        (optax.sigmoid_binary_cross_entropy, logistic),
        (optax.l2_loss, squared_error),
    ],
)
def test_losses_that_everybody_knows_are_mixed_as_ours(theirs, ours):
    model = linear(input_shape=(2,), outputs=CLASSES)
    mixed = [Task(model, loss).mixture(LOGITS, SHARES) for loss in (theirs, ours)]
    np.testing.assert_array_equal(*mixed)


def test_a_loss_of_ones_own_says_what_its_outputs_are():
    model = linear(input_shape=(2,), outputs=CLASSES)

    def own(outputs, labels):
        return cross_entropy(outputs, labels)

    told = Task.custom(model.init, model.apply, own, outputs="logits")
    np.testing.assert_array_equal(told.mixture(LOGITS, SHARES), mixture("logits", LOGITS, SHARES))
    with pytest.raises(ConfigError, match="outputs='logits'"):
        Task.custom(model.init, model.apply, own).mixture(LOGITS, SHARES)
    with pytest.raises(ConfigError, match="kind of outputs"):
        Task.custom(model.init, model.apply, own, outputs="logist")
