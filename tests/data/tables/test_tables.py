"""Do tables come in as people have them: words, gaps, one file each or one with a client column?"""

import numpy as np
import pytest

from unalike.data import Federation
from unalike.data.tables import Table, load_tables, read_table, tables_of
from unalike.errors import DataError, UnalikeError

CSV = "site,age,sex,score\nnorth,61,f,1.5\nsouth,NA,m,2.5\nnorth,44,,3.5\n"


def equal(one: Table, other: Table) -> bool:
    return one.names == other.names and all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype == np.float64) for name in one.names
    )


def test_a_file_with_a_client_column_equals_one_file_per_client_and_a_mapping(tmp_path):
    (tmp_path / "all.csv").write_text(CSV)
    folder = tmp_path / "clients"
    folder.mkdir()
    (folder / "north.csv").write_text("age,sex,score\n61,f,1.5\n44,,3.5\n")
    (folder / "south.csv").write_text("age,sex,score\n,m,2.5\n")
    given = {
        "north": {"age": [61, 44], "sex": ["f", None], "score": [1.5, 3.5]},
        "south": {"age": [np.nan], "sex": ["m"], "score": [2.5]},
    }
    ways = [load_tables(tmp_path / "all.csv", "site"), load_tables(folder), tables_of(given)]
    for name in ("north", "south"):
        assert all(equal(ways[0][name], way[name]) for way in ways[1:])
    assert ways[0]["south"].kind("age") == "empty"
    assert ways[0]["north"].missing("sex").tolist() == [False, True]


def test_data_frames_and_parquet_files_are_the_same_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "a.csv").write_text(CSV)
    frame = pandas.read_csv(tmp_path / "a.csv")
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "b.parquet")
    table = read_table(tmp_path / "a.csv")
    assert equal(table, read_table(tmp_path / "b.parquet"))
    assert equal(tables_of({"a": frame})["a"], table)
    assert equal(tables_of(frame, "site")["north"], load_tables(tmp_path / "a.csv", "site")["north"])


def test_a_federation_is_tables_of_its_training_rows():
    rows = Federation.from_owners(np.eye(3), np.array([0.5, 1.5, 2.5]), np.array([0, 1, 1]))
    tables = tables_of(rows)
    assert tables["1"].names == ("x1", "x2", "x3", "y")
    np.testing.assert_array_equal(tables["1"]["y"], [1.5, 2.5])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nothing-there", "no file or folder"),
        ({}, "mapping of client names"),
        ({"a": {"x": []}}, "without rows"),
        ({"a": {"x": [1], "y": [1, 2]}}, "same length"),
        ({"a": 3}, "mapping of client names"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(given, words):
    with pytest.raises(UnalikeError, match=words):
        load_tables(given) if isinstance(given, str) else tables_of(given)


def test_rows_without_an_owner_and_unknown_columns_are_refused(tmp_path):
    with pytest.raises(DataError, match="whose"):
        tables_of({"site": ["a", ""], "x": [1, 2]}, "site")
    with pytest.raises(UnalikeError, match="sit"):
        tables_of({"site": ["a", "b"], "x": [1, 2]}, "sit")
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "x.csv")


def test_public_tables_have_the_published_sizes():
    try:
        tables = load_tables("cmapss")
    except DataError:
        pytest.skip("the files of public data sets are not here")
    assert len(tables) == 100
    assert sum(map(len, tables.values())) == 20_631
    assert {name: len(t) for name, t in load_tables("student_grades").items()} == {"GP": 349, "MS": 46}
    assert sum(map(len, load_tables("sarcos").values())) == 4_449
    assert [len(t) for t in load_tables("heart_disease").values()] == [303, 294, 123, 200]
