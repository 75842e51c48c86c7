"""Do the measures of fairness say what their definitions say?"""

import numpy as np
import pytest

from unalike.runs.fairness import fairest_within, frontier, gains, group_means, group_measures, loss_spread

RNG = np.random.default_rng(0)
VALUES, GROUPS = RNG.random(12), np.array(list("abc"))[RNG.integers(0, 3, 12)].tolist()


def test_published_group_accuracies_give_their_discrepancy():
    """FEMNIST with three groups: the recomputed 4.88 of GIFAIR-Global, and 11.21 of FedAvg."""
    for groups, expected in (((83.41, 88.29, 84.37), 4.88), ((79.72, 90.93, 80.21), 11.21)):
        assert group_measures(groups, "abc")["discrepancy"] == pytest.approx(expected, abs=1e-9)


def test_groups_are_means_over_clients():
    for name, mean in group_means(VALUES, GROUPS).items():
        assert mean == pytest.approx(np.mean([v for v, g in zip(VALUES, GROUPS, strict=True) if g == name]))


def test_the_worst_group_depends_on_the_direction():
    up, down = (group_measures([1.0, 2.0], "ab", higher)["worst_group"] for higher in (True, False))
    assert (up, down) == (1.0, 2.0)


def test_shifting_all_clients_changes_no_difference():
    for measure in (
        lambda v: group_measures(v, GROUPS)["discrepancy"],
        lambda v: loss_spread(v, GROUPS),
    ):
        assert measure(VALUES + 3) == pytest.approx(measure(VALUES))


def test_who_was_not_measured_is_left_out():
    assert group_means([np.nan, 1.0], "aa") == {"a": 1.0}
    assert np.isnan(group_measures([np.nan], "a")["discrepancy"])
    assert group_measures([np.nan, 1.0], "ab") == {"worst_group": 1.0, "discrepancy": 0.0}


def test_gains_are_positive_for_who_is_better_off():
    assert gains([0.3], [0.5], higher=False)[0] == pytest.approx(0.2)
    assert gains([0.3], [0.5])[0] == pytest.approx(-0.2)


def test_the_frontier_is_what_nobody_beats():
    means, spreads = RNG.random(30), RNG.random(30)
    beaten = {i for i in range(30) for j in range(30) if means[j] > means[i] and spreads[j] < spreads[i]}
    assert set(frontier(means, spreads)) == set(range(30)) - beaten
    assert frontier([np.nan], [0.1]) == []


def test_the_fairest_is_as_good_as_was_asked():
    means, spreads = RNG.random(30), RNG.random(30)
    for points in (0.0, 5.0, 100.0):
        chosen = fairest_within(means, spreads, points)
        near = means >= means.max() - points / 100
        assert spreads[chosen] == spreads[near].min()
    assert fairest_within([2.0, 2.1, 9.0], [0.5, 0.1, 0.0], 10, higher=False) == 1
    assert fairest_within([np.nan, 0.5], [0.0, 0.4], 1) == 1


def test_the_fairest_of_those_as_good_as_a_reference():
    means, spreads = [0.95, 0.90, 0.80, 0.60], [0.4, 0.3, 0.2, 0.1]
    chosen = [fairest_within(means, spreads, 1.0, reference=r) for r in (None, 0.91, 0.80, 0.5, 0.99)]
    assert chosen == [0, 1, 2, 3, 0]  # none is as good as 0.99: then the best mean
