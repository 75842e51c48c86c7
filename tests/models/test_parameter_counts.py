"""Do the models have as many parameters as the studies that they come from say?"""

import jax
import numpy as np
import pytest

from unalike.core import pytrees
from unalike.errors import ConfigError
from unalike.models import model_registry


def shapes(spec, input_shape, outputs):
    model = model_registry.make(spec, input_shape=input_shape, outputs=outputs)
    return jax.eval_shape(model.init, jax.random.key(0))


@pytest.mark.parametrize(
    ("spec", "input_shape", "outputs", "count"),
    [
        ("linear", (784,), 10, 7_850),
        ("linear", (28, 28, 1), 10, 7_850),
        ("linear:0", (784,), 10, 7_840),
        ("mlp:50", (784,), 10, 39_760),
        ("mlp:200,200", (28, 28), 10, 199_210),
        ("mlp", (8, 8, 1), 10, 64 * 64 + 64 + 64 * 10 + 10),
        ("cnn", (28, 28, 1), 10, 1_663_370),
        ("cnn-small", (32, 32, 3), 10, 122_570),
        ("cnn-wide", (32, 32, 3), 10, 3_353_034),
        ("cnn-femnist", (28, 28, 1), 62, 1_206_590),
        ("cnn-femnist", (28, 28), 62, 1_206_590),
        ("lstm", (80,), 100, 135_700),
        ("rnn", (80,), 100, 226_180),
    ],
)
def test_parameters_are_as_many_as_in_the_literature(spec, input_shape, outputs, count):
    assert pytrees.size(shapes(spec, input_shape, outputs)) == count


@pytest.mark.parametrize(("gates", "spec"), [(4, "lstm:5,3,3"), (3, "gru:5,3,3"), (1, "rnn:5,3,3")])
def test_a_recurrent_layer_has_two_matrices_and_two_biases_for_each_gate(gates, spec):
    layers = gates * 5 * ((3 + 5 + 2) + (5 + 5 + 2) + (5 + 5 + 2))
    assert pytrees.size(shapes(spec, (8,), 7)) == 7 * 3 + layers + 5 * 7 + 7


def test_dropout_has_no_parameters():
    assert pytrees.size(shapes("cnn-small:0.2", (32, 32, 3), 10)) == 122_570


@pytest.mark.parametrize("spec", ["cnn", "cnn-small", "cnn-wide", "cnn-femnist"])
def test_a_convolutional_model_of_vectors_is_refused(spec):
    with pytest.raises(ConfigError, match=r"needs images, but the inputs have shape \(784,\)"):
        shapes(spec, (784,), 10)


@pytest.mark.parametrize(
    ("spec", "smallest"), [("cnn", 4), ("cnn-small", 18), ("cnn-wide", 16), ("cnn-femnist", 6)]
)
def test_images_that_vanish_on_the_way_are_refused(spec, smallest):
    shapes(spec, (smallest, smallest, 3), 10)
    with pytest.raises(ConfigError, match=rf"images of {smallest - 1}x\d+ are too small"):
        shapes(spec, (smallest - 1, 40, 3), 10)
    with pytest.raises(ConfigError, match="too small"):
        shapes(spec, (40, smallest - 1, 3), 10)


@pytest.mark.parametrize("spec", ["mlp:wide", "mlp:0", "mlp:-3", "cnn-small:1.5", "lstm:ten"])
def test_an_argument_that_makes_no_sense_is_refused_in_words(spec):
    with pytest.raises(ConfigError):
        shapes(spec, (32, 32, 3), 10)


def test_layers_are_drawn_uniformly_within_one_over_the_root_of_their_inputs():
    first, last = model_registry.make("mlp:50", input_shape=(400,), outputs=3).init(jax.random.key(3))
    for layer, inputs in ((first, 400), (last, 50)):
        assert np.abs(layer["w"]).max() <= inputs**-0.5
    # The variance of a uniform variable on [-a, a] is a^2 / 3.
    assert np.var(first["w"]) == pytest.approx(1 / 400 / 3, rel=0.03)
    assert abs(float(np.mean(first["w"]))) < 4 * (1 / 400 / 3 / 20_000) ** 0.5


def test_another_key_gives_another_start_and_the_same_key_the_same():
    model = model_registry.make("mlp:50", input_shape=(400,), outputs=3)
    one, again, other = (model.init(jax.random.key(seed)) for seed in (1, 1, 2))
    assert pytrees.largest_difference(one, again) == 0.0
    assert pytrees.largest_difference(one, other) > 0.0
