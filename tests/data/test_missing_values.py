"""Are missing values read by one list, in features and labels, and is what was read so said?"""

import json

import numpy as np
import pytest

from unalike import Federation
from unalike.analytics.statistics import LocalNodes, describe
from unalike.data import load
from unalike.data.missing_values import MISSING, is_missing_word
from unalike.data.tables import column_of, load_tables, read_table, tables_of
from unalike.errors import DataError

SPELLED = [word.upper() for word in MISSING] + [f" {word.lower()} " for word in MISSING]


def write(folder, name, lines):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("word", SPELLED)
def test_a_word_that_is_missing_in_features_is_no_label(tmp_path, word):
    assert is_missing_word(word)
    assert np.isnan(column_of(["1", word])[1])
    for labels in (("ill", "well"), ("0", "1"), ("0.5", "1.25")):
        write(tmp_path / "sites", "a", ["age,y", f"1,{labels[0]}", f"2,{labels[1]}", f"3,{word}"])
        with pytest.raises(DataError, match="row 3"):
            Federation.from_folder(tmp_path / "sites")
    with pytest.raises(DataError, match="row 3"):
        Federation.from_tables({"a": {"age": [1, 2, 3], "y": ["ill", "well", word]}}, label="y")


def test_none_is_a_category(tmp_path):
    assert column_of(["none", "former", "None"]).tolist() == ["none", "former", "None"]
    lines = ["smoker,y", *["none,1", "former,0", "current,1"] * 8]
    write(tmp_path / "sites", "a", lines)
    made = Federation.from_folder(tmp_path / "sites", label="y")
    assert "smoker=none" in made.columns
    assert "missing" not in made.description
    assert tables_of(tmp_path / "sites")["a"].missing("smoker").sum() == 0
    # As a value of Python it is missing, as ever.
    assert column_of(np.array([None, "a"], dtype=object)).tolist() == ["", "a"]


def test_what_was_read_as_missing_is_said_by_column_with_the_list(tmp_path):
    write(tmp_path / "sites", "a", ["age,sex,y", *["61,f,0", "NA,?,1", ",m,0", "58,m,1"] * 3])
    write(tmp_path / "sites", "b", ["age,sex,y", *["61,f,0", "40,null,1"] * 3])
    said = Federation.from_folder(tmp_path / "sites", label="y").description
    assert "missing values: age 6, sex 6 (empty, NA, N/A, NaN, null, ? are read so)" in said


def test_the_commands_say_it_too(tmp_path, monkeypatch, capsys):
    from unalike.cli import main

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "sites", "a", ["age,y", *["61,0", "NA,1", "50,0", "58,1"] * 5])
    for words in (("inspect", "sites", "--picture", "p.png"), ("run", "--data", "sites", "--rounds", "1")):
        monkeypatch.setattr("sys.argv", ["unalike", *words, "--label", "y"])
        with pytest.raises(SystemExit):
            main()
        found = " ".join("".join(capsys.readouterr()).replace("│", " ").split())
        assert "missing values: age 5" in found, words


# Dates and unknown words that nodes prepare by statistics ---------------------------------------------------


def rows(n, seed, words=("f", "m")):
    rng = np.random.default_rng(seed)
    visits = np.datetime64("2021-01-01") + rng.integers(0, 900, n)
    return {
        "age": rng.integers(20, 80, n).astype(float),
        "sex": rng.choice(words, n),
        "visit": np.datetime_as_string(visits),
        "y": rng.integers(0, 2, n),
    }


def told(tables, minimum_cell_count, path):
    nodes = LocalNodes(
        tables_of({name: {k: t[k] for k in t if k != "y"} for name, t in tables.items()}), minimum_cell_count
    )
    path.write_text(json.dumps(describe(nodes).as_dict()))
    return str(path)


