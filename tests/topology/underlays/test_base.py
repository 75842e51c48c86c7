"""Are maps read, routed and refused as they should be?"""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import unalike.topology.underlays.maps  # noqa: F401  (registers the maps)
from unalike.errors import ConfigError, DataError
from unalike.topology.underlays.base import Underlay, read_underlay, underlay_of

SQUARE = """graph [
  node [ id 7 label "Z&#252;rich" Latitude 47.4 Longitude 8.5 ]
  node [ id 3 label "Bern, +CH" ]
  node [ id 5 label "same" ] node [ id 9 label "same" ]
  edge [ source 7 target 3 distance 100 capacity 1e9 ] edge [ source 3 target 5 distance 0 capacity 2e9 ]
  edge [ source 5 target 9 distance 50.5 capacity 1e8 ] edge [ source 9 target 7 distance 100 capacity 1e9 ]
]"""


def written(tmp_path, text):
    path = tmp_path / "map.gml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_names_links_lengths_capacities_and_places(tmp_path):
    place = underlay_of(written(tmp_path, SQUARE))
    assert place.names == ("Zürich", "Bern, +CH", "same (5)", "same (9)")
    assert place.links.tolist() == [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert place.km.tolist() == [100, 0, 50.5, 100]
    assert place.coordinates is not None
    assert place.coordinates[0].tolist() == [47.4, 8.5]
    assert np.isnan(place.coordinates[1:]).all()
    assert place.routes.km[0, 2] == 100
    assert place.routes.hops[0, 2] == 2
    assert place.routes.narrowest[0, 2] == 1e9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("distance 50.5", ""), "edge 5 - 9 has no distance"),
        (("distance 50.5", 'distance "far"'), "edge 5 - 9 has no distance"),
        (("distance 50.5", "distance -1"), "km -1; it must be a number that is not negative"),
        (("capacity 1e8", "capacity 0"), "'same \\(5\\)' - 'same \\(9\\)' has capacity 0"),
        (("source 9 target 7", "source 9 target 9"), "'same \\(9\\)' is linked with itself"),
        (("source 9 target 7", "source 3 target 7"), "'Zürich' and 'Bern, \\+CH' are linked twice"),
        (("source 9 target 7", "source 9 target 8"), "target 8, which is the id of no node"),
        (("id 9", "id 5"), "no id of its own \\(its id is 5\\)"),
    ],
)
def test_bad_maps_are_refused_with_the_link(tmp_path, change, words):
    with pytest.raises(DataError, match=words):
        read_underlay(written(tmp_path, SQUARE.replace(*change)))


def test_parts_of_a_disconnected_map_are_named():
    with pytest.raises(DataError, match="2 parts: a, b; c, d"):
        Underlay(("a", "b", "c", "d"), np.array([[0, 1], [2, 3]]), np.ones(2))


def test_one_silo_and_missing_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="at least 2 silos, but there are 1"):
        Underlay(("alone",), np.zeros((0, 2), int), np.zeros(0))
    with pytest.raises(DataError, match="cannot be read"):
        underlay_of(tmp_path / "nowhere.gml")
    with pytest.raises(ConfigError, match="unknown underlay 'gaiaa'; did you mean 'gaia'"):
        underlay_of("gaiaa")


@pytest.mark.parametrize("seed", range(5))
def test_routes_are_shortest_ways_over_the_fewest_links(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(12, 0.3, seed=seed)
    nx.add_path(graph, range(12))
    links = np.array(sorted(tuple(sorted(edge)) for edge in graph.edges))
    km = rng.integers(0, 4, len(links)).astype(float)  # many ties, and links of no length
    place = Underlay(tuple(map(str, range(12))), links, km)
    for (a, b), length in zip(links, km, strict=True):
        graph[a][b]["km"] = length
    for i, j in [(0, 11), (3, 8), (5, 5), (10, 2)]:
        ways = list(nx.all_shortest_paths(graph, i, j, weight="km")) if i != j else [[i]]
        ways += list(nx.all_simple_paths(graph, i, j, cutoff=6)) if i != j else []
        lengths = [(sum(graph[a][b]["km"] for a, b in pairwise(p)), len(p) - 1) for p in ways]
        assert (place.routes.km[i, j], place.routes.hops[i, j]) == min(lengths)
