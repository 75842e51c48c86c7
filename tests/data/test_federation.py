"""Flat arrays with offsets: nothing is lost, doubled or padded."""

import time
from dataclasses import replace

import numpy as np
import pytest

from unalike.core.pixels import as_floats
from unalike.data import Federation, Split, load
from unalike.errors import DataError


def numbered(clients=5, rows=40, **options):
    """Rows that carry their own number, so that they can be followed."""
    owners = np.arange(rows) * 7 % clients
    x = np.arange(rows, dtype=np.float32)[:, None]
    return Federation.from_owners(x, owners % 3, owners, **options)


def all_rows(federation):
    return np.sort(
        np.concatenate([part.x[:, 0] for part in (federation.train, federation.validation, federation.test)])
    )


def test_a_split_serves_views_of_one_clients_rows():
    split = Split(np.arange(6).reshape(6, 1), np.arange(6), np.array([0, 2, 2, 6]))
    x, y = split.client(2)
    assert y.tolist() == [2, 3, 4, 5]
    assert np.shares_memory(x, split.x)
    assert split.sizes.tolist() == [2, 0, 4]
    assert split.owners.tolist() == [0, 0, 2, 2, 2, 2]
    assert split.owners.dtype == np.int32


def test_no_row_is_lost_or_used_twice():
    federation = numbered(test_fraction=0.3, validation_fraction=0.2)
    np.testing.assert_array_equal(all_rows(federation), np.arange(40))


def test_rows_stay_with_their_owner_in_order():
    federation = numbered()
    for i in range(5):
        mine = federation.train.client(i)[0][:, 0]
        assert (mine * 7 % 5 == i).all()
        assert (np.diff(mine) > 0).all()


def test_importance_is_the_share_of_training_rows():
    federation = Federation.from_owners(np.zeros((4, 1)), np.zeros(4), np.array([0, 1, 1, 1]))
    np.testing.assert_array_equal(federation.importance, [0.25, 0.75])
    assert federation.importance.dtype == np.float64


def test_label_counts_equal_a_naive_count():
    federation = numbered(test_fraction=0.2)
    naive = [[int((federation.train.client(i)[1] == c).sum()) for c in range(3)] for i in range(5)]
    np.testing.assert_array_equal(federation.label_counts(), naive)


def test_clients_without_names_are_called_by_number():
    assert numbered().name(3) == "3"


def test_a_subset_keeps_rows_and_names():
    federation = numbered(test_fraction=0.25)
    some = federation.subset([4, 1])
    assert [some.name(i) for i in range(len(some))] == ["4", "1"]
    for new, old in enumerate((4, 1)):
        np.testing.assert_array_equal(some.train.client(new)[0], federation.train.client(old)[0])
        np.testing.assert_array_equal(some.test.client(new)[1], federation.test.client(old)[1])


def test_splitting_again_only_cuts_training_rows():
    federation = numbered(test_fraction=0.2)
    again = federation.with_split(0.0, 0.5, seed=3)
    np.testing.assert_array_equal(again.test.x, federation.test.x)
    np.testing.assert_array_equal(all_rows(again), np.arange(40))
    assert (again.validation.sizes == 3).all()


def test_from_clients_reads_pairs_and_parts():
    x = np.arange(10.0).reshape(5, 2)
    federation = Federation.from_clients(
        {"pair": (x, [0, 1, 2, 0, 1]), "parts": {"train": (x[:2], [1, 1]), "test": (x[2:], [0, 0, 0])}}
    )
    assert federation.names == ("pair", "parts")
    assert federation.classes == 3
    assert federation.train.sizes.tolist() == [4, 2]
    assert federation.test.sizes.tolist() == [1, 3]
    assert federation.validation.sizes.tolist() == [0, 0]
    np.testing.assert_array_equal(federation.test.client(1)[0], x[2:])


def test_types_are_brought_to_32_bits():
    x, y = np.zeros((3, 2)), np.array([0, 1, 1])
    assert Federation.from_clients({"a": (x, y)}).train.x.dtype == np.float32
    assert Federation.from_clients({"a": (x, y)}).train.y.dtype == np.int32
    regression = Federation.from_clients({"a": (x, y / 2)})
    assert (regression.train.y.dtype, regression.classes) == (np.float32, None)
    assert Federation.from_clients({"a": (x.astype(int), y)}).train.x.dtype == np.int32


def test_images_stay_bytes_and_are_seen_as_floats_up_to_one():
    images = np.full((2, 3, 3, 1), 255, np.uint8)
    stored = Federation.from_clients({"a": (images, [0, 1])}).train.x
    assert stored.dtype == np.uint8
    assert (as_floats(stored) == np.float32(1)).all()


def test_words_become_labels_in_alphabetical_order():
    federation = Federation.from_clients(
        {"a": (np.eye(2), ["cat", "dog"]), "b": (np.eye(2), ["ant", "dog"])}, test_fraction=0
    )
    assert federation.label_names == ("ant", "cat", "dog")
    assert federation.train.y.tolist() == [1, 2, 0, 2]


def test_whole_floats_are_labels_when_classes_are_given():
    federation = Federation.from_clients({"a": (np.eye(2), [0.0, 1.0])}, classes=4)
    assert (federation.train.y.dtype, federation.classes) == (np.int32, 4)


def test_parts_must_speak_of_the_same_clients():
    one, two = (Split(np.zeros((0, 1)), np.zeros(0), np.zeros(n + 1, np.int64)) for n in (1, 2))
    with pytest.raises(DataError, match="same number of clients"):
        Federation(one, one, two, None)


def test_a_million_clients_are_quick():
    owners = np.arange(2_000_000) % 1_000_000
    start = time.perf_counter()
    federation = Federation.from_owners(np.zeros((2_000_000, 1), np.float32), owners % 2, owners)
    assert len(federation) == 1_000_000
    assert federation.name(999_999) == "999999"
    assert time.perf_counter() - start < 5  # about half a second on a free core


def test_a_federation_is_shown_in_a_few_lines():
    digits = repr(load("digits", clients=50))
    assert digits.startswith("Federation of 50 clients\n  rows: ")
    assert "target: 10 classes" in digits
    long = ["a name that goes on and on" * 9] * 300
    clients = {f"{name} {i}": (np.ones((3, 300)), ["ill", "well", "ill"]) for i, name in enumerate(long)}
    wordy = replace(
        Federation.from_clients(clients), columns=tuple(long), target="t" * 999, description="d" * 99
    )
    for shown in (digits, repr(wordy)):
        assert len(shown) < 500
        assert shown.count("\n") < 8
    assert len(digits) < 400
    assert "target: a regression" in repr(load("diabetes", clients=3))


def test_clients_without_rows_keep_their_places_and_do_not_count():
    x, owners = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    whole = Federation.from_owners(x, np.arange(12) % 2, owners, test_fraction=0.25)
    rest = whole.without_rows([1])
    assert rest.train.sizes.tolist() == [3, 0, 3]
    assert rest.importance.tolist() == [0.5, 0.0, 0.5]
    np.testing.assert_array_equal(rest.train.client(2)[0], whole.train.client(2)[0])
    np.testing.assert_array_equal(rest.test.client(2)[0], whole.test.client(2)[0])
    given = whole.with_importance([0.2, 0.2, 0.6]).without_rows([0])
    np.testing.assert_allclose(given.importance, [0.0, 0.25, 0.75])
    with pytest.raises(DataError, match="rows left"):
        whole.without_rows([0, 1, 2])
