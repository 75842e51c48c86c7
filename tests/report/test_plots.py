"""Figures show what was measured, whatever is missing."""

import numpy as np
import pytest

from unalike.report import client_distribution, comparison_clients, comparison_curves, curves, save, traffic
from unalike.report.comparison_plots import align_seeds
from unalike.report.text_format import bytes_text, cell, number_text, value


def metrics(rounds=20):
    nan = np.full(rounds, np.nan)
    tested = nan.copy()
    tested[4::5] = np.linspace(0.2, 0.9, len(tested[4::5]))
    counts = np.full(rounds, 1e6)
    return {
        "round": np.arange(1, rounds + 1),
        "train_loss": np.linspace(2, 1, rounds),
        "test_accuracy": tested,
        "bytes_up": counts,
        "bytes_down": 2 * counts,
        "participants": np.full(rounds, 10.0),
        "void": nan,
    }


def words(figure):
    return [text.get_text() for axes in figure.axes for text in (*axes.texts, axes.title, axes._left_title)]


def test_curves_have_one_panel_per_quantity_and_end_in_their_last_value():
    figure = curves(metrics(), ["train_loss", "test_loss", "test_accuracy"])
    assert [axes._left_title.get_text() for axes in figure.axes] == ["Loss", "Accuracy"]
    assert {"train 1", "test 90.0 %"} <= set(words(figure))


def test_only_measured_rounds_are_drawn():
    (panel,) = curves(metrics(), ["test_accuracy"]).axes
    np.testing.assert_array_equal(panel.lines[0].get_xdata(), [5, 10, 15, 20])


def test_a_single_measurement_is_a_visible_dot():
    single = {"round": np.array([1]), "test_loss": np.array([0.5])}
    assert curves(single, ["test_loss"]).axes[0].lines[0].get_marker() == "o"


@pytest.mark.parametrize("names", [[], ["unknown"], ["void"]])
def test_nothing_measured_is_an_empty_picture_not_an_error(tmp_path, names):
    assert save(curves(metrics(), names), tmp_path / "empty.png").stat().st_size > 0


@pytest.mark.parametrize("count", [0, 1, 5, 61, 5000])
def test_any_number_of_clients_can_be_drawn(tmp_path, count):
    figure = client_distribution(np.random.default_rng(0).random(count), np.ones(count), "test_accuracy")
    assert save(figure, tmp_path / "plots" / "clients.png").stat().st_size > 0


def test_clients_are_marked_by_mean_decile_and_worst():
    figure = client_distribution(np.linspace(0.5, 1.0, 21), None, "test_accuracy")
    assert {"mean 75.0 %", "bottom decile 52.5 %", "worst 50.0 %"} <= set(words(figure))


def test_for_errors_the_worst_client_is_the_largest_and_comes_first():
    figure = client_distribution(np.array([1.0, 3.0, 2.0, np.nan]), np.array([1, 1, 1, 1]), "test_rmse")
    assert "worst 3" in words(figure)
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), [3, 2, 1])


def test_traffic_is_cumulated_and_readable():
    figure = traffic(metrics())
    assert {"to clients\n40 MB", "from clients\n20 MB"} <= set(words(figure))
    assert len(figure.axes) == 2
    assert len(traffic({"round": np.arange(3), "bytes_up": np.ones(3)}).axes) == 1


def test_seeds_that_were_measured_at_different_rounds_are_aligned():
    seeds = [
        {"round": np.array([1, 2]), "x": np.array([1.0, 2.0])},
        {"round": np.array([2, 3]), "x": np.array([4.0, 5.0])},
    ]
    rounds, table = align_seeds(seeds, "x")
    np.testing.assert_array_equal(rounds, [1, 2, 3])
    np.testing.assert_array_equal(table, [[1, 2, np.nan], [np.nan, 4, 5]])


def test_a_comparison_has_a_line_per_method_and_a_band_where_seeds_allow():
    figure = comparison_curves({"fedavg": [metrics(), metrics()], "local": [metrics()]}, "test_accuracy")
    (axes,) = figure.axes
    assert (len(axes.lines), len(axes.collections)) == (2, 1)
    assert words(figure)[:2] == ["fedavg 90.0 %", "local 90.0 %"]


def test_compared_clients_are_drawn_worst_first_whatever_their_number():
    (axes,) = comparison_clients({"a": np.array([0.9, 0.1]), "b": np.random.default_rng(0).random(50)}).axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [0.1, 0.9])
    (axes,) = comparison_clients({"a": np.array([1.0, 2.0])}, "test_rmse").axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [2.0, 1.0])


def test_equal_figures_are_equal_files(tmp_path):
    first, second = (save(traffic(metrics()), tmp_path / name) for name in ("a.png", "b.png"))
    assert first.read_bytes() == second.read_bytes()


def test_numbers_are_written_for_people():
    assert [bytes_text(count) for count in (0, 999, 1000, 2.5e9, 1e20)] == [
        "0 B",
        "999 B",
        "1 kB",
        "2.5 GB",
        "1e+05 PB",
    ]
    assert [number_text(x) for x in (0.0, -1234.5, float("inf"))] == ["0", "-1,234.5", "inf"]
    assert value("test_accuracy", float("nan")) == "–"
    assert cell({"a": 1}) == "{'a': 1}"


def texts(axes):
    """Words beside the axes, from the top down."""
    return [text.get_text() for text in sorted(axes.texts, key=lambda text: -text.get_position()[1])]


def test_methods_beside_the_clients_are_in_the_order_of_their_deciles():
    worst = {"low": 0.1, "high": 0.6, "middle": 0.3}
    clients = {name: np.linspace(least, 1, 20) for name, least in worst.items()}
    shown = texts(comparison_clients(clients).axes[0])
    assert [words.split(",")[0] for words in shown] == ["high", "middle", "low"]


@pytest.mark.parametrize("metric", ["test_accuracy", "test_loss"])
def test_a_comparison_shows_where_methods_differ(metric):
    rounds = np.arange(6)
    way = 1 - np.exp(-2.0 * rounds)
    ends = {"one": 0.92, "two": 0.94}
    up = metric == "test_accuracy"
    runs = {n: [{"round": rounds, metric: end * way if up else 3 - end * way}] for n, end in ends.items()}
    low, high = comparison_curves(runs, metric).axes[0].get_ylim()
    assert (low > 0.8) if up else (high < 2.4)
    assert high - low > 0.04


def test_a_method_that_fails_hides_nothing():
    runs = {"good": [{"round": [0, 1], "test_accuracy": [0.1, 0.9]}],
            "bad": [{"round": [0, 1], "test_accuracy": [0.1, 0.1]}]}  # fmt: skip
    runs = {k: [{m: np.asarray(x) for m, x in seed.items()} for seed in v] for k, v in runs.items()}
    assert comparison_curves(runs, "test_accuracy").axes[0].get_ylim()[0] <= 0.1


@pytest.mark.parametrize("metric", ["test_accuracy", "test_loss"])
def test_bands_of_shares_stay_within_zero_and_one(metric):
    """Two seeds that differ much have intervals beyond what an accuracy can be; a loss has no such ends."""
    seeds = [{"round": np.arange(2), metric: np.array([start, 1 - start])} for start in (0.05, 0.95)]
    figure = comparison_curves({"fedavg": seeds}, metric)
    heights = np.concatenate([path.vertices[:, 1] for path in figure.axes[0].collections[0].get_paths()])
    within = heights.min() >= 0 and heights.max() <= 1
    assert within == (metric == "test_accuracy")
