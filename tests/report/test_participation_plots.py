"""Do the figures of participation show the numbers they are given?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import Binomial, Full, Multinomial, OriginalFedAvg, Uniform
from unalike.report import save
from unalike.report.participation_plots import (
    availability_timeline,
    classes_per_round,
    rolling_mean,
    weight_variance,
)

IMPORTANCE = np.array([0.1, 0.6, 0.3])


def statistics(importance=IMPORTANCE, m=2):
    schemes = {"md": Multinomial, "uniform": Uniform, "binomial": Binomial, "original": OriginalFedAvg}
    known = {name: kind(per_round=m).statistics(importance) for name, kind in schemes.items()}
    return {"full": Full().statistics(importance), **known}


def texts(figure):
    (axes,) = figure.axes
    return [text.get_text().replace("\n", " ") for text in axes.texts]


def test_variances_are_drawn_from_the_most_important_client_to_the_least():
    (axes,) = weight_variance(statistics()).axes
    expected = np.array([0.6 * 0.4, 0.3 * 0.7, 0.1 * 0.9]) / 2
    np.testing.assert_allclose(10 ** axes.lines[0].get_ydata(), expected)
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1, 2, 3])


def test_schemes_with_equal_variances_share_a_line_and_steady_ones_have_none():
    figure = weight_variance(statistics())
    (axes,) = figure.axes
    total = (3 / 2 - 1) * (IMPORTANCE @ IMPORTANCE)
    assert len(axes.lines) == 2
    assert texts(figure) == ["md 0.27", f"uniform, binomial, original {total:.4g}"]
    assert axes.get_xlabel().endswith("full: no variance")


def test_similar_variances_are_drawn_from_zero_and_different_ones_by_factors():
    (linear,) = weight_variance(statistics(np.full(4, 0.25))).axes
    assert linear.get_ylim()[0] == 0
    np.testing.assert_allclose(linear.lines[0].get_ydata(), np.full(4, 0.25 * 0.75 / 2))


@pytest.mark.parametrize("clients", [1, 2, 50, 5000])
def test_any_number_of_clients_can_be_drawn(tmp_path, clients):
    importance = np.random.default_rng(0).dirichlet(np.ones(clients))
    figure = weight_variance(statistics(importance, min(2, clients)))
    assert save(figure, tmp_path / "variance.png").stat().st_size > 0
    assert all(len(line.get_xdata()) <= 1000 for line in figure.axes[0].lines)


def test_nothing_to_compare_is_an_empty_picture_not_an_error(tmp_path):
    assert save(weight_variance({}), tmp_path / "none.png").stat().st_size > 0
    assert save(classes_per_round([], {}), tmp_path / "none.png").stat().st_size > 0
    empty = availability_timeline([], np.zeros((0, 0), np.int8))
    assert save(empty, tmp_path / "none.png").stat().st_size > 0


def test_a_rolling_mean_equals_a_naive_one_and_skips_what_was_not_measured():
    values = np.random.default_rng(1).normal(size=30)
    values[[0, 7, 8, 9]] = np.nan
    for window in (1, 3, 50):
        naive = []
        for i in range(30):
            seen = [v for v in values[max(0, i - window + 1) : i + 1] if np.isfinite(v)]
            naive.append(sum(seen) / len(seen) if seen else np.nan)
        np.testing.assert_allclose(rolling_mean(values, window), naive)


def test_classes_have_a_faint_and_a_bold_line_per_run_that_ends_in_its_mean():
    rounds = np.arange(1, 101)
    figure = classes_per_round(rounds, {"md": np.tile([6, 7], 50), "target": np.full(100, 10)}, classes=10)
    (axes,) = figure.axes
    raw, bold = axes.lines[:2]
    np.testing.assert_array_equal(raw.get_ydata(), np.tile([6, 7], 50))
    assert raw.get_alpha() < 0.5
    assert bold.get_linewidth() > raw.get_linewidth()
    assert bold.get_xdata()[0] == 11  # a mean over few rounds says little
    assert texts(figure) == ["md 6.5", "target 10.0"]


def test_a_single_round_is_still_seen():
    figure = classes_per_round([1], {"md": [4]})
    assert texts(figure) == ["md 4.0"]


def test_a_timeline_has_the_color_of_each_code_and_is_empty_where_clients_are_away():
    codes = np.array([[0, 1, 2, 3], [2, 2, 0, 0]], np.int8)
    (axes,) = availability_timeline(np.arange(4), codes, ["ann", "bob"]).axes
    pixels = np.asarray(axes.images[0].get_array())
    assert pixels.shape == (2, 4, 4)
    np.testing.assert_array_equal(pixels[..., 3], codes > 0)
    np.testing.assert_allclose(pixels[0, 2], pixels[1, 0])
    assert len({tuple(pixels[0, k]) for k in range(4)}) == 4
    assert [label.get_text() for label in axes.get_yticklabels()] == ["ann", "bob"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["away 38 %", "there, not used 12 %", "used 38 %", "excluded 12 %"]


def test_many_clients_and_rounds_share_cells_whose_opacity_is_the_share_of_those_present():
    codes = np.random.default_rng(0).integers(0, 4, (450, 1501)).astype(np.int8)
    (axes,) = availability_timeline(np.arange(1, 1502), codes).axes
    pixels = np.asarray(axes.images[0].get_array())
    assert pixels.shape[:2] == (150, 501)  # cells of three clients and three rounds
    naive = np.mean(codes[3:6, 6:9] > 0)
    assert pixels[1, 2, 3] == pytest.approx(naive)
    assert axes.get_xlabel() == "round (a cell is the mean of 3 rounds and 3 clients)"


def test_a_timeline_that_does_not_fit_is_one_sentence():
    codes = np.zeros((2, 3), np.int8)
    with pytest.raises(ConfigError, match="a timeline of 4 rounds needs as many columns"):
        availability_timeline(np.arange(4), codes)
    with pytest.raises(ConfigError, match="a timeline of 2 clients needs as many names, but has 1"):
        availability_timeline(np.arange(3), codes, ["ann"])
    with pytest.raises(ConfigError, match="codes are 0 to 3, but one is 4"):
        availability_timeline(np.arange(3), codes + np.int8(4))
