"""Do delays follow the formula, and its special cases?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.topology.delays import design_delays, overlay_delays, single_delays
from unalike.topology.underlays.connectivity import connect

RNG = np.random.default_rng(3)


def uneven(size, seed=0):
    """A network on which nothing is equal or symmetric."""
    rng = np.random.default_rng(seed)
    return replace(
        connect(f"mesh:{size}", seed=seed, local_steps=3),
        latency=rng.uniform(1, 50, (size, size)),
        bandwidth=rng.uniform(1e8, 1e9, (size, size)),
        uplink=rng.uniform(1e8, 2e9, size),
        downlink=rng.uniform(1e8, 2e9, size),
        compute=rng.uniform(1, 50, size),
    )


@pytest.mark.parametrize("seed", range(3))
def test_delays_are_those_of_the_formula_arc_by_arc(seed):
    network = uneven(6, seed)
    arcs = RNG.random((6, 6)) < 0.5
    np.fill_diagonal(arcs, False)
    delays = overlay_delays(network, arcs)
    for i in range(6):
        for j in range(6):
            if i == j:
                wanted = 3 * network.compute[i]
            elif not arcs[i, j]:
                wanted = -np.inf
            else:
                rate = min(
                    network.uplink[i] / arcs[i].sum(),
                    network.downlink[j] / arcs[:, j].sum(),
                    network.bandwidth[i, j],
                )
                wanted = 3 * network.compute[i] + network.latency[i, j] + network.bits / rate * 1000
            assert delays[i, j] == pytest.approx(wanted, rel=1e-14)


def test_fast_access_links_leave_the_design_delays():
    network = replace(uneven(5), uplink=np.full(5, np.inf), downlink=np.full(5, np.inf))
    arcs = ~np.eye(5, dtype=bool)
    assert np.allclose(overlay_delays(network, arcs), design_delays(network))


def test_slow_uplinks_alone_give_latency_and_degree_times_size():
    network = replace(uneven(5), downlink=np.full(5, np.inf), bandwidth=np.full((5, 5), np.inf))
    arcs = ~np.eye(5, dtype=bool)
    wanted = 3 * network.compute[:, None] + network.latency + 4000 * network.bits / network.uplink[:, None]
    assert np.allclose(overlay_delays(network, arcs)[arcs], wanted[arcs])


def test_stragglers_alone_give_computing_times():
    free = replace(
        uneven(4), latency=np.zeros((4, 4)), bandwidth=np.full((4, 4), np.inf), bits=0.0, local_steps=1
    )
    assert np.allclose(single_delays(free), np.repeat(free.compute[:, None], 4, axis=1))


def test_no_overlay_is_faster_on_any_arc_than_with_degrees_of_one():
    network = uneven(7)
    arcs = RNG.random((7, 7)) < 0.6
    np.fill_diagonal(arcs, False)
    assert (overlay_delays(network, arcs)[arcs] >= single_delays(network)[arcs] - 1e-9).all()
    assert (single_delays(network) >= design_delays(network) - 1e-9).all()
