"""Does everyone count as it should in every window, and is everyone waited for in the end?"""

from fractions import Fraction
from itertools import pairwise
from math import ceil, inf, lcm

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.asynchrony.objective import constants, surrogate, window
from unalike.theory.asynchrony.planner import aggregations
from unalike.timing import (
    Clients,
    ExponentialTimes,
    FedFix,
    FixedTimes,
    Jobs,
    Timeline,
    WaitForAll,
    WideningFedFix,
    plan_schedule,
    timing_registry,
)
from unalike.timing.clock.hardware import spread_times
from unalike.timing.policies.widening_fedfix import widening

CLIENTS = Clients(np.random.default_rng(0).dirichlet(np.ones(10)))
F80 = FixedTimes(spread_times(10, 80))


def begun(policy, clients=CLIENTS):
    policy.begin(clients)
    return policy


def in_stages(policy, schedule):
    """The steps of a schedule, one list for each window."""
    firsts = np.cumsum([0, *(stage.steps for stage in policy.stages[:-1])]).astype(int)
    return [schedule.steps[a:b] for a, b in pairwise([*firsts, len(schedule.steps)])]


@pytest.mark.parametrize(("window", "factor", "periods"), [("0.2", 2, 1), ("0.3", 1.4, 2), ("1/3", 1.2, 1)])
def test_everyone_counts_as_it_should_within_every_window(window, factor, periods):
    policy = begun(WideningFedFix(Fraction(window), factor, periods, hardware=F80))
    whole = sum(stage.steps for stage in policy.stages[:-1])
    parts = in_stages(policy, plan_schedule(policy, CLIENTS, steps=whole + 3))
    for stage, part in zip(policy.stages, parts, strict=True):
        found = Timeline(part, 10)
        np.testing.assert_allclose(found.expected_weights, CLIENTS.importance, rtol=1e-12)
        counts = [ceil(time * policy.resolution / stage.width) for time in spread_times(10, 80)]
        for step in part:
            np.testing.assert_allclose(
                step.weights, np.array(counts)[step.clients] * CLIENTS.importance[step.clients]
            )
        assert stage.steps in (inf, periods * lcm(*counts))


def test_a_widened_window_ends_as_wait_for_all():
    policy = begun(WideningFedFix(0.2, 2, hardware=F80))
    before = sum(stage.steps for stage in policy.stages[:-1])
    last = plan_schedule(policy, CLIENTS, steps=before + 5).steps[before:]
    waited = plan_schedule(WaitForAll(hardware=F80), CLIENTS, steps=5).steps
    since = last[0].time - 1
    for step, like in zip(last, waited, strict=True):
        assert step.fresh
        assert step.clients.tolist() == like.clients.tolist()
        np.testing.assert_allclose(step.weights, like.weights, rtol=1e-12)
        assert step.time - since == pytest.approx(like.time, abs=1e-12)


def test_windows_grow_by_their_factor_up_to_the_slowest_and_by_a_tick_at_least():
    assert [stage.width for stage in widening([45, 9], 9, Fraction(2))] == [9, 18, 36, 45]
    assert [stage.width for stage in widening([4, 3], 1, Fraction("1.01"))] == [1, 2, 3, 4]
    assert widening([4, 3], 6, Fraction(2)) == [(6, inf)]  # wider than the slowest from the start


def test_before_it_widens_it_is_fedfix_and_a_window_of_all_never_does():
    for first in (0.2, 1):
        narrow = plan_schedule(WideningFedFix(first, 2, hardware=F80), CLIENTS, steps=60)
        usual = plan_schedule(FedFix(first, hardware=F80), CLIENTS, steps=60)
        for step, like in zip(narrow.steps, usual.steps, strict=True):
            assert (step.time, step.clients.tolist()) == (like.time, like.clients.tolist())
            np.testing.assert_array_equal(step.weights, like.weights)


def test_steps_go_on_after_any_of_them_as_if_it_had_not_stopped():
    whole = plan_schedule(WideningFedFix(0.5, 1.5, hardware=F80, dropout=0.2), CLIENTS, steps=12).steps
    policy = begun(WideningFedFix(0.5, 1.5, hardware=F80, dropout=0.2))

    class Everyone:
        everyone = True

    for number, expected in enumerate(whole):
        found = next(policy.steps(Everyone(), number))
        np.testing.assert_array_equal(found.clients, expected.clients)
        np.testing.assert_array_equal(found.weights, expected.weights)
        assert found.time == expected.time
        state, policy = policy.state(), begun(WideningFedFix(0.5, 1.5, hardware=F80, dropout=0.2))
        policy.restore(state)


def test_lost_jobs_are_made_up_for_in_every_window():
    policy = begun(WideningFedFix(0.5, 2, 400, hardware=F80, dropout=0.3))
    narrow, wide = in_stages(policy, plan_schedule(policy, CLIENTS, steps=1600))
    for part in (narrow, wide):
        assert np.abs(Timeline(part, 10).expected_weights / CLIENTS.importance - 1).max() < 0.2


def test_theory_has_no_period_and_no_pairs_of_weights_for_it_but_counts():
    policy = WideningFedFix(0.5, 2, hardware=F80)
    assert window(policy, CLIENTS) is None
    assert constants(policy, CLIENTS).alpha is None
    assert not surrogate(policy, CLIENTS).biased
    assert aggregations(policy, CLIENTS, 10) == 2 + 9


@pytest.mark.parametrize("words", ["0.2,1", "0.2,0.5", "0.2,nan", "0.2,2,0", "0.2,2,1.5"])
def test_only_wider_windows_after_whole_periods_are_allowed(words):
    with pytest.raises(
        ConfigError, match=r"a window (is widened by a factor|stays for whole periods)|a whole number belongs"
    ):
        timing_registry.make(f"fedfix-widening:{words}", hardware="spread:80")


def test_what_has_no_period_is_refused():
    with pytest.raises(ConfigError, match="which random times do not have"):
        begun(WideningFedFix(0.2, 2, hardware=ExponentialTimes(spread_times(10, 80))))
    with pytest.raises(ConfigError, match=r"would stay for .* steps"):
        begun(WideningFedFix(0.01, 2, hardware=F80))
    with pytest.raises(ConfigError, match="needs known client periods"):
        begun(WideningFedFix(0.2), CLIENTS._replace(jobs=Jobs(F80, 10)))
