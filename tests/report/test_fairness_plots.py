"""Do figures and tables show who is left behind?"""

import numpy as np

from unalike.report.fairness_plots import frontier_plot
from unalike.report.run_report import group_rows, headline

CLIENTS = {
    "client": np.arange(4),
    "test_samples": np.ones(4),
    "test_accuracy": np.array([0.9, 0.5, 0.7, 0.3]),
}
METRICS = {"round": np.array([0, 1])}
TIMINGS = {"seconds": np.zeros(0)}


class Grouped:
    """Four clients in two groups."""

    groups, names = ("north", "south", "north", "south"), None

    def __len__(self):
        return 4


def test_groups_are_listed_worst_first():
    rows = group_rows(CLIENTS, Grouped())
    assert [(row["group"], row["clients"], row["Test accuracy"]) for row in rows] == [
        ("south", 2, "40.0 %"),
        ("north", 2, "80.0 %"),
    ]
    assert group_rows(CLIENTS, None) == []


def test_the_headline_has_the_worst_group_and_the_discrepancy():
    cards = headline(METRICS, CLIENTS, TIMINGS, federation=Grouped())
    assert cards["Worst group"] == "40.0 %"
    assert cards["Discrepancy of groups"] == "40.0 %"


def test_the_frontier_joins_what_nothing_beats():
    points = {"fedavg": [(0.2, 0.9)], "gifair": [(0.1, 0.85), (0.15, 0.8)]}
    axes = frontier_plot(points).axes[0]
    drawn = np.column_stack(axes.lines[0].get_data())
    assert drawn.tolist() == [[0.1, 0.85], [0.2, 0.9]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(points)


def test_a_single_point_that_beats_all_others_is_joined_to_nothing():
    assert not frontier_plot({"fedavg": [(0.1, 0.9)], "gifair": [(0.2, 0.8)]}).axes[0].lines


def test_errors_are_drawn_downwards():
    low, high = frontier_plot({"a": [(0.1, 2.0)], "b": [(0.2, 1.0)]}, higher=False).axes[0].get_ylim()
    assert low > high
