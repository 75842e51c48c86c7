"""Do overlays keep time and average as they should?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology import Connectivity, connect, design, designer_registry, search_certified
from unalike.topology.cycle_time import critical_circuit
from unalike.topology.delays import overlay_delays
from unalike.topology.overlay import Overlay, doubly_stochastic, local_degree, overlay_of

GAIA = connect("gaia")
DESIGNS = ("star", "mst", "delta-mbst", "ring", "ring:improved", "random-ring", "complete", "search:50")


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_keeps_the_mean_and_brings_models_together(name):
    weights = design(name, GAIA).mixing()
    assert (weights >= 0).all()
    assert np.allclose(weights.sum(axis=0), 1, atol=1e-12)
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert np.linalg.svd(weights)[1][1] < 1 - 1e-6


@pytest.mark.parametrize("name", DESIGNS)
def test_local_steps_add_their_time_exactly(name):
    overlay, busy = design(name, GAIA), GAIA.with_local_steps(9)
    assert overlay.cycle_time(busy) == pytest.approx(overlay.cycle_time(GAIA) + 8 * 25.4, rel=1e-12)
    assert overlay.throughput(GAIA) == pytest.approx(1000 / overlay.cycle_time(GAIA))


@pytest.mark.parametrize("name", DESIGNS)
def test_clocks_of_all_silos_run_at_the_cycle_time(name):
    overlay = design(name, GAIA)
    times = overlay.times(GAIA, 600)
    assert times.shape == (601, 11)
    assert (times[0] == 0).all()
    assert np.allclose((times[-1] - times[300]) / 300, overlay.cycle_time(GAIA), rtol=5e-3)


def test_weights_go_from_senders_to_receivers():
    network = connect("mesh:3")
    weights = overlay_of([(0, 1), (1, 2), (2, 0)], network).mixing()
    assert weights.tolist() == [[0.5, 0, 0.5], [0.5, 0.5, 0], [0, 0.5, 0.5]]


def test_weights_of_trees_are_metropolis_weights_of_neighbors():
    path = np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    degree = path.sum(axis=0)
    weights = Overlay(path).mixing()
    for i, j in np.argwhere(path):
        assert weights[i, j] == pytest.approx(1 / (1 + max(degree[i], degree[j])))


def test_unbalanced_digraphs_get_doubly_stochastic_weights_on_their_arcs_alone():
    rng = np.random.default_rng(0)
    for _ in range(10):
        arcs = rng.random((8, 8)) < 0.2
        arcs |= np.roll(np.eye(8, dtype=bool), 1, axis=1)
        np.fill_diagonal(arcs, False)
        weights = Overlay(arcs).mixing()
        assert np.allclose(weights.sum(axis=0), 1, atol=1e-12)
        assert np.allclose(weights.sum(axis=1), 1, atol=1e-12)
        assert ((weights > 0) == (arcs.T | np.eye(8, dtype=bool))).all()
    balanced = local_degree(np.roll(np.eye(5, dtype=bool), 1, axis=1))
    assert (doubly_stochastic(balanced) == balanced).all()


def test_two_silos_have_one_overlay_and_a_star_counts_two_transfers():
    two = connect("mesh:2")
    ring, tree, star = (design(name, two) for name in ("ring", "mst", "star"))
    assert (ring.arcs == tree.arcs).all()
    assert (ring.arcs == star.arcs).all()
    delays = overlay_delays(two, ring.arcs)
    assert ring.cycle_time(two) == pytest.approx((delays[0, 1] + delays[1, 0]) / 2)
    assert star.cycle_time(two) == pytest.approx(delays[0, 1] + delays[1, 0] - 25.4)


def test_given_arcs_are_checked_by_name_and_number(tmp_path):
    ring = [("Dublin", "Frankfurt"), ("Frankfurt", "Dublin")]
    with pytest.raises(
        ConfigError, match="'mine' is not strongly connected, it has 10 parts: silo 'California'"
    ):
        overlay_of(ring, GAIA, "mine")
    with pytest.raises(ConfigError, match="no silo 'Paris'"):
        overlay_of([("Paris", "Dublin")], GAIA)
    with pytest.raises(ConfigError, match="no silo 11"):
        overlay_of([(11, 0)], GAIA)
    with pytest.raises(ConfigError, match="silo 1 sends to itself"):
        overlay_of([(1, 1)], GAIA)
    file = tmp_path / "own.csv"
    file.write_text(
        "\n".join(f"{a},{b}" for a, b in zip(GAIA.names, GAIA.names[1:] + GAIA.names[:1], strict=True))
    )
    made = designer_registry.make(f"arcs:{file}", connectivity=GAIA)
    assert (made.messages, made.name) == (11, "own")
    file.write_text("a,b,c\n")
    with pytest.raises(ConfigError, match=r"'a,b,c' is not 'sender,receiver'"):
        designer_registry.make(f"arcs:{file}", connectivity=GAIA)


def test_an_overlay_refuses_networks_it_does_not_fit():
    with pytest.raises(ConfigError, match="has 11 silos, not 4"):
        design("ring", GAIA).cycle_time(connect("mesh:4"))


def test_fewer_arcs_are_never_slower():
    rng = np.random.default_rng(1)
    network = connect("mesh:7", access=2e8)
    arcs = ~np.eye(7, dtype=bool)
    time, taken = Overlay(arcs).cycle_time(network), 0
    for i, j in rng.permutation(np.argwhere(arcs)):
        fewer = arcs.copy()
        fewer[i, j] = False
        try:
            less = critical_circuit(overlay_delays(network, fewer)).mean
        except ConfigError:
            continue
        assert less <= time + 1e-9
        arcs, time, taken = fewer, less, taken + 1
    assert taken > 20


def test_one_silo_only_computes():
    lone = Connectivity(
        ("a",), np.zeros((1, 1)), np.ones((1, 1)), np.ones(1), np.ones(1), np.array([7.0]), 1e6, local_steps=2
    )
    for name in ("star", "mst", "ring", "search:5", "complete"):
        overlay = design(name, lone)
        assert overlay.cycle_time(lone) == 14.0
        assert overlay.messages == 0
        assert overlay.mixing().tolist() == [[1.0]]


@pytest.mark.parametrize("size", [2, 3, 6])
def test_free_networks_take_no_time_and_ties_do_no_harm(size):
    free = connect(f"mesh:{size}", "custom:0,0", core=np.inf, access=np.inf)
    free = replace(free, latency=np.zeros((size, size)))
    for name in ("star", "mst", "delta-mbst", "ring:improved", "search:20", "complete"):
        assert design(name, free).cycle_time(free) == 0
    assert search_certified(free, steps=5, nodes=5).gap == 0


def test_after_a_silo_fails_there_is_a_ring_without_it():
    fewer = GAIA.without("Sydney")
    ring = design("ring", fewer)
    assert ring.messages == 10
    assert ring.cycle_time(fewer) < design("ring", GAIA).cycle_time(GAIA)