def test_dates_are_the_features_of_a_simulation_although_no_single_one_is_told(tmp_path):
    tables = {"a": rows(60, 0), "b": rows(50, 1)}
    file = told(tables, 5, tmp_path / "columns.json")
    simulated = Federation.from_tables(tables, label="y", test_fraction=0.0)
    prepared = Federation.from_tables(tables, label="y", test_fraction=0.0, prepare=file)
    assert prepared.columns == simulated.columns
    assert "visit" in prepared.columns
    np.testing.assert_allclose(prepared.train.x, simulated.train.x, atol=1e-4)


def test_words_that_the_preparation_does_not_know_are_counted_and_said(tmp_path):
    tables = {"a": rows(60, 0), "b": rows(50, 1)}
    file = told(tables, 5, tmp_path / "columns.json")
    strange = rows(40, 2)
    strange["sex"] = np.where(np.arange(40) < 8, "weird", strange["sex"])
    made = Federation.from_tables({"c": strange}, label="y", prepare=file)
    assert "c: column 'sex': unknown in training: weird (8 rows" in made.description


def test_a_column_of_which_no_word_is_told_is_refused_by_name(tmp_path):
    tables = {"a": {**rows(60, 0), "name": np.array([f"person {i}" for i in range(60)])}}
    file = told(tables, 5, tmp_path / "columns.json")
    with pytest.raises(DataError, match=r"no word of column 'name'.*--drop name"):
        Federation.from_tables(tables, label="y", prepare=file)


# Files of other programs ------------------------------------------------------------------------------------


def test_semicolons_are_refused_wherever_a_table_is_read(tmp_path):
    write(tmp_path / "sites", "a", ["age;bmi;y", "61;24,5;1", "50;31,0;0"])
    for read in (
        lambda: read_table(tmp_path / "sites" / "a.csv"),
        lambda: Federation.from_folder(tmp_path / "sites"),
    ):
        with pytest.raises(DataError, match="separated by semicolons"):
            read()


def test_decimal_commas_and_dates_of_other_forms_get_a_hint(tmp_path):
    lines = ["bmi,visit,lab,y", *['"24,5",31.12.2023,<5,1', '"31,0",01.02.2024,7,0'] * 5]
    write(tmp_path / "sites", "a", lines)
    said = Federation.from_folder(tmp_path / "sites", label="y").description
    for word in ("decimal comma", "write 2023-12-31", "bounds such as <5"):
        assert word in said


# Heart disease ----------------------------------------------------------------------------------------------


@pytest.fixture
def hearts(tmp_path):
    """Four hospitals in the form of the files, with a cholesterol of 0 everywhere in Switzerland."""
    folder, rng = tmp_path / "heart_disease", np.random.default_rng(0)
    folder.mkdir()
    for name in ("cleveland", "hungarian", "switzerland", "va"):
        chol = np.zeros(30) if name == "switzerland" else rng.integers(150, 300, 30)
        rows = [
            f"{rng.integers(40, 70)},{rng.integers(2)},{rng.integers(1, 5)},{rng.integers(100, 160)},{c},0,"
            f"{rng.integers(3)},{rng.integers(90, 180)},0,{rng.random():.1f},1,0,3,{rng.integers(2)}"
            for c in chol
        ]
        (folder / f"processed.{name}.data").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_cholesterol_of_zero_is_missing(hearts, monkeypatch):
    monkeypatch.setenv("UNALIKE_DATA", str(hearts))
    tables = load_tables("heart_disease")
    assert tables["Zurich and Basel"].missing("cholesterol").all()
    assert not tables["Cleveland"].missing("cholesterol").any()
    made = load("heart_disease", test_fraction=0.0)
    assert len(made) == 4  # nobody is dropped for it
    swiss, others = made.train.client(2)[0][:, 3], made.train.client(0)[0][:, 3]
    np.testing.assert_allclose(swiss, 0.0, atol=1e-6)  # the mean, standardized
    assert np.ptp(others) > 1
