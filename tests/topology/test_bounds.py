"""Do lower bounds hold for every overlay there is, and do certificates close?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.topology import Connectivity, connect, design
from unalike.topology.bounds import Choices, all_choices, lightest_round, lower_bound, narrow
from unalike.topology.certification import certify, decide
from unalike.topology.cycle_time import critical_circuit
from unalike.topology.delays import overlay_delays
from unalike.topology.overlay import Overlay
from unalike.topology.overlays.search import anneal, best_design, search_certified, without_needless
from unalike.topology.strong_connectivity import is_strong

from .test_delays import uneven


def digraphs(size):
    """All strongly connected digraphs."""
    places = np.argwhere(~np.eye(size, dtype=bool))
    for bits in range(1 << len(places)):
        used = places[[bool(bits >> k & 1) for k in range(len(places))]]
        arcs = np.zeros((size, size), bool)
        arcs[used[:, 0], used[:, 1]] = True
        if arcs.any(axis=0).all() and arcs.any(axis=1).all() and is_strong(arcs):
            yield arcs


FOUR = list(digraphs(4))


def fastest(network, every=None):
    every = every or list(digraphs(len(network)))
    return min(critical_circuit(overlay_delays(network, arcs)).mean for arcs in every)


def networks():
    """Fast and slow access links, symmetric and not, one silo that computes slowly."""
    yield connect("mesh:4,8000", access=1e10, seed=1)
    yield connect("mesh:4,8000", access=1e8, seed=2)
    yield connect("mesh:4,20000", "custom:1,1", seed=3)
    yield uneven(4, 4)
    yield replace(uneven(4, 5), compute=np.array([1, 200.0, 3, 4]))


def test_there_are_as_many_strong_digraphs_as_known():
    assert len(FOUR) == 1606
    assert len(list(digraphs(3))) == 18


@pytest.mark.parametrize("network", list(networks()))
def test_bounds_hold_for_all_digraphs_of_four_and_certificates_are_exact(network):
    best = fastest(network, FOUR)
    assert lightest_round(network) <= best + 1e-9
    assert lower_bound(network, design("complete", network).cycle_time(network)) <= best * (1 + 1e-9)
    proof = certify(network, design("complete", network), nodes=2000)
    assert proof.optimal
    assert proof.upper == pytest.approx(best, rel=1e-5)
    assert proof.lower <= best * (1 + 1e-9)
    assert proof.overlay.cycle_time(network) == pytest.approx(proof.upper)


@pytest.mark.parametrize("network", list(networks()))
def test_nothing_that_a_good_overlay_needs_is_struck_out(network):
    times = [critical_circuit(overlay_delays(network, arcs)).mean for arcs in FOUR]
    for k in np.argsort(times)[:40]:
        left = narrow(network, times[k] * (1 + 1e-9), all_choices(network))
        assert left is not None
        assert not (FOUR[k] & ~left.allowed).any()
        assert not (left.forced & ~FOUR[k]).any()


def test_questions_are_answered_right_on_both_sides_of_the_optimum():
    network = uneven(4, 7)
    best = fastest(network, FOUR)
    no, yes = decide(network, best * 0.999, 2000), decide(network, best * 1.001, 2000)
    assert no.refuted
    assert no.found is None
    assert yes.found is not None
    assert critical_circuit(overlay_delays(network, yes.found)).mean <= best * 1.001
    assert not decide(network, best * 0.999, 0).refuted


def test_five_silos_agree_with_sampled_digraphs():
    rng = np.random.default_rng(0)
    for seed in (1, 2):
        network = uneven(5, seed)
        proof = certify(network, best_design(network), nodes=1500)
        assert proof.lower <= proof.upper
        for _ in range(400):
            arcs = rng.random((5, 5)) < 0.4
            np.fill_diagonal(arcs, False)
            if is_strong(arcs):
                assert Overlay(arcs).cycle_time(network) >= proof.lower - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_search_is_never_slower_than_the_designs_and_stays_strong(seed):
    network = connect("mesh:8,8000", access=5e8, seed=seed)
    found = design("search:300", network, seed)
    assert is_strong(found.arcs)
    for name in ("ring:improved", "mst", "delta-mbst", "complete"):
        assert found.cycle_time(network) <= design(name, network).cycle_time(network) + 1e-9
    again = design("search:300", network, seed)
    assert (found.arcs == again.arcs).all()


def test_a_search_with_a_proof_finds_the_optimum_of_small_networks():
    network = connect("mesh:4,9000", seed=5)
    proof = search_certified(network, steps=200, nodes=1000)
    assert proof.optimal
    assert proof.gap <= 1e-5
    assert proof.upper == pytest.approx(fastest(network, FOUR), rel=1e-5)


def test_a_search_from_all_arcs_gets_well_below_them():
    network = connect("mesh:7,9000", access=2e8, seed=6)
    complete = design("complete", network)
    walked = anneal(network, complete.arcs, 400, (1,), warm=0.02)
    bare = without_needless(network, complete.arcs)
    for arcs in (walked, bare):
        assert is_strong(arcs)
        assert Overlay(arcs).cycle_time(network) < complete.cycle_time(network)


def test_certificates_do_not_take_a_star_for_two_hops():
    network = connect("mesh:4")
    proof = certify(network, design("star", network), nodes=1)
    assert proof.upper <= design("star", network).cycle_time(network)
    assert proof.overlay.hub is None


def test_effort_follows_the_size_of_the_network(monkeypatch):
    """No branch and bound for many silos, unless it is asked for; then only what is looked at is made."""
    rng = np.random.default_rng(0)
    places = rng.random((60, 2)) * 3000
    km = np.linalg.norm(places[:, None] - places, axis=2)
    same = np.eye(60, dtype=bool)
    network = Connectivity(
        tuple(f"silo {i}" for i in range(60)),
        np.where(same, 0.0, 0.0085 * km + 4),
        np.where(same, np.inf, 1e9),
        np.full(60, 1e9),
        np.full(60, 1e9),
        np.full(60, 25.0),
        4e7,
    )
    start = best_design(network)
    assert certify(network, start).explored == 0
    made, with_arc = [], Choices.with_arc
    monkeypatch.setattr(Choices, "with_arc", lambda self, *arc: made.append(arc) or with_arc(self, *arc))
    explored = certify(network, start, nodes=6).explored
    assert explored >= 6
    assert len(made) <= explored  # cases that nobody looks at are not made


def test_whoever_asks_is_told_how_far_a_search_is():
    told = []
    network = connect("gaia", "femnist")
    proof = search_certified(network, steps=400, nodes=20, progress=lambda *word: told.append(word))
    assert [word for word, _ in told if word == "searching"]
    shares = [done for word, done in told if word == "searching"]
    assert shares == sorted(shares)
    assert 0 <= min(shares) <= max(shares) <= 1
    assert proof.overlay.arcs.tolist() == search_certified(network, steps=400, nodes=20).overlay.arcs.tolist()
