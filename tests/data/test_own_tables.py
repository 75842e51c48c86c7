"""Tables as people have them become the same federation, whatever form they come in."""

import numpy as np
import pytest

from unalike.data import Federation, load
from unalike.errors import ConfigError, DataError, UnalikeError

pandas = pytest.importorskip("pandas")

ROWS = {
    "site": ["a"] * 6 + ["b"] * 5,
    "age": [61, 58, None, 41, 70, 33, 50, 49, 62, None, 38],
    "sex": ["f", "m", "f", "", "m", "m", "f", "f", "m", "m", "f"],
    "seen": [f"2024-0{1 + i % 9}-01" for i in range(11)],
    "ill": ["yes", "no"] * 5 + ["none"],
}


@pytest.fixture(scope="module")
def frame():
    return pandas.DataFrame(ROWS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, frame):
    place = tmp_path_factory.mktemp("sites")
    for name, rows in frame.groupby("site"):
        rows.drop(columns="site").to_csv(place / f"{name}.csv", index=False)
    return place


def same(one, other):
    assert (one.names, one.columns, one.label_names, one.target, one.preparation) == (
        *(other.names, other.columns, other.label_names, other.target, other.preparation),
    )
    for part in ("train", "test"):
        mine, theirs = getattr(one, part), getattr(other, part)
        np.testing.assert_array_equal(mine.x, theirs.x)
        np.testing.assert_array_equal(mine.y, theirs.y)


class Partitioned:
    """As Flower's data sets are."""

    num_partitions = 2

    def __init__(self, frame):
        self.parts = [rows.drop(columns="site") for _, rows in frame.groupby("site")]

    def load_partition(self, i):
        return Convertible(self.parts[i])


class Convertible:
    """As Hugging Face's data sets are."""

    def __init__(self, frame, **features):
        self.to_pandas = lambda: frame
        self.features = features


class Classes:
    """As Hugging Face's ClassLabel is."""

    names = ("ill", "well")

    def int2str(self, code):
        return self.names[code]


class Polars:
    """As Polars' frames are: columns give arrays, and pandas need not be there."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self.held = columns

    def __getitem__(self, name):
        return pandas.Series(self.held[name])

    def to_pandas(self):
        raise ModuleNotFoundError("pandas")


class Lazy:
    """As Polars' lazy frames are."""

    def __init__(self, frame):
        self.collect = lambda: frame


def test_one_table_files_frames_and_queries_are_the_same_clients(tmp_path, frame, folder):
    how = {"label": "ill", "seed": 3}
    wanted = load(str(folder), **how)
    assert wanted.label_names == ("no", "none", "yes")  # a class may be called none
    together = {"client_column": "site", **how}
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame.assign(seen=pandas.to_datetime(frame["seen"])).to_parquet(tmp_path / "all.parquet")
    same(load(frame, **together), wanted)
    same(load(str(tmp_path / "all.csv"), **together), wanted)
    same(
        Federation.from_tables({n: rows.drop(columns="site") for n, rows in frame.groupby("site")}, **how),
        wanted,
    )
    same(load(Convertible(frame), **together), wanted)
    parquet = load(str(tmp_path / "all.parquet"), **together)
    np.testing.assert_allclose(parquet.train.x, wanted.train.x, atol=1e-6)
    numbered = load(Partitioned(frame), **how)
    np.testing.assert_array_equal(numbered.train.x, wanted.train.x)
    pytest.importorskip("duckdb")
    query = load(f"sql:SELECT * FROM read_csv('{tmp_path}/all.csv', all_varchar=true)", **together)
    same(query, wanted)


def test_only_training_rows_decide(folder):
    made = load(str(folder), label="ill", test_fraction=0.4)
    known = made.train.x[made.train.x[:, 1] == 0, 0]
    np.testing.assert_allclose([known.mean(), known.std()], [0, 1], atol=1e-6)


def test_rows_of_one_table_can_be_dealt(tmp_path, frame):
    frame.to_csv(tmp_path / "all.csv", index=False)
    path = str(tmp_path / "all.csv")
    dealt = load(path, label="ill", drop="site", partition="iid", clients=3)
    assert (len(dealt), dealt.preparation is not None, dealt.target) == (3, True, "ill")
    with pytest.raises(ConfigError, match=r"client_column.*or how to deal them"):
        load(path, label="ill")


def test_gaps_are_filled_dropped_or_refused(frame):
    how = {"label": "ill", "client_column": "site", "test_fraction": 0}
    assert len(load(frame, **how).train.y) == 11
    dropped = load(frame, missing="drop", **how)
    assert len(dropped.train.y) == 8
    assert "dropped 3 rows with missing values (a 2, b 1)" in dropped.description
    with pytest.raises(
        DataError, match=r"client 'a' has 2 rows with missing values, such as row 3 in column 'age'"
    ):
        load(frame, missing="refuse", **how)


