"""Bad input is one sentence that names the client."""

import dataclasses

import numpy as np
import pytest

from unalike.data import Federation, validate
from unalike.errors import ConfigError, DataError

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 0, 1])


def bad(x=X, y=Y, **options):
    """A good client, then one that is not."""
    return Federation.from_clients({"good": (X, Y), "culprit": (x, y)}, **options)


def with_value(value):
    x = X.copy()
    x[2, 1] = value
    return x


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (with_value(np.nan), Y, "missing or infinite feature"),
        (with_value(np.inf), Y, "missing or infinite feature"),
        (X.astype(np.float64) * 1e300, Y, "missing or infinite feature"),
        (X[:3], Y, "one target per row"),
        (X[:, :2], Y, "same columns"),
        (X.astype(np.int64), Y, "convert them to one type"),
        (X, Y - 1, "label -1"),
        (X.astype(object), Y, "convert them to numbers"),
        (X, Y.astype(object), "convert them to numbers or words"),
        (X, np.array(["a", "b", "a", "b"]), "words as labels"),
        (X, Y.astype(np.float32), "convert them to one type"),
        (X[:0], Y[:0], "no training rows"),
        ([], [], "empty list of rows"),
        (X[:, 0], Y, "must be"),
        (X.astype(str), Y, "convert them to numbers"),
    ],
)
def test_the_client_is_named(x, y, words):
    with pytest.raises(DataError, match=words) as caught:
        bad(x, y)
    assert "'culprit'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("label", [5, 2**31, 2**32])
def test_a_label_out_of_range_is_named(label):
    with pytest.raises(DataError, match=r"'culprit' has label .* from 0 to 1"):
        bad(y=np.array([0, 1, label, 0]), classes=2, test_fraction=0)


def test_a_missing_target_of_a_regression_is_named():
    targets = np.array([0.5, np.nan, 1.0, 2.0])
    with pytest.raises(DataError, match="'culprit' has a missing or infinite target"):
        Federation.from_clients({"good": (X, Y / 2), "culprit": (X, targets)})


def test_bad_test_rows_are_found_too():
    parts = {"train": (X, Y), "test": (with_value(np.nan), Y)}
    with pytest.raises(DataError, match="'culprit' has a missing or infinite feature in its test rows"):
        Federation.from_clients({"good": (X, Y), "culprit": parts})


@pytest.mark.parametrize("given", [{"test": (X, Y)}, {"train": (X, Y), "tets": (X, Y)}, X, 3, (X,)])
def test_neither_a_pair_nor_parts(given):
    with pytest.raises(DataError, match="'culprit'"):
        Federation.from_clients({"culprit": given})


def test_no_clients():
    with pytest.raises(DataError, match="no clients"):
        Federation.from_clients({})


def test_names_that_are_equal_as_text():
    with pytest.raises(DataError, match="'1' appears more than once"):
        Federation.from_clients({"1": (X, Y), 1: (X, Y)})


def test_a_missing_class_and_a_single_sample_are_fine():
    federation = Federation.from_clients({"all": (X, Y), "one": (X[:1], Y[:1])})
    assert federation.train.sizes.tolist() == [3, 1]


def test_offsets_that_do_not_fit():
    federation = bad()
    broken = dataclasses.replace(federation.train, offsets=federation.train.offsets + 1)
    with pytest.raises(DataError, match="offsets of the train rows"):
        validate(dataclasses.replace(federation, train=broken))


def test_impossible_fractions():
    with pytest.raises(ConfigError, match="nothing to train on"):
        bad(test_fraction=1.0)
