"""Are rows of PyTorch's data sets read as they are, without PyTorch?"""

import warnings

import numpy as np
import pytest

from unalike.data import Federation
from unalike.data.new_rows import read_features
from unalike.errors import DataError

X, Y = np.random.default_rng(0).normal(size=(6, 3, 8, 7)).astype(np.float32), np.arange(6) % 2


class Tensor:
    """As far as can be seen from outside, a tensor."""

    __module__ = "torch"

    def __init__(self, array):
        self.array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return self.array


class Dataset:
    __module__ = "torch.utils.data.dataset"


class Images(Dataset):
    def __init__(self, x=X, y=Y, transform=lambda row: row):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return Tensor(self.transform(self.x[i])), int(self.y[i])


def clients(**given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Federation.from_clients(given, test_fraction=0)


def test_rows_come_with_their_channels_last():
    federation = clients(data=Images(), tensors=(Tensor(X), Tensor(Y)), arrays=(X.transpose(0, 2, 3, 1), Y))
    assert federation.input_shape == (8, 7, 3)
    assert federation.classes == 2
    for i in range(3):
        x, y = federation.train.client(i)
        np.testing.assert_array_equal(x, X.transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(y, Y)


def test_images_that_have_their_channels_last_stay():
    last = X.transpose(0, 2, 3, 1)
    assert clients(a=(Tensor(last), Y)).input_shape == clients(a=Images(last)).input_shape == (8, 7, 3)


def test_other_rows_stay_as_they_are():
    assert clients(a=(Tensor(X[:, 0]), Tensor(Y)), b=Images(X[:, 0])).input_shape == (8, 7)


def test_parts_may_be_data_sets():
    federation = clients(a={"train": Images(), "test": Images(X[:2], Y[:2])})
    assert (len(federation.train.x), len(federation.test.x)) == (6, 2)


def test_transforms_are_applied_once_and_random_ones_are_warned_of():
    calls = []
    clients(a=Images(transform=lambda row: calls.append(1) or row))
    assert len(calls) == 12  # every row, and all of few rows once more
    rng = np.random.default_rng(0)
    noisy = Images(transform=lambda row: row + rng.normal())
    with pytest.warns(
        UserWarning, match="client 'a': transforms of its Images draw at random; they are applied"
    ):
        Federation.from_clients({"a": noisy})


def test_what_cannot_be_read_is_refused():
    class Alone(Images):
        def __getitem__(self, i):
            return Tensor(self.x[i])

    class Sizes(Images):
        def __getitem__(self, i):
            return Tensor(self.x[i][:, : 5 + i % 2]), 0

    for dataset, words in [
        (Alone(), r"client 'a' has a data set whose rows are no pairs \(x, y\) but Tensor"),
        (Sizes(), r"rows of shape \(5, 7, 3\) and of shape \(6, 7, 3\); let a transform"),
        (Images(X[:0]), "client 'a' has an empty list of rows"),
    ]:
        with pytest.raises(DataError, match=words):
            clients(a=dataset)


def test_new_rows_may_be_tensors():
    about = clients(a=Images())
    np.testing.assert_array_equal(read_features(about, Tensor(X)), X.transpose(0, 2, 3, 1))