def test_a_saved_federation_remembers_its_preparation(tmp_path, frame):
    made = load(frame, label="ill", client_column="site")
    made.save(tmp_path / "saved")
    same(Federation.load(tmp_path / "saved"), made)


def test_moderate_numbers_are_not_touched(tmp_path):
    rows = {"site": ["a", "b"], "u": [0.25, 0.5], "v": [1, 2], "y": [0, 1]}
    made = load(rows, client_column="site", test_fraction=0)
    assert made.preparation is None
    np.testing.assert_array_equal(made.train.x, np.array([[0.25, 1], [0.5, 2]], np.float32))


@pytest.mark.parametrize(
    ("changed", "how", "words"),
    [
        ({}, {"client_column": "place"}, "no column 'place'"),
        ({}, {"label": "diagnosis"}, "no column 'diagnosis'"),
        ({}, {"drop": "agee"}, "did you mean 'age'"),
        ({}, {"missing": "ignore"}, "unknown way with missing values 'ignore'"),
        ({"ill": ["yes", None] * 5 + ["no"]}, {}, "empty label in row"),
        ({"site": ["a", None] * 5 + ["b"]}, {}, "does not say whose row 2 is"),
        ({"age": [float("inf")] + [50.0] * 10}, {}, "client 'a': a column has an infinite number"),
    ],
)
def test_mistakes_are_one_sentence(changed, how, words):
    with pytest.raises(UnalikeError, match=words):
        load({**ROWS, **changed}, **{"label": "ill", "client_column": "site", "test_fraction": 0, **how})


@pytest.mark.parametrize(
    "query", ["DROP TABLE x", "SELECT 1; SELECT 2", "COPY (SELECT 1) TO 'x.csv'", "nonsense"]
)
def test_nothing_but_one_select_is_run(query, tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        load(f"sql:{query}", client_column="site")
    assert not list(tmp_path.iterdir())


def test_a_column_of_words_can_tell_groups_apart():
    rows = {**ROWS, "region": ["north"] * 6 + ["south"] * 5}
    made = load(rows, label="ill", client_column="site").with_groups("column:region")
    assert made.groups == ("region north", "region south")
    with pytest.raises(DataError, match="client 'a' has 3 values of sex"):
        made.with_groups("column:sex")


@pytest.mark.parametrize(
    ("given", "features"),
    [
        (pandas.array([True, None, False] * 2, "boolean"), ("x", "x is missing")),
        (pandas.array(["p", None, "q"] * 2, "string"), ("x=p", "x=q", "x is missing")),
        (pandas.array([1, None, 3] * 2, "Int64"), ("x", "x is missing")),
        (pandas.Categorical(["p", None, "q"] * 2), ("x=p", "x=q", "x is missing")),
        (pandas.to_timedelta(["1 days", None, "2 days"] * 2), ("x", "x is missing")),
        (pandas.to_datetime(["2024-01-01 12:00+01:00", None, "2024-02-01 12:00+01:00"] * 2), None),
    ],
    ids=lambda given: str(getattr(given, "dtype", "")),
)
def test_columns_of_real_frames(given, features):
    table = pandas.DataFrame({"x": given, "y": [0, 1] * 3})
    made = Federation.from_tables({"a": table}, label="y", test_fraction=0)
    assert made.columns == (features or ("x", "x is missing"))
    missing = made.train.x[:, -1]
    assert missing.tolist() == [0, 1, 0] * 2
    if made.columns == ("x", "x is missing"):  # equal steps, standardized
        np.testing.assert_allclose(
            made.train.x[:3, 0], [1, 0, -1] if given.dtype == "boolean" else [-1, 0, 1]
        )


def test_truths_with_and_without_gaps_are_one_kind_of_column_and_of_label():
    whole = pandas.DataFrame({"x": [True, False], "y": [True, False]})
    holes = pandas.DataFrame({"x": pandas.array([True, None], "boolean"), "y": whole["y"].astype(object)})
    made = Federation.from_tables({"a": whole, "b": holes}, label="y", test_fraction=0)
    assert (made.columns, made.classes, made.label_names) == (("x", "x is missing"), 2, None)
    assert made.train.y.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "value", [[1, 2], {"a": 1}, np.ones(2), b"x"], ids=["list", "dict", "array", "bytes"]
)
def test_what_is_no_single_value_is_refused_by_the_name_of_its_column(value):
    column = np.empty(2, object)
    column[:] = [value, value]
    rows = {"vector": column, "age": [1, 2], "y": [0, 1], "site": ["a", "b"]}
    with pytest.raises(DataError, match="column 'vector' must have one number, word or date"):
        load(rows, client_column="site")
    with pytest.raises(DataError, match="client 'a' has lists or records as labels"):
        load(rows, client_column="site", label="vector")
    assert load(rows, client_column="site", drop="vector").columns == ("age",)


