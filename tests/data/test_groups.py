"""Does every client end up in the group that was said, whichever way it was said?"""

import json

import numpy as np
import pytest

from unalike import ConfigError, DataError, Federation
from unalike.data.groups import group_numbers, groups_of
from unalike.experiments.build import make_federation
from unalike.experiments.config import make_experiment

NAMES = ("n-anna", "s-ben", "n-carl")
SAID = dict(zip(NAMES, ("north", "south", "north"), strict=True))


@pytest.fixture
def federation():
    """Three clients of two rows."""
    return Federation.from_owners(np.zeros((6, 2)), np.arange(6) % 2, np.repeat(np.arange(3), 2), names=NAMES)


def csv_file(folder, text):
    path = folder / "groups.csv"
    path.write_text(text)
    return str(path)


def test_mapping_sequence_json_and_csv_say_the_same(federation, tmp_path):
    (tmp_path / "groups.json").write_text(json.dumps(SAID))
    lines = "\n".join(f"{group},{client}" for client, group in SAID.items())
    table = csv_file(tmp_path, f"group,client\n{lines}\n")
    for given in (SAID, list(SAID.values()), tmp_path / "groups.json", table):
        assert groups_of(given, federation) == ("north", "south", "north")


def test_names_and_columns_say_groups(federation, tmp_path):
    assert groups_of("name:-", federation) == ("n", "s", "n")
    for name, region in (("a", 1), ("b", 2), ("c", 1)):
        (tmp_path / f"{name}.csv").write_text(f"region,u,label\n{region},3,0\n{region},4,1\n")
    tables = Federation.from_folder(tmp_path, test_fraction=0)
    assert groups_of("column:region", tables) == ("region 1", "region 2", "region 1")
    with pytest.raises(DataError, match="2 values of u"):
        groups_of("column:u", tables)
    with pytest.raises(DataError, match="no column 'v'"):
        groups_of("column:v", tables)


def test_sub_folders_are_groups(tmp_path):
    for folder, name in (("north", "anna"), ("north", "carl"), ("south", "ben")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.csv").write_text("u,label\n1,0\n2,1\n")
    federation = Federation.from_folder(tmp_path, test_fraction=0)
    assert federation.names == ("anna", "carl", "ben")
    assert federation.groups == ("north", "north", "south")


def test_groups_stay_with_their_clients(federation, tmp_path):
    grouped = federation.with_groups(SAID)
    assert grouped.subset([1, 0]).groups == ("south", "north")
    assert Federation.load(grouped.save(tmp_path / "saved")).groups == grouped.groups
    assert grouped.with_split(0.5).groups == grouped.groups
    assert grouped.with_groups(None) is grouped
    assert "groups: 2 (north, south)" in repr(grouped)


def test_an_experiment_names_its_groups(tmp_path):
    table = csv_file(tmp_path, "client,group\n" + "\n".join(f"{i},{i % 2}" for i in range(4)))
    made = make_federation(make_experiment({"data": "digits", "clients": 4, "groups": table}))
    assert made.groups == ("0", "1", "0", "1")


def test_groups_are_numbered_in_the_order_of_their_names():
    names, numbers = group_numbers(("b", "a", "b"))
    assert names == ("a", "b")
    assert numbers.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({**SAID, "dora": "west"}, "no client 'dora'"),
        ({"n-anna": "north"}, "'s-ben' has no group"),
        (["north"], r"one name per client \(3\), but there are 1"),
        (["north", "", "south"], "client 1 has a group without a name"),
        ("name:_", "nothing before a '_'"),
        ("name:", "needs a word after the colon"),
        ("groups.txt", "must be a .csv or .json file"),
    ],
)
def test_bad_groups_are_refused(federation, given, words):
    with pytest.raises((ConfigError, DataError), match=words):
        federation.with_groups(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("who,where\na,b\n", "needs a header"),
        ("client,group\nn-anna\n", "line 2 of groups.csv has 1 cells"),
        ("client,group\nn-anna,a\nn-anna,b\n", "two groups"),
        ("", "is empty"),
    ],
)
def test_bad_files_are_refused(federation, tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        federation.with_groups(csv_file(tmp_path, text))
