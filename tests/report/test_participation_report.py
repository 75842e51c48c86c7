"""Who was left out, also where so many were there that they were only counted."""

from types import SimpleNamespace

import numpy as np

from unalike.report.participation_report import most_excluded
from unalike.runs import Record


class Named(SimpleNamespace):
    def __len__(self):
        return 4


def test_clients_that_were_left_out_are_listed_though_those_who_were_there_are_not():
    record = Record(":memory:")
    record.write_round(1, {}, groups={"excluded": np.array([2, 3]), "used": np.array([0])})
    record.write_round(2, {}, groups={"excluded": np.array([3]), "used": np.array([0, 1])})
    rows = most_excluded(record, Named(name=lambda i: f"client {i}"))
    assert [(row["client"], row["rounds left out"]) for row in rows] == [("client 3", 2), ("client 2", 1)]
    assert all(row["rounds there"] == 0 for row in rows)
