"""One file per client."""

import sys

import numpy as np
import pytest

from unalike.data import Federation
from unalike.errors import DataError


def write(folder, name, text):
    (folder / name).write_text(text)


def test_a_folder_of_csv_files(tmp_path):
    write(tmp_path, "north.csv", "a,label,b\n1,0,2\n3,2,4\n")
    write(tmp_path, "south.csv", "a,label,b\n5,1,6\n")
    write(tmp_path, "README.md", "not a client")
    federation = Federation.from_folder(tmp_path, test_fraction=0)
    assert federation.names == ("north", "south")
    assert federation.classes == 3
    assert federation.train.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert federation.train.y.tolist() == [0, 2, 1]


def test_the_last_column_is_the_target_unless_named(tmp_path):
    write(tmp_path, "a.csv", "u,v\n1,0.5\n2,1\n")
    write(tmp_path, "b.csv", "u,v\n1,3\n2,4\n")
    federation = Federation.from_folder(tmp_path, test_fraction=0)
    assert federation.classes is None
    assert federation.train.y.tolist() == [0.5, 1, 3, 4]
    assert Federation.from_folder(tmp_path, label="u", test_fraction=0).train.y.tolist() == [1, 2, 1, 2]


def test_npz_files(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 2, 2)), y=[0, 1, 1])
    federation = Federation.from_folder(tmp_path)
    assert federation.input_shape == (2, 2)


def test_parquet_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"u": [1.0, 2.0], "v": [3, 4], "y": ["no", "yes"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    federation = Federation.from_folder(tmp_path, test_fraction=0)
    assert federation.train.x.tolist() == [[1, 3], [2, 4]]
    assert federation.label_names == ("no", "yes")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"unalike\[parquet\]"):
        Federation.from_folder(tmp_path)


def test_a_pickled_array_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", x=np.array([[{}]], dtype=object), y=[0])
    with pytest.raises(DataError, match="'evil'"):
        Federation.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,y\n1,0\n,1\n", "missing or infinite feature"),
        ("a,y\nred,0\n", "column 'a' of culprit.csv is not made of numbers"),
        ("a,y\n1,0\n1\n", "different numbers of columns"),
        ("a,y\n", "at least one row"),
        ("y\n1\n", "no feature columns"),
    ],
)
def test_bad_tables_name_the_client(tmp_path, text, words):
    write(tmp_path, "culprit.csv", text)
    with pytest.raises(DataError, match=words) as caught:
        Federation.from_folder(tmp_path)
    assert "'culprit'" in str(caught.value)


@pytest.mark.parametrize(("name", "content"), [("a.npz", b"not a zip"), ("a.parquet", b"not parquet")])
def test_files_that_are_not_what_they_say(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="'a'"):
        Federation.from_folder(tmp_path)


def test_an_npz_with_other_arrays_says_which(tmp_path):
    np.savez(tmp_path / "a.npz", data=np.zeros((3, 2)))
    with pytest.raises(DataError, match=r"it has .*data"):
        Federation.from_folder(tmp_path)


def test_a_label_that_is_not_there(tmp_path):
    write(tmp_path, "a.csv", "u,v\n1,0\n")
    with pytest.raises(DataError, match="no column 'w'; it has u, v"):
        Federation.from_folder(tmp_path, label="w")


def test_two_files_of_one_client(tmp_path):
    write(tmp_path, "a.csv", "u,v\n1,0\n")
    np.savez(tmp_path / "a.npz", x=np.zeros((1, 1)), y=[0])
    with pytest.raises(DataError, match="'a' appears more than once"):
        Federation.from_folder(tmp_path)


def test_no_folder_and_an_empty_one(tmp_path):
    with pytest.raises(DataError, match="no folder"):
        Federation.from_folder(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no clients"):
        Federation.from_folder(tmp_path)
