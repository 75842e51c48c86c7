"""Are random matchings disjoint, as likely as they should be, and timed with a barrier?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology import connect, design, read_measurements
from unalike.topology.delays import overlay_delays
from unalike.topology.overlays.edge_coloring import matchings
from unalike.topology.overlays.matcha import Matcha, best_chances, best_weight, laplacian

NETWORK = connect("geometric:12", seed=4)


def random_graph(size, chance, rng):
    table = rng.random((size, size)) < chance
    return (table | table.T) & ~np.eye(size, dtype=bool)


@pytest.mark.parametrize("chance", [0.1, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("size", [2, 7, 16, 31])
def test_matchings_are_disjoint_few_and_cover_every_edge_once(size, chance):
    graph = random_graph(size, chance, np.random.default_rng(size))
    sets = matchings(graph)
    seen = np.zeros_like(graph, dtype=int)
    for pairs in sets:
        assert len(np.unique(pairs)) == 2 * len(pairs)
        seen[pairs[:, 0], pairs[:, 1]] += 1
    assert (seen + seen.T == graph).all()
    assert len(sets) <= graph.sum(axis=1).max() + 1


def test_complete_graphs_need_no_more_rounds_than_a_tournament():
    assert len(matchings(~np.eye(10, dtype=bool))) == 9
    assert len(matchings(~np.eye(11, dtype=bool))) == 11


def algebraic_connectivity(pairs, chances, size):
    mean = sum(p * laplacian(m, size) for p, m in zip(chances, pairs, strict=True))
    return np.linalg.eigvalsh(mean)[1]


@pytest.mark.parametrize("budget", [0.3, 0.5, 0.8])
def test_chances_keep_the_budget_and_beat_others(budget):
    random = Matcha(NETWORK.links, budget)
    p, pairs = random.chances, random.pairs
    assert ((p >= 0) & (p <= 1)).all()
    assert p.sum() <= budget * len(pairs) + 1e-9
    mine = algebraic_connectivity(pairs, p, 12)
    rng = np.random.default_rng(0)
    for _ in range(300):
        other = np.clip(p + 0.1 * rng.normal(size=len(p)), 0, 1)
        other *= min(1, budget * len(pairs) / other.sum())
        assert algebraic_connectivity(pairs, other, 12) <= mine * 1.02


def test_equal_matchings_of_a_complete_graph_get_equal_chances():
    pairs = matchings(~np.eye(8, dtype=bool))
    assert np.allclose(best_chances(pairs, 8, 0.5), 0.5)
    assert np.allclose(best_chances(pairs, 8, 1.0), 1.0)


def test_the_weight_of_pairs_is_the_best_of_a_fine_grid():
    random = Matcha(NETWORK.links, 0.5)
    drawn = np.random.default_rng(1).random((4000, len(random.pairs))) < random.chances

    def square(alpha):
        mixes = np.eye(12) - alpha * np.tensordot(drawn, random.laplacians, axes=1)
        return np.linalg.norm((mixes @ mixes).mean(axis=0) - 1 / 12, 2)

    grid = np.linspace(0.5, 1.5, 11) * random.alpha
    assert square(random.alpha) <= min(map(square, grid)) + 0.01
    assert best_weight(random.laplacians, random.chances) == random.alpha


def test_draws_follow_their_chances_and_are_never_empty():
    random = Matcha(NETWORK.links, 0.1, seed=3)
    drawn = random.active(4000)
    assert drawn.any(axis=1).all()
    wanted = random.chances / (1 - np.prod(1 - random.chances))
    spread = np.sqrt(wanted * (1 - wanted) / 4000)
    assert (np.abs(drawn.mean(axis=0) - wanted) <= 4 * spread + 1e-9).all()
    assert (drawn[7] == random.active(1, start=7)[0]).all()
    pairs = np.array([len(one) for one in random.pairs])
    assert random.messages == pytest.approx(2 * (drawn @ pairs).mean(), rel=0.05)


def test_rounds_wait_for_the_slowest_and_recurrence_is_never_slower():
    random = design("matcha+", NETWORK)
    times = random.round_times(NETWORK, 20)
    for k in range(20):
        assert times[k] == overlay_delays(NETWORK, random.arcs(k)).max()
    assert random.cycle_time(NETWORK, 20) == pytest.approx(times.mean())
    assert random.recurrent_cycle_time(NETWORK, 20) <= times.mean() + 1e-9
    assert np.allclose(random.times(NETWORK, 20)[-1], times.sum())


def test_mixing_keeps_the_mean_among_active_pairs_alone():
    random = design("matcha", NETWORK)
    for k in range(5):
        weights, arcs = random.mixing(k), random.arcs(k)
        assert np.allclose(weights.sum(axis=0), 1)
        assert (weights == weights.T).all()
        assert np.allclose(weights[arcs], random.alpha)
        assert (weights[~arcs & ~np.eye(12, dtype=bool)] == 0).all()


def test_a_full_budget_uses_every_edge_every_round():
    random = design("matcha:1", NETWORK)
    assert (random.arcs(0) == NETWORK.possible).all()
    assert random.messages == NETWORK.possible.sum()


def test_bad_budgets_and_missing_maps_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="above 0 and at most 1, not 0"):
        design("matcha:0", NETWORK)
    file = tmp_path / "m.csv"
    file.write_text("from,to,latency_ms,bandwidth_mbps\na,b,5,100\nb,a,6,50\n")
    with pytest.raises(ConfigError, match="needs a map, but these are measurements"):
        design("matcha+", read_measurements(file))
