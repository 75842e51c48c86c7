"""Do historical clients have the share of rows that is asked for, and is everything else as without it?"""

from itertools import chain

import numpy as np
import pytest

import unalike
from unalike.data.historical_split import HistoricalSplit, count_historical
from unalike.data.loader import deal
from unalike.data.sources.source import Source
from unalike.errors import ConfigError
from unalike.experiments.build import check, make_federation
from unalike.experiments.config import make_experiment


def numbered(rows=400, classes=4, **more):
    """Rows that are called by their numbers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, rows)
    return Source(np.arange(rows, dtype=np.float32)[:, None], labels, classes, **more)


def rows_of(federation):
    """The numbers of each client's rows, in training and in tests."""
    parts = (federation.train, federation.test)
    return [sorted(int(v[0]) for part in parts for v in part.client(m)[0]) for m in range(len(federation))]


@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("partition", ["iid", "dirichlet:0.4", "dirichlet-class:0.4"])
def test_every_row_has_one_client_and_historical_ones_have_the_share(fraction, partition):
    split = HistoricalSplit(fraction, 5)
    rows = rows_of(deal(numbered(), partition, 10, seed=3, historical=split))
    assert sorted(chain(*rows)) == list(range(400))
    assert sum(map(len, rows[:5])) == round(400 * fraction)
    assert min(map(len, rows)) >= 1


def test_the_split_is_random_and_the_parts_have_draws_of_their_own():
    rows = rows_of(deal(numbered(), "dirichlet-class:0.4", 10, seed=3, historical=HistoricalSplit(0.5)))
    kept = np.array([*chain(*rows[:5])])
    assert 150 < kept.mean() < 250  # neither the first rows nor the last
    sizes = [len(own) for own in rows]
    assert sizes[:5] != sizes[5:]
    again = rows_of(deal(numbered(), "dirichlet-class:0.4", 10, seed=3, historical=HistoricalSplit(0.5)))
    assert rows == again


def test_training_rows_keep_the_share_up_to_whole_rows():
    made = unalike.load("digits", partition="iid", clients=50, historical_share=0.2, historical_clients=25)
    sizes = made.train.sizes
    assert sizes[:25].sum() / sizes.sum() == pytest.approx(0.2, abs=0.01)
    assert len(unalike.load("digits", partition="iid", clients=4, historical_share=0.2)) == 4


def test_pachinko_allocation_partitions_both_parts():
    coarse = np.arange(400) % 2
    made = deal(numbered(coarse=coarse), "pachinko:0.4,10", 8, 0, historical=HistoricalSplit(0.25, 2))
    assert sum(len(own) for own in rows_of(made)[:2]) == 100


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"historical_share": 1.0}, "above 0 and below 1, but is 1.0"),
        ({"historical_share": 0.2, "historical_clients": 10}, "10 of 10 clients are historical"),
        ({"historical_share": 0.2, "historical_clients": 0}, "0 of 10 clients are historical"),
        ({"historical_share": 0.2, "historical_clients": 11}, "11 clients cannot be historical"),
        ({"historical_share": 0.2, "sizes": [10] * 10}, "leave out historical_share"),
        ({"historical_share": 0.001}, "cannot share 2 rows"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_wrong_share_is_one_sentence(given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        unalike.load("digits", partition="iid", clients=10, **given)


def test_clients_with_rows_of_their_own_are_not_partitioned():
    owned = numbered(owners=np.arange(400) % 10)
    with pytest.raises(ConfigError, match="follows from who is historical"):
        deal(owned, "natural", 10, historical=HistoricalSplit(0.2))
    with pytest.raises(ConfigError, match="leave out historical_share"):
        unalike.load("quadratic", historical_share=0.2)


STREAMED = {"data": "digits", "clients": 10, "partition": "iid", "stream": "spread:5,0.3"}


def test_the_stream_says_who_is_historical():
    made = make_federation(make_experiment({**STREAMED, "historical_share": 0.5}))
    assert made.train.sizes[:3].sum() / made.train.sizes.sum() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"stream": None}, "about rows that arrive while training"),
        ({"stream": "spread:5"}, "needs historical clients; say how many"),
        ({"unseen": 0.2}, "unseen leaves some of them out"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_share_without_historical_clients_is_refused_before_data_are_read(given, sentence):
    words = {name: value for name, value in {**STREAMED, **given}.items() if value is not None}
    with pytest.raises(ConfigError, match=sentence):
        check(make_experiment({**words, "historical_share": 0.2}))


@pytest.mark.parametrize("share", [0, 1, -0.5, "many"])
def test_a_share_out_of_range_is_no_setting(share):
    with pytest.raises(ConfigError, match="historical_share"):
        make_experiment({**STREAMED, "historical_share": share})


def test_counts_and_shares_of_clients():
    assert [count_historical(given, 10) for given in (0, 0.25, 1, 10)] == [0, 2, 1, 10]
