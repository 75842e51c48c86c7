"""Prepared rows have the moments that they should have, and nothing in a file is believed."""

import json

import numpy as np
import pytest

from unalike.data.preprocessing import Preparation, facts_of, fit_preparation, needs_preparation
from unalike.data.preprocessing.read_preparation import read_preparation
from unalike.data.tables import Table
from unalike.errors import DataError

ROWS = {"age": [61, 58, None, 41], "sex": ["f", "m", "f", ""], "since": ["2020-01-01", "2021-01-01"] * 2}


def prepared(**columns):
    table = Table.of(columns or ROWS)
    return fit_preparation({"here": facts_of(table)}), table


def test_numbers_and_dates_have_mean_zero_and_variance_one_where_they_are_known():
    made, table = prepared()
    features = dict(zip(made.names, made.apply(table).T, strict=True))
    for name, known in (("age", [0, 1, 3]), ("since", [0, 1, 2, 3])):
        np.testing.assert_allclose(features[name][known].mean(), 0, atol=1e-6)
        np.testing.assert_allclose(features[name][known].std(), 1, rtol=1e-6)
    assert features["age is missing"].tolist() == [0, 0, 1, 0]
    assert features["age"][2] == 0


def test_each_row_has_one_word_or_the_mark_of_a_gap():
    made, table = prepared()
    coded = made.apply(table)[:, [name.startswith("sex") for name in made.names]]
    np.testing.assert_array_equal(coded.sum(axis=1), 1)


def test_an_unknown_word_is_nowhere_and_said():
    made, _ = prepared()
    strange = Table.of({**ROWS, "sex": ["x", "m", "f", "f"]})
    names = [name.startswith("sex") for name in made.names]
    assert made.apply(strange)[0, names].tolist() == [0, 0, 0]
    assert made.remarks(strange) == [
        "column 'sex': unknown in training: x (1 rows, taken as none of the known words)"
    ]


def test_the_order_of_columns_and_others_beside_them_do_not_matter():
    made, table = prepared()
    other = Table.of({"extra": [0] * 4, **dict(reversed(ROWS.items()))})
    np.testing.assert_array_equal(made.apply(other), made.apply(table))


def test_a_file_gives_the_same_preparation():
    made, table = prepared()
    again = Preparation.of(json.loads(json.dumps(made.as_dict())))
    np.testing.assert_array_equal(again.apply(table), made.apply(table))


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"version": 2, "columns": []},
        {"version": 1, "columns": [{"kind": "numbers", "name": "a", "gaps": False}]},
        {"version": 1, "columns": [{"kind": "numbers", "name": "a", "gaps": 0, "mean": 0, "spread": 0}]},
        {"version": 1, "columns": 3},
    ],
)
def test_other_documents_are_refused(document):
    with pytest.raises(DataError):
        Preparation.of(document)


def test_rows_without_a_column_or_with_words_for_numbers_are_refused():
    made, _ = prepared()
    with pytest.raises(DataError, match="no column 'age'"):
        made.apply(Table.of({"sex": ["f"]}))
    with pytest.raises(DataError, match="'age' has words, but was trained with numbers"):
        made.apply(Table.of({**ROWS, "age": ["old"] * 4}))


def test_names_of_rows_and_words_in_two_spellings_are_refused():
    with pytest.raises(DataError, match="1,001 different values"):
        prepared(name=[f"patient {i}" for i in range(1001)])
    with pytest.raises(DataError, match=r"column 'sex': .* word 'female'"):
        prepared(sex=["Female", "female"])


@pytest.mark.parametrize(
    ("columns", "needed"),
    [
        ({"a": [0.5, 1]}, False),
        ({"a": [500, 600]}, True),
        ({"a": [1, None]}, True),
        ({"a": ["x", "y"]}, True),
    ],
)
def test_moderate_numbers_stay_as_they_are(columns, needed):
    assert needs_preparation({"here": facts_of(Table.of(columns))}) is needed


# Files that nodes share ----------------------------------------------------------------------------------


def test_printed_statistics_prepare_as_the_rows_would(tmp_path):
    from unalike.analytics.statistics import LocalNodes, describe

    table = Table.of(ROWS)
    path = tmp_path / "columns.json"
    path.write_text(json.dumps(describe(LocalNodes({"here": table})).as_dict()))
    read = read_preparation(path, table.names)
    fitted = fit_preparation({"here": facts_of(table)})
    assert read.names == fitted.names
    found, wanted = (dict(zip(made.names, made.apply(table).T, strict=True)) for made in (read, fitted))
    np.testing.assert_allclose(found["age"], wanted["age"], rtol=1e-5)
    np.testing.assert_allclose(found["since"], wanted["since"], rtol=1e-5)
    np.testing.assert_array_equal(found["sex=f"], wanted["sex=f"])


def test_the_facts_of_a_run_prepare_as_the_run_did(tmp_path):
    made, table = prepared()
    path = tmp_path / "clients.json"
    path.write_text(json.dumps({"version": 1, "preparation": made.as_dict()}))
    assert read_preparation(path, table.names) == made
    with pytest.raises(DataError, match="column 'age', which is no feature here"):
        read_preparation(path, ["sex", "since"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        ("[]", "not a preparation"),
        ('{"columns": {}}', "do not speak of column 'age'"),
        ('{"columns": {"age": {"kind": "numbers", "missing": "x"}}}', "not statistics"),
    ],
)
def test_other_files_are_refused(tmp_path, content, words):
    path = tmp_path / "columns.json"
    path.write_text(content)
    with pytest.raises(DataError, match=words):
        read_preparation(path, ["age"])
