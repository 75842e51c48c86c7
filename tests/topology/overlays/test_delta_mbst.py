"""Are trees with limited degrees within their bound, and the best of their candidates?"""

import pytest

from unalike.errors import ConfigError
from unalike.topology import connect, design
from unalike.topology.overlay import Overlay
from unalike.topology.overlays.spanning_trees import to_undirected

from .test_mst import all_trees


@pytest.mark.parametrize("seed", range(3))
def test_limited_trees_are_within_six_times_the_best_and_never_worse_than_their_candidates(seed):
    network = connect("mesh:5,8000", access=1e8, seed=seed)
    mine = design("delta-mbst", network).cycle_time(network)
    best = min(Overlay(to_undirected(tree, 5)).cycle_time(network) for tree in all_trees(5))
    assert best - 1e-9 <= mine <= 6 * best
    assert mine <= design("delta-mbst:prim", network).cycle_time(network) + 1e-9


def test_other_candidates_are_refused():
    with pytest.raises(ConfigError, match="'all' trees or those of 'prim'"):
        design("delta-mbst:none", connect("mesh:3"))
