"""Can a suppressed cell be computed from what is shown?  (An auditor with a linear program.)"""

import numpy as np
import pytest

from unalike.analytics.disclosure import DisclosureError, DisclosureLedger, DisclosurePolicy
from unalike.analytics.disclosure.influence import largest_leverage, largest_share_of_row
from unalike.analytics.disclosure.suppression import feasibility_interval, merge_bins, suppress_table
from unalike.data.tables import Table
from unalike.errors import ConfigError


@pytest.mark.parametrize("seed", range(8))
def test_no_suppressed_cell_is_known_closer_than_the_minimum_cell_count(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([2, 9, 30]), rng.integers(2, 6, 2))
    shown = suppress_table(counts, 5)
    hidden = shown < 0
    assert ((shown == counts) | hidden).all()
    assert (counts[~hidden] >= 5).all()
    if hidden.all():
        return
    for row, column in np.argwhere(hidden):
        low, high = feasibility_interval(counts, hidden, row, column)
        assert high - low >= 5 - 1e-5


def test_zeros_are_suppressed_as_small_counts_are_and_large_tables_shown():
    assert suppress_table(np.array([[0, 40], [30, 20]]), 5).tolist() == [[-1, -1], [-1, -1]]
    assert suppress_table(np.array([[8, 40], [30, 20]]), 5).tolist() == [[8, 40], [30, 20]]


def test_merged_bins_are_never_small_and_lose_nobody():
    rng = np.random.default_rng(1)
    for _ in range(50):
        counts = rng.poisson(3, 12)
        edges, merged = merge_bins(np.arange(11.0), counts, 5)
        assert merged.sum() == counts.sum()
        assert len(merged) == len(edges) + 1
        assert merged.min() >= 5
        assert set(edges) <= set(range(11))


def test_leverage_is_the_largest_share_of_any_combination():
    x = np.random.default_rng(0).normal(size=(30, 3))
    combinations = x @ np.random.default_rng(1).normal(size=(3, 20_000))
    shares = (combinations**2 / (combinations**2).sum(axis=0)).max()
    assert shares <= largest_leverage(x) + 1e-12
    assert shares > 0.95 * largest_leverage(x)


def test_row_sets_that_differ_in_few_rows_together_are_found():
    sets = np.ones((3, 40), bool)
    sets[1, :10] = False
    sets[2, 1:10] = False  # no pair of the first two and this one differs in one row but the last two
    assert largest_share_of_row(sets[:2]) == pytest.approx(0.1)
    assert largest_share_of_row(sets) == pytest.approx(1.0)


def test_the_ledger_leaves_out_more_rows_or_refuses(tmp_path):
    table = Table.of({"y": np.arange(50.0)})
    ledger = DisclosureLedger(table, tmp_path / "ledger.json")
    everyone, but_one = np.ones(50, bool), np.arange(50) > 0
    assert ledger.release(everyone, ["y"], 5).all()
    first = ledger.release(but_one, ["y"], 5)
    assert (~first).sum() == 5
    again = DisclosureLedger(table, tmp_path / "ledger.json")
    assert (again.release(but_one, ["y"], 5) == first).all()
    few = np.arange(50) < 4
    with pytest.raises(DisclosureError, match="differencing"):
        again.release(few, ["y"], 5)


def test_impossible_policies_are_refused():
    for changes in ({"minimum_cell_count": 0}, {"maximum_leverage": 0.0}, {"maximum_questions": 0}):
        with pytest.raises(ConfigError, match="must be"):
            DisclosurePolicy(**changes)
