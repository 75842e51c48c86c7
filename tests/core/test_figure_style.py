"""Labels never touch, colors can be told apart, and nobody's Matplotlib settings are changed."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.text import Text

from unalike.core.figure_style import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    PAPER,
    color,
    dash,
    is_ours,
    spread,
    with_figure_style,
)
from unalike.participation import Multinomial
from unalike.report import comparison_clients, save
from unalike.report.job_plots import FinishedJobs, gantt
from unalike.report.participation_plots import availability_timeline, weight_variance


def test_spread_heights_keep_their_order_and_their_distance():
    rng = np.random.default_rng(0)
    for count in range(1, 11):
        wanted = rng.random(count)
        moved = spread(wanted, 0.08)
        assert np.all(np.diff(np.sort(moved)) >= 0.08 - 1e-12)
        assert moved.max() <= 1.03 + 1e-12
        np.testing.assert_array_equal(np.argsort(moved), np.argsort(wanted))


def test_heights_that_are_far_apart_stay_where_they_are():
    np.testing.assert_allclose(spread(np.array([0.9, 0.1, 0.5]), 0.08), [0.9, 0.1, 0.5])


def test_no_heights_are_no_heights():
    assert spread(np.array([]), 0.1).size == 0


def test_each_of_many_methods_has_its_own_look():
    looks = [(color(i), str(dash(i))) for i in range(3 * len(PALETTE))]
    assert len(set(looks)) == len(looks)


def luminance(code):
    channels = np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("code", [INK, MUTED, *PALETTE])
def test_words_in_any_color_can_be_read_on_paper(code):
    assert (luminance(PAPER) + 0.05) / (
        luminance(code) + 0.05
    ) > 3.0  # the web's minimum for graphics and large text


def test_the_page_knows_the_same_colors():
    from importlib.resources import files

    css = files("unalike.report").joinpath("page.css").read_text()
    light = dict(re.findall(r"--(\w+): (#\w+)", css.split("@media")[0]))
    assert [light[f"c{i}"] for i in range(len(PALETTE))] == list(PALETTE)
    assert (light["ink"], light["muted"], light["faint"], light["paper"]) == (INK, MUTED, FAINT, PAPER)


def test_drawing_leaves_the_settings_of_others_alone():
    before = dict(mpl.rcParams)
    assert with_figure_style(lambda: mpl.rcParams["axes.spines.top"])() is False
    assert dict(mpl.rcParams) == before


def test_a_figure_of_somebody_else_is_not_ours():
    from matplotlib.figure import Figure

    assert not is_ours(Figure())


ODD = r"$\frac{$ oops"
DRAWN = {
    "gantt": lambda: gantt(FinishedJobs(*np.array([[0], [0], [1], [1], [0], [0]])), [ODD]),
    "clients of methods": lambda: comparison_clients({ODD: np.ones(3)}),
    "timeline": lambda: availability_timeline([1], np.ones((1, 1), np.int8), [ODD]),
    "variances": lambda: weight_variance({ODD: Multinomial(per_round=2).statistics(np.array([0.4, 0.6]))}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_names_with_dollars_are_names_not_formulas(name, tmp_path):
    figure = DRAWN[name]()
    named = [text for text in figure.findobj(Text) if ODD in text.get_text()]
    assert named
    assert not any(text.get_parse_math() for text in named)
    assert save(figure, tmp_path / "odd.png").read_bytes().startswith(b"\x89PNG")


def lab(code):
    """CIE L*a*b*, in which distances are about as large as they look."""
    channels = np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    scaled = matrix @ linear / [0.9505, 1.0, 1.089]
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("dark", [False, True])
def test_eight_methods_have_eight_colors(dark):
    from importlib.resources import files

    css = files("unalike.report").joinpath("page.css").read_text().split("@media")[int(dark)]
    codes = [dict(re.findall(r"--(\w+): (#\w+)", css))[f"c{i}"] for i in range(8)]
    gaps = [np.linalg.norm(lab(a) - lab(b)) for i, a in enumerate(codes) for b in codes[:i]]
    assert min(gaps) > 25
