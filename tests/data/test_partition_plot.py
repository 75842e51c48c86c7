"""Pictures of who has what."""

import numpy as np
import pytest

from unalike.data import Federation, draw_partition, load
from unalike.data.partition_plot import clients_shown


@pytest.mark.parametrize(
    "options",
    [
        {"name": "digits", "clients": 12, "partition": "dirichlet:0.3"},
        {"name": "digits", "clients": 60, "partition": "shards:2"},
        {"name": "digits", "clients": 300},
        {"name": "diabetes", "clients": 6},
        {"name": "digits", "clients": 1},
    ],
)
def test_a_picture_is_drawn(tmp_path, options):
    path = tmp_path / "who.png"
    figure = draw_partition(load(**options), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "clients" in figure.axes[0].get_title(loc="left")


def test_bubbles_have_an_area_proportional_to_the_count():
    federation = Federation.from_clients(
        {"a": (np.zeros((8, 1)), [0] * 8), "b": (np.zeros((2, 1)), [1] * 2)}, test_fraction=0
    )
    areas = draw_partition(federation).axes[1].collections[0].get_sizes()
    assert areas[0] / areas[1] == pytest.approx(4)


def test_bars_are_the_sizes():
    federation = load("digits", partition="lognormal:1", clients=9)
    bars = [bar.get_height() for bar in draw_partition(federation).axes[0].patches]
    assert bars == federation.train.sizes.tolist()


def test_of_many_clients_a_hundred_are_shown_from_large_to_small():
    federation = load("digits", partition="lognormal:1", clients=400)
    shown = clients_shown(federation)
    sizes = federation.train.sizes[shown]
    assert len(set(shown)) == 100
    assert (np.diff(sizes) <= 0).all()
    assert sizes[0] == federation.train.sizes.max()
    assert sizes[-1] == federation.train.sizes.min()


def test_names_that_look_like_mathematics_are_drawn_as_they_are(tmp_path):
    labels = ["$x^", "a b$", "_", "$x^"]
    federation = Federation.from_clients({"$1_$": (np.eye(4), labels)}, test_fraction=0)
    axes = draw_partition(federation, tmp_path / "a.png").axes[1]
    for ticks, names in ((axes.get_yticklabels(), ["$x^", "_", "a b$"]), (axes.get_xticklabels(), ["$1_$"])):
        assert [tick.get_text() for tick in ticks] == names
        assert not any(tick.get_parse_math() for tick in ticks)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
