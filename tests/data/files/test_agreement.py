"""Clients that write their tables apart mean the same, or are refused."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from unalike.data import Federation
from unalike.data.files.agreement import (
    agree_columns,
    agree_labels,
    agree_target,
    code_words,
    number_words,
    order_columns,
    translate,
)
from unalike.errors import DataError

CLIENTS = {
    "basel": (np.arange(8.0).reshape(4, 2), np.array(["well", "ill ", "well", "ill"])),
    "zurich": (np.arange(6.0).reshape(3, 2), np.array(["ill"] * 3)),
}


def test_a_client_that_lacks_a_class_numbers_labels_as_all_do():
    federation = Federation.from_clients(CLIENTS, test_fraction=0)
    assert federation.label_names == ("ill", "well")
    assert federation.train.y.tolist() == [1, 0, 1, 0, 0, 0, 0]


def test_clients_apart_and_together_number_labels_alike():
    together = Federation.from_clients(CLIENTS, test_fraction=0)
    apart = {name: Federation.from_clients({name: pair}, test_fraction=0) for name, pair in CLIENTS.items()}
    names = agree_labels({name: each.label_names for name, each in apart.items()})
    for i, name in enumerate(CLIENTS):
        mine = translate(apart[name], names, None)
        np.testing.assert_array_equal(mine.train.y, together.train.client(i)[1])
        assert (mine.classes, mine.label_names) == (2, ("ill", "well"))


@pytest.mark.parametrize("order", list(itertools.permutations("abcd")))
def test_columns_in_any_order_become_the_first_clients(order):
    x = np.array([["abcd".index(name) for name in order]])
    wanted = agree_columns({"first": list("abcd"), "second": order})
    assert order_columns(x, order, wanted).tolist() == [[0, 1, 2, 3]]


def test_translating_a_federation_orders_its_columns():
    federation = replace(Federation.from_clients(CLIENTS, test_fraction=0.3), columns=("u", "v"))
    turned = translate(federation, None, ("v", "u"))
    np.testing.assert_array_equal(turned.train.x, federation.train.x[:, ::-1])
    np.testing.assert_array_equal(turned.test.x, federation.test.x[:, ::-1])
    assert turned.columns == ("v", "u")


@pytest.mark.parametrize("words", list(itertools.product(["ill", "ill ", "well"], repeat=3)))
def test_coded_words_are_the_words(words):
    coded = code_words("basel", words)
    assert [coded.names[code] for code in coded.codes] == [word.strip() for word in words]
    wanted = agree_labels({"basel": coded.names})
    assert [wanted[number] for number in number_words(coded, wanted)] == [word.strip() for word in words]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"a": ["Ill"], "b": ["ill"]}, r"'b' has the label 'ill' but client 'a' has 'Ill'; write them alike"),
        ({"a": ["Ill", "ill"]}, r"'a' has the label 'ill' but client 'a' too has 'Ill'"),
        ({"a": ["ill"], "b": [" "]}, r"'b' has an empty label"),
        ({"a": ["ill"], "b": None}, r"'a' has words as labels but client 'b' has numbers"),
        ({"a": ["x" * 201]}, r"'a' has a label of 201 characters"),
    ],
)
def test_labels_that_cannot_be_agreed_on(labels, words):
    with pytest.raises(DataError, match=words):
        agree_labels(labels)


def test_single_letters_are_classes_of_their_own():
    assert agree_labels({"a": ["A", "a"], "b": ["b"]}) == ("A", "a", "b")


def test_accents_are_the_same_however_they_are_written():
    assert agree_labels({"a": ["grippe\u0301"], "b": ["gripp\u00e9"]}) == ("gripp\u00e9",)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": ["u", "v"], "b": ["u"]}, r"'b' has other columns than client 'a': it lacks 'v'"),
        ({"a": ["u"], "b": ["u", "w"]}, r"it has also 'w'"),
        ({"a": ["u", "v"], "b": ["u", "w"]}, r"it lacks 'v' and has also 'w'"),
        ({"a": ["u", "v"], "b": ["u", "u "]}, r"'b' has more than one column 'u'"),
        ({"a": ["u"], "b": None}, r"'a' has names of columns but client 'b' has none"),
    ],
)
def test_columns_that_cannot_be_agreed_on(columns, words):
    with pytest.raises(DataError, match=words):
        agree_columns(columns)


def test_targets_are_the_same_column():
    assert agree_target({"a": "y", "b": "y "}) == "y"
    assert agree_target({"a": None}) is agree_columns({"a": None}) is agree_labels({"a": None}) is None
    with pytest.raises(DataError, match=r"'b' would predict 'age' but client 'a' 'ill'; name .* --label"):
        agree_target({"a": "ill", "b": "age"})


def test_an_empty_label_is_refused_with_its_row():
    clients = CLIENTS | {"bern": (np.zeros((3, 2)), np.array(["ill", "", "well"]))}
    with pytest.raises(DataError, match=r"'bern' has an empty label in row 2"):
        Federation.from_clients(clients)


def test_names_of_columns_and_target_are_saved_and_kept(tmp_path):
    federation = replace(
        Federation.from_clients(CLIENTS, test_fraction=0), columns=("u", "v"), target="state"
    )
    back = Federation.load(federation.save(tmp_path)).subset([1])
    assert (back.columns, back.target) == (("u", "v"), "state")


def test_a_federation_saved_without_names_of_columns_still_loads(tmp_path):
    Federation.from_clients(CLIENTS).save(tmp_path)
    manifest = tmp_path / "federation.json"
    old = json.loads(manifest.read_text())
    del old["columns"], old["target"]
    manifest.write_text(json.dumps(old))
    assert Federation.load(tmp_path).columns is None
