"""Does the picture of a stream's bound show every strategy where it is?"""

import numpy as np

from unalike.advice import advise_streams
from unalike.report.stream_plots import stream_costs


def drawn(advice):
    """The names that are written, and the points."""
    (axes,) = stream_costs(advice).axes
    points = [line.get_xydata()[0] for line in axes.lines if len(line.get_xdata()) == 1]
    return axes, [text.get_text() for text in axes.texts], points


def test_every_strategy_is_a_point_with_its_name():
    advice = advise_streams(np.repeat([10, 40], 25), np.arange(25), ratio=0.15)
    axes, names, points = drawn(advice)
    assert names == [report.name for report in advice.strategies]
    np.testing.assert_allclose(points, [[report.historical, report.cost] for report in advice.strategies])
    assert "who hold 20% of the rows" in axes.get_xlabel()


def test_what_has_no_bound_is_left_out():
    _, names, _ = drawn(advise_streams([10, 30], [0], ratio=0.0))
    assert names == ["historical", "optimal"]
    _, names, _ = drawn(advise_streams([10, 30], [], ratio=0.3))
    assert "historical" not in names
