"""Are rows of the others coded as if some clients had never been there?"""

import numpy as np
import pytest

from unalike import Federation
from unalike.data.without_clients import has_same_encoding, label_again

TABLES = {
    "basel": {"age": [40.0, 60.0, 55.0], "sex": ["f", "m", "f"], "ill": ["no", "yes", "no"]},
    "chur": {"sex": ["x", "x", "f"], "age": [9e9, None, 700.0], "ill": ["dead", "yes", "dead"]},
    "zug": {"age": [30.0, 35.0, 70.0], "sex": ["m", "m", "m"], "ill": ["yes", "no", "no"]},
}


def made(tables, **how):
    return Federation.from_tables(tables, label="ill", test_fraction=0.0, **how)


@pytest.mark.parametrize("gone", TABLES)
def test_rows_are_coded_as_without_the_table(gone):
    """Means, spreads, words, marks of missing values, labels, even the order of columns."""
    place = list(TABLES).index(gone)
    found = label_again(made(TABLES, without=[gone]), [place]).without_rows([place])
    wanted = made({name: table for name, table in TABLES.items() if name != gone})
    assert has_same_encoding(found, wanted)
    np.testing.assert_array_equal(found.train.x, wanted.train.x)
    np.testing.assert_array_equal(found.train.y, wanted.train.y)
    assert found.names == tuple(TABLES)


def test_the_others_keep_their_cut():
    whole = Federation.from_tables(TABLES, label="ill", test_fraction=0.34, seed=3)
    again = Federation.from_tables(TABLES, label="ill", test_fraction=0.34, seed=3, without=["chur"])
    for part in ("train", "test"):
        np.testing.assert_array_equal(getattr(again, part).y, getattr(whole, part).y)


def test_columns_that_need_no_coding_any_more_have_none():
    tables = {"a": {"x": [1.0, 2.0], "ill": [0, 1]}, "b": {"x": [1e9, None], "ill": [1, 0]}}
    assert made(tables).preparation is not None
    assert made(tables, without=["b"], missing="drop").preparation is None


def test_numbers_as_labels_end_at_the_largest_of_the_others():
    rows = {"a": (np.eye(2), np.array([0, 2])), "b": (np.eye(2), np.array([5, 2]))}
    everyone = Federation.from_clients(rows, test_fraction=0.0)
    assert label_again(everyone, [1]).classes == 3
    assert label_again(everyone, [0]).classes == everyone.classes == 6
