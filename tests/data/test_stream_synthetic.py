"""Is the synthetic data set of streams the published one?"""

import numpy as np
import pytest

import unalike
from unalike.data.sources.stream_synthetic import draw_teachers
from unalike.errors import ConfigError


@pytest.mark.parametrize(("fraction", "each"), [(0.05, 1), (0.2, 4), (0.5, 10)])
def test_ten_historical_clients_share_a_part_of_two_hundred_rows(fraction, each):
    made = unalike.load("synthetic_stream", historical_share=fraction)
    assert made.train.sizes.tolist() == [each] * 10 + [200 - 10 * each]
    assert made.test.sizes.tolist() == [200] * 11
    assert made.input_shape == (20,)
    assert made.classes == 2


def test_clients_and_their_tests_are_the_same_at_every_share():
    few, many = (unalike.load("synthetic_stream", historical_share=f, seed=4) for f in (0.05, 0.5))
    np.testing.assert_array_equal(few.test.x, many.test.x)
    np.testing.assert_array_equal(few.test.y, many.test.y)
    assert unalike.load("synthetic_stream", seed=5).test.y.tolist() != few.test.y.tolist()


def test_labels_follow_the_teachers():
    made = unalike.load(
        "synthetic_stream:0.5,3", clients=4, samples=40_000, historical_clients=2, historical_share=0.5
    )
    for client, teacher in enumerate(draw_teachers(4, 3, 0.5, seed=0)):
        x, y = made.train.client(client)
        assert np.abs(x).max() <= 1
        assert abs(x.mean()) < 0.02
        expected = 1 / (1 + np.exp(-x @ teacher))
        for low in (0.2, 0.4, 0.6):  # as many ones as the model says, where it says so
            near = np.abs(expected - low - 0.1) < 0.1
            assert y[near].mean() == pytest.approx(expected[near].mean(), abs=0.04)


def test_validation_rows_come_out_of_training_rows_and_return_to_them():
    whole = unalike.load("synthetic_stream", historical_share=0.2)
    cut = unalike.load("synthetic_stream", historical_share=0.2, validation_fraction=0.2)
    assert cut.train.sizes.tolist() == [3] * 10 + [128]
    assert (cut.train.sizes + cut.validation.sizes).tolist() == whole.train.sizes.tolist()
    again = cut.with_validation_in_training().train.client(10)[0]
    np.testing.assert_array_equal(np.sort(again, axis=0), np.sort(whole.train.client(10)[0], axis=0))


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("synthetic_stream:-1", {}, "must not be negative"),
        ("synthetic_stream", {"samples": 20}, "10 clients cannot share 4 rows"),
        ("synthetic_stream", {"historical_clients": 11}, "11 of 11 clients are historical"),
        ("synthetic_stream:0.1,0", {}, "the dimension is 0"),
        ("synthetic_stream", {"partition": "iid"}, "clients of its own"),
    ],
)
def test_what_is_impossible_is_one_sentence(name, given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        unalike.load(name, **given)
