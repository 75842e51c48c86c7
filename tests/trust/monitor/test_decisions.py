"""Does the rule flag what it says, after the rounds it asks for, and only against peers who are different?"""

import numpy as np
import pytest

from unalike.trust.monitor.decisions import Evidence, Verdict, decide, peer_medians, raise_flags, window_for

FAIR = {"consecutive": 0.9, "normal": 0.3}
LIAR = {"consecutive": 0.01, "normal": 0.02}


def evidence(*clients, seen=5, caught=(), replays=(), gain=np.nan):
    """What is known of fair clients and liars."""
    n = len(clients)
    marks = np.isin(np.arange(n), caught)
    counts = np.array([dict(replays).get(i, 0) for i in range(n)])
    columns = (np.array([c[name] for c in clients], float) for name in ("consecutive", "normal"))
    return Evidence(np.full(n, seen), *columns, marks, counts, np.broadcast_to(gain, n))


def verdicts(known, window=5, parameters=2000, normality=True):
    return [Verdict(v).name for v in decide(raise_flags(known, window, parameters, normality))]


def test_two_flags_are_quarantine_and_everyone_else_is_clear():
    assert verdicts(evidence(FAIR, FAIR, FAIR, LIAR)) == ["CLEAR"] * 3 + ["QUARANTINE"]


@pytest.mark.parametrize("alike", ["consecutive", "normal"])
def test_one_flag_is_watch(alike):
    odd = {**LIAR, alike: FAIR[alike]}
    assert verdicts(evidence(FAIR, FAIR, FAIR, odd))[-1] == "WATCH"


def test_nothing_is_decided_before_the_window_is_full():
    assert set(verdicts(evidence(FAIR, FAIR, FAIR, LIAR, seen=4))) == {"CLEAR"}


def test_who_was_caught_is_excluded_at_once():
    assert verdicts(evidence(FAIR, FAIR, FAIR, seen=1, caught=[2])) == ["CLEAR", "CLEAR", "EXCLUDE"]


def test_three_flags_are_exclusion():
    known = evidence(FAIR, FAIR, FAIR, LIAR, replays={3: 3}.items())
    assert verdicts(known)[-1] == "EXCLUDE"


@pytest.mark.parametrize(("times", "verdict"), [(2, "CLEAR"), (3, "WATCH")])
def test_three_replays_are_a_flag(times, verdict):
    assert verdicts(evidence(FAIR, FAIR, FAIR, replays={0: times}.items()))[0] == verdict


def test_who_never_lowers_the_servers_loss_has_a_flag_more():
    known = evidence(FAIR, FAIR, FAIR, LIAR, gain=[0.1, 0.0, 0.2, -0.1])
    assert verdicts(known) == ["CLEAR", "WATCH", "CLEAR", "EXCLUDE"]


def test_where_everyone_looks_like_noise_nobody_is_flagged():
    """At the optimum all updates are noise, and with one local batch fair ones are nearly Gaussian."""
    assert set(verdicts(evidence(*[LIAR] * 4))) == {"CLEAR"}


def test_noise_that_clients_add_for_privacy_is_no_flag():
    assert verdicts(evidence(FAIR, FAIR, FAIR, LIAR), normality=False)[-1] == "WATCH"


def test_few_parameters_ask_for_more_rounds():
    assert [window_for(5, d) for d in (10, 100, 500, 10**6)] == [250, 25, 5, 5]


def test_peers_are_the_others():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, 9).astype(float)
    values[3] = np.nan
    expected = [np.nanmedian(np.delete(values, i)) for i in range(9)]
    np.testing.assert_array_equal(peer_medians(values), expected)
    assert np.isnan(peer_medians(np.array([1.0, np.nan]))[0])
