"""Text that singles out rows stays out of features and files, unless the user keeps it."""

import numpy as np
import pytest

from unalike.data import Federation
from unalike.data.tables.identifying_columns import identifying_columns
from unalike.data.tables.table import Table
from unalike.errors import DataError, UnalikeError


def table(**columns):
    return Table.of(columns)


def names(count, at=0):
    return [f"Anna Secret{i:03}" for i in range(at, at + count)]


@pytest.mark.parametrize(
    ("column", "identifying"),
    [
        (names(60), True),
        (names(30) * 2, True),  # everybody twice
        (["none"] * 70 + names(30), True),  # notes of a few
        (names(6), True),
        ([f"town {i}" for i in range(101)] * 9, True),  # too many to be categories
        (["f", "m"] * 30, False),
        (["a", "b", "c"] * 2 + ["rare"], False),  # a small table: four rare values are allowed
        ([f"country {i}" for i in range(40)] * 20 + ["country 41", "country 42"], False),
        ([f"2024-01-{1 + i % 28:02}" for i in range(28)], False),
        (list(range(60)), False),
        ([""] * 60, False),
    ],
)
def test_rare_values_decide(column, identifying):
    assert bool(identifying_columns([table(column=column)])) is identifying


def test_values_of_all_clients_count_together():
    one, other = table(town=names(4)), table(town=names(4))
    assert not identifying_columns([one])
    assert not identifying_columns([one, other, other])  # everyone in three rows
    assert identifying_columns([one, table(town=names(4, at=10))])


ROWS = {
    "site": ["a", "b"] * 20,
    "name": names(40),
    "age": list(range(30, 70)),
    "ill": ["no", "yes", "yes", "no"] * 10,
}


def made(**how):
    return Federation.from_tables(ROWS, label="ill", client_column="site", **how)


def test_dropped_unless_kept():
    dropped = made()
    assert dropped.columns == ("age",)
    assert "--keep-columns name" in dropped.description
    assert [name for name, _ in dropped.dropped_columns] == ["name"]
    assert not any(name in dropped.description for name in ROWS["name"])
    kept = made(keep_columns="name")
    assert kept.dropped_columns == ()
    assert sum(name.startswith("name=") for name in kept.columns) == 32
    np.testing.assert_array_equal(made(drop="name").train.x, dropped.train.x)
    with pytest.raises(UnalikeError, match="column to keep 'nam'"):
        made(keep_columns="nam")


def test_nothing_left_to_learn_from_is_refused():
    with pytest.raises(DataError, match="single out rows"):
        made(drop="age")