def test_long_numbers_of_clients_stay_apart(tmp_path):
    frame = pandas.DataFrame({"id": [1234567.0, 1234568.0], "x": [1, 2], "y": [0, 1]})
    frame.astype({"id": int}).to_parquet(tmp_path / "all.parquet")
    for given in (frame, str(tmp_path / "all.parquet")):
        made = load(given, client_column="id", label="y", test_fraction=0)
        assert (made.names, made.classes) == (("1234567", "1234568"), 2)


def test_frames_of_other_libraries_need_no_pandas():
    rows = {"site": ["a", "b"], "x": [1.0, None], "y": [0, 1]}
    wanted = load(rows, client_column="site", test_fraction=0)
    for given in (Polars(**rows), Lazy(Polars(**rows))):
        same(load(given, client_column="site", test_fraction=0), wanted)
    duckdb = pytest.importorskip("duckdb")
    asked = duckdb.sql("SELECT * FROM (VALUES ('a', 1.0, 0), ('b', NULL, 1)) AS t(site, x, y)")
    same(load(asked, client_column="site", test_fraction=0), wanted)
    asked = "SELECT * FROM (VALUES ('a', true, 'u'), ('b', NULL, NULL)) AS t(site, x, y)"
    with pytest.raises(DataError, match="client 'b' has an empty label"):
        load(f"sql:{asked}", client_column="site", label="y")


def test_numbers_of_classes_get_their_names():
    frame = pandas.DataFrame({"site": ["a", "b"], "x": [1, 2], "y": [1, 0]})
    made = load(Convertible(frame, y=Classes()), client_column="site", label="y", test_fraction=0)
    assert (made.label_names, made.train.y.tolist()) == (("ill", "well"), [1, 0])
    frame["y"] = [1, -1]
    with pytest.raises(DataError, match="client 'b' has an empty label"):
        load(Convertible(frame, y=Classes()), client_column="site", label="y")


def test_partitions_have_the_names_that_rows_had_and_say_what_is_missing(frame):
    dealt = Partitioned(frame)
    dealt.partition_id_to_natural_id = {0: "a", 1: "b"}
    assert load(dealt, label="ill").names == ("a", "b")
    with pytest.raises(ConfigError, match="leave out client_column"):
        load(dealt, label="ill", client_column="site")
    dealt.num_partitions = 3
    with pytest.raises(DataError, match="the Partitioned cannot load its partitions: list index"):
        load(dealt, label="ill")
    del Partitioned.num_partitions, dealt.num_partitions
    with pytest.raises(DataError, match="does not say how many partitions"):
        load(dealt, label="ill")


def test_parts_of_a_data_set_stay_parts_and_are_no_clients(frame):
    odd, even = frame.iloc[1::2], frame.iloc[::2]
    given = {"train": odd, "test": even[[*reversed(frame.columns)]]}
    made = load(given, label="ill", client_column="site", missing="drop")
    whole = [len(part.dropna(subset="age").query("sex != ''")) for part in (odd, even)]
    assert [len(made.train.y), len(made.validation.y), len(made.test.y)] == [whole[0], 0, whole[1]]
    assert (
        made.preparation
        == load(odd, label="ill", client_column="site", missing="drop", test_fraction=0).preparation
    )
    with pytest.raises(DataError, match="train and test are parts of a data set"):
        load(given, label="ill")
    with pytest.raises(DataError, match="test has other columns"):
        load({**given, "test": even.drop(columns="age")}, label="ill", client_column="site")


def test_tables_without_rows_and_with_a_column_twice_are_refused(frame):
    with pytest.raises(DataError, match="no rows"):
        load(frame.iloc[:0], label="ill", client_column="site")
    with pytest.raises(DataError, match="column 'age' comes twice"):
        load(pandas.concat([frame, frame[["age"]]], axis=1), label="ill", client_column="site")


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    frame = pandas.DataFrame({"x": [1, 2, 3], "y": [0, 1, 0]}).iloc[1:]
    frame.to_parquet(tmp_path / "a.parquet")  # as the groups of a frame are: with their row numbers
    kept = frame.assign(__index_level_0__=[1, 2])
    for made in (load(str(tmp_path), label="y"), Federation.from_tables({"a": Convertible(kept)}, label="y")):
        assert made.columns == ("x",)
