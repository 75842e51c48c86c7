"""One file per client."""

import sys

import numpy as np
import pytest

from unalike.data import Federation
from unalike.data.arrays import ALIGNMENT
from unalike.data.files.array_files import read_npy, read_npz
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
    with pytest.raises(DataError, match=r"\.\[parquet\]"):
        Federation.from_folder(tmp_path)


def test_a_pickled_array_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", x=np.array([[{}]], dtype=object), y=[0])
    with pytest.raises(DataError, match="'evil'"):
        Federation.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,y\n1,0\n,1\n", "missing or infinite feature"),
        ("a,y\nred,0\n", "column 'a' is not made of numbers"),
        ("a,y\n1,0\n1\n", "different numbers of columns"),
        ("a,y\n", "at least one row"),
        ("y\n1\n", "no feature columns"),
    ],
)
def test_bad_tables_name_the_client(tmp_path, text, words):
    write(tmp_path, "culprit.csv", text)
    with pytest.raises(DataError, match=words) as caught:
        Federation.from_folder(tmp_path, prepare="never")
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


def test_columns_are_matched_by_name_whatever_their_order(tmp_path):
    write(tmp_path, "a.csv", "age,weight,state\n1,2,ill\n3,4,well\n")
    write(tmp_path, "b.csv", "state,weight,age \nill,20,10\n")
    federation = Federation.from_folder(tmp_path, test_fraction=0)
    assert federation.train.x.tolist() == [[1, 2], [3, 4], [10, 20]]
    assert federation.train.y.tolist() == [0, 1, 0]
    assert (federation.columns, federation.target) == (("age", "weight"), "state")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("age,size,y\n1,2,0\n", r"'b' has other columns .* 'a': it lacks 'weight' and has also 'size'"),
        ("age,age,y\n1,2,0\n", r"'b' has more than one column 'age'"),
        ("age,weight,state\n1,2,0\n", r"b.csv has no column 'y'; it has age, weight, state"),
        ("age,,y\n1,2,0\n", r"column 2 of b.csv has no name"),
        ("age,weight,y\n1,2,\n", r"'b' has an empty label in row 1"),
        ("age,weight,y\n1,2,Ill\n", r"'b' has the label 'Ill' but client 'a' has 'ill'; write them alike"),
        ("age,weight,y\n1,2,0\n", r"'a' has words as labels but client 'b' has numbers"),
    ],
)
def test_tables_that_differ_are_refused_by_name(tmp_path, other, words):
    write(tmp_path, "a.csv", "age,weight,y\n1,2,ill\n3,4,well\n")
    write(tmp_path, "b.csv", other)
    with pytest.raises(DataError, match=words):
        Federation.from_folder(tmp_path)


def test_blanks_around_a_label_make_no_other_class(tmp_path):
    write(tmp_path, "a.csv", "u,y\n1,Ill\n3,Ill \n")
    assert Federation.from_folder(tmp_path).label_names == ("Ill",)


def test_capitals_of_a_suffix_do_not_matter(tmp_path):
    write(tmp_path, "a.csv", "u,y\n1,0\n")
    write(tmp_path, "zurich.CSV", "u,y\n1,0\n")
    np.savez(tmp_path / "b.npz", x=np.ones((1, 1)), y=[0], columns=["u"])
    (tmp_path / "b.npz").rename(tmp_path / "b.Npz")
    assert Federation.from_folder(tmp_path).names == ("a", "b", "zurich")


def test_files_that_look_like_data_but_are_not_read_are_said(tmp_path):
    for name in ("old.xlsx", "more.csv.gz", "README.md", "readme.txt", ".hidden.json"):
        write(tmp_path, name, "")
    write(tmp_path, "a.csv", "u,y\n1,0\n")
    assert Federation.from_folder(tmp_path).description.endswith("; not read: more.csv.gz, old.xlsx")


@pytest.mark.parametrize(
    ("header", "label", "said"),
    [
        ("sick,age,oldpeak", None, "target 'oldpeak', the last column, a regression (--label COLUMN chooses"),
        ("age,Label,x", None, "target 'Label' by its name, classes"),
        ("sick,age,oldpeak", "sick", "target 'sick', classes"),
    ],
)
def test_the_target_is_said(tmp_path, header, label, said):
    write(tmp_path, "a.csv", f"{header}\n1,0,0.5\n0,1,0.5\n")
    federation = Federation.from_folder(tmp_path, label=label)
    assert federation.description.startswith(said)


def test_names_of_columns_in_an_npz_are_matched(tmp_path):
    np.savez(tmp_path / "a.npz", x=[[1.0, 2.0]], y=[0], columns=["u", "v"])
    np.savez(tmp_path / "b.npz", x=[[4.0, 3.0]], y=[0], columns=["v", "u"])
    assert Federation.from_folder(tmp_path).train.x.tolist() == [[1, 2], [3, 4]]
    np.savez(tmp_path / "c.npz", x=[[4.0, 3.0]], y=[0])
    with pytest.raises(DataError, match=r"'a' has names of columns but client 'c' has none"):
        Federation.from_folder(tmp_path)
    np.savez(tmp_path / "c.npz", x=[[4.0, 3.0]], y=[0], columns=["u"])
    with pytest.raises(DataError, match=r"'c': c.npz has 1 names of columns but features of shape \(1, 2\)"):
        Federation.from_folder(tmp_path)


def test_the_label_of_an_npz_is_an_array_that_must_be_there(tmp_path):
    np.savez(tmp_path / "a.npz", x=[[1.0, 2.0]], y=[0], z=[1])
    assert Federation.from_folder(tmp_path, label="z").train.y.tolist() == [1]
    with pytest.raises(DataError, match="no arrays x and w; it has x, y, z"):
        Federation.from_folder(tmp_path, label="w")


def test_words_of_a_parquet_file_in_another_order(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    one = pyarrow.table({"u": [1.0, 2.0], "v": ["3", "4"], "y": ["no", "yes"]})
    two = pyarrow.table({"y": pyarrow.array(["yes"]).dictionary_encode(), "v": [6], "u": [True]})
    parquet.write_table(one, tmp_path / "a.parquet")
    parquet.write_table(two, tmp_path / "b.parquet")
    federation = Federation.from_folder(tmp_path, test_fraction=0)
    assert federation.train.x.tolist() == [[1, 3], [2, 4], [1, 6]]
    assert federation.train.y.tolist() == [0, 1, 1]
    missing = pyarrow.table({"u": [1.0], "v": [1], "y": pyarrow.array([None], "string")})
    parquet.write_table(missing, tmp_path / "b.parquet")
    with pytest.raises(DataError, match="'b' has an empty label in row 1"):
        Federation.from_folder(tmp_path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_to_where_devices_use_them_in_place(tmp_path, order):
    x = np.asarray(np.arange(60.0, dtype=np.float32).reshape(4, 3, 5), order=order)
    np.savez(tmp_path / "packed.npz", x=x, y=np.arange(4))
    np.save(tmp_path / "x.npy", x)
    for found in (read_npz(tmp_path / "packed.npz", ("x",))["x"], read_npy(tmp_path / "x.npy")):
        np.testing.assert_array_equal(found, x)
        assert found.dtype == x.dtype
        assert found.ctypes.data % ALIGNMENT == 0
