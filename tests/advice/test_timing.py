"""Does the advice follow from the schedules, and is the first to arrive really the first?"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from unalike.advice.timing import advise_timing, candidates, readable, reweight
from unalike.advice.timing_race import Curve, RaceTarget, curve_of
from unalike.errors import ConfigError
from unalike.theory.asynchrony import quadratic
from unalike.theory.asynchrony.objective import Surrogate, surrogate, window
from unalike.theory.asynchrony.quadratic import largest_stable_step, simulate
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FedBuff,
    FedFix,
    FixedTimes,
    WaitForAll,
    plan_schedule,
    timing_registry,
)

TIMES = (4, 2, 2, 1)
EVERYONE = Clients(np.full(4, 0.25))


@pytest.fixture(scope="module")
def advice():
    return advise_timing(TIMES)


@pytest.fixture(scope="module")
def alike():
    return advise_timing(TIMES, goal=RaceTarget(unlike=0))


@pytest.fixture(scope="module")
def equal():
    return advise_timing("equal", clients=4)


# Numbers.


def test_every_policy_is_there_corrected_and_not(advice):
    names = [(report.policy, report.weights) for report in advice.policies]
    assert names[0] == ("wait-for-all", "corrected")
    for policy in ("fedfix:3.2", "fedfix:2", "fedfix:0.8", "fedbuff:2", "async"):
        assert (policy, "corrected") in names
        assert (policy, "identical") in names
    assert len(names) == len(set(names)) == 11


def test_names_are_those_that_a_run_takes():
    for name, policy in candidates(FixedTimes(range(1, 21)), 20).items():
        made = timing_registry.make(name)
        assert type(made) is type(policy)
        assert getattr(made, "window", None) == getattr(policy, "window", None)
        assert getattr(made, "buffer", None) == getattr(policy, "buffer", None)


def test_counts_are_those_of_the_times(advice):
    waiting, late, fixed = advice["wait-for-all"], advice["async"], advice["fedfix:2"]
    assert (waiting.aggregations_per_time, waiting.uplinks_per_time) == pytest.approx((1 / 4, 1))
    assert late.aggregations_per_time == late.uplinks_per_time == pytest.approx(2.25)
    assert (fixed.aggregations_per_time, fixed.uplinks_per_time) == pytest.approx((1 / 2, 7 / 4))
    assert (waiting.max_staleness, fixed.max_staleness, late.window, fixed.window) == (0, 1, 9, 2)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("wait-for-all", WaitForAll(hardware=FixedTimes(TIMES))),
        ("fedfix:2", FedFix(2, hardware=FixedTimes(TIMES))),
        ("fedbuff:2", FedBuff(2, hardware=FixedTimes(TIMES))),
        ("async", Asynchronous(hardware=FixedTimes(TIMES))),
    ],
)
def test_limits_windows_and_biases_are_those_of_the_policy_itself(advice, name, policy):
    report = advice[name]
    assert report.largest_stable_step == pytest.approx(largest_stable_step(policy, EVERYONE), rel=2e-3)
    assert report.chi_square == 0
    known = window(policy, EVERYONE)
    assert known is None or report.window == known
    if name != "wait-for-all":
        plain = replace(policy, weights="identical")
        assert advice[name, "identical"].chi_square == pytest.approx(
            surrogate(plain, EVERYONE).chi_square(), rel=1e-2
        )


def test_the_period_of_a_buffer_is_its_window(advice):
    steps = plan_schedule(FedBuff(2, hardware=FixedTimes(TIMES)), EVERYONE, steps=400).steps
    length = advice["fedbuff:2"].window
    parts = [[s.clients.tolist() for s in steps[n : n + length]] for n in (200, 200 + length)]
    assert parts[0] == parts[1]


# Time.


@pytest.mark.parametrize("conditioning", [2.0, 10.0, 50.0])
def test_waiting_takes_the_time_of_the_best_step_for_two_curvatures(conditioning):
    """The best step is 2 / (1 + 1/c), and shrinks errors by (c - 1) / (c + 1) a round."""
    goal = RaceTarget(conditioning=conditioning, target=1e-3)
    report = advise_timing([2, 2], goal=goal)["wait-for-all"]
    exact = 2 * math.log(1e3) / -math.log((conditioning - 1) / (conditioning + 1))
    assert report.time_to_target == pytest.approx(exact, rel=0.04)
    assert report.first_step == pytest.approx(2 / (1 + 1 / conditioning), rel=0.05)


def test_a_time_is_what_a_simulation_needs(alike):
    """The slowest direction, at the step that was advised."""
    report = alike["async"]
    schedule = plan_schedule(Asynchronous(hardware=FixedTimes(TIMES)), EVERYONE, until=400)
    steps = [report.first_step * curvature for curvature in (1.0, 0.1)]
    arrivals = []
    for step in steps:
        path = simulate(schedule, np.zeros(4), step, start=1.0)
        late = np.flatnonzero(np.abs(path.models[:, 0]) > 0.01)
        arrivals.append(path.times[late[-1]])
    assert max(arrivals) == pytest.approx(report.time_to_target, rel=0.15)


def test_more_unlike_clients_take_longer_but_not_if_all_are_waited_for(advice, alike):
    for report in advice.policies:
        easy = alike[report.policy, report.weights]
        assert report.time_to_target >= easy.time_to_target * (1 - 1e-9)
    assert advice["wait-for-all"].time_to_target == pytest.approx(alike["wait-for-all"].time_to_target)
    assert advice["async"].time_to_target > 1.1 * alike["async"].time_to_target


def test_a_bias_is_never_overcome_unless_clients_are_alike(advice, alike):
    far = {r.policy: r.time_to_target for r in advice.policies if r.biased}
    assert far["async"] == math.inf
    assert all(math.isfinite(report.time_to_target) for report in alike.policies)
    assert alike["async", "identical"].biased


def test_a_race_without_noise_is_won_by_the_highest_rate():
    """rate(step) = step (1 - step) has its slowest direction at the ends of [s/4, s]."""
    steps = np.linspace(0.001, 0.999, 999)
    curve = Curve(1.0, steps, 1 - steps, np.zeros(999))
    step, time = curve.race(RaceTarget(target=0.1, conditioning=4.0, unlike=5.0))
    assert step == pytest.approx(0.8, abs=2e-3)  # s (1 - s) = s/4 (1 - s/4)
    assert time == pytest.approx(math.log(10) / 0.16, rel=1e-2)


def test_steps_get_shorter_as_errors_do():
    """rate(s) = s and left(s) = s: the best step is error / sqrt(3), and the time has a closed form."""
    steps = np.geomspace(1e-4, 1, 2000)
    curve = Curve(1.0, steps, np.ones(2000), steps**2)
    _, time = curve.race(RaceTarget(target=0.05, conditioning=1.0, unlike=1.0))
    # d log(error)/dt = -error 2 / (3 sqrt 3), so that 1/error grows evenly.
    assert time == pytest.approx((1 / 0.05 - 1) * 3 * math.sqrt(3) / 2, rel=1e-2)


def test_a_step_that_jumps_to_the_optimum_is_fast_but_a_number():
    """A single client, half of whose way is all of it: the rate at step 1/2 is infinite."""
    schedule = quadratic.turns([[0]], [[2.0]], steps=50, delay=0)
    curve = curve_of(schedule, 1, Surrogate(np.ones(1), np.ones(1)))
    assert curve.limit == pytest.approx(1.0, rel=1e-3)
    assert np.isfinite(curve.pace).all()
    assert np.isfinite(curve.left).all()
    _, time = curve.race(RaceTarget(conditioning=1.0))
    assert 0 <= time < 1.5


# Verdicts.


def test_the_verdict_is_the_first_of_those_without_a_bias(advice):
    unbiased = [report for report in advice.policies if not report.biased]
    soonest = min(report.time_to_target for report in unbiased)
    best = advice[advice.recommended]
    assert not best.biased
    assert best.time_to_target <= 1.02 * soonest
    assert advice.verdict.startswith(f"Use {advice.recommended}: on quadratic losses it comes to 0.01 of")
    assert readable(best.time_to_target) in advice.verdict


def test_clients_that_are_alike_in_everything_are_waited_for(equal):
    assert equal.recommended == "wait-for-all"
    assert not any(report.biased for report in equal.policies)
    assert "biased" not in equal.verdict.replace("without a bias", "")


def test_a_buffer_that_does_not_divide_the_clients_is_biased_even_if_they_are_equally_fast():
    """Of five clients, two at a time, those that come last wait half of the time."""
    report = advise_timing("equal", clients=5)["fedbuff:2", "identical"]
    shares = np.array([2, 2, 2, 1, 1]) / 8
    assert report.chi_square == pytest.approx(((0.2 - shares) ** 2 / shares).sum())


def test_one_slow_client_among_many_quick_ones_is_not_waited_for():
    advice = advise_timing([1] * 5 + [20], goal=RaceTarget(unlike=0.01))
    assert advice.recommended != "wait-for-all"
    assert "If all are waited for, that takes" in advice.verdict
    assert "must be corrected" in advice.verdict


def test_very_unlike_clients_are_waited_for():
    assert advise_timing(TIMES, goal=RaceTarget(unlike=10)).recommended == "wait-for-all"


def test_importances_count():
    times = [1, 4]
    even, uneven = advise_timing(times), advise_timing(times, [0.9, 0.1])
    expected = [(p - q) ** 2 / q for p, q in ((0.9, 0.8), (0.1, 0.2))]
    assert uneven["async", "identical"].chi_square == pytest.approx(sum(expected), rel=1e-3)
    assert even["async"].largest_stable_step != pytest.approx(uneven["async"].largest_stable_step)


def test_one_client_and_random_times_are_fine(monkeypatch):
    assert advise_timing([3]).recommended == "wait-for-all"
    monkeypatch.setattr(quadratic, "PLAYED", 1500)
    random = advise_timing(ExponentialTimes([1.0, 0.2]), goal=RaceTarget(unlike=0))
    assert random["async"].window is None
    assert random["wait-for-all"].aggregations_per_time < 1
    assert random.recommended != "wait-for-all"


def test_everything_is_ready_for_json(advice):
    answer = json.loads(json.dumps(advice.as_dict()))
    assert answer["clients"] == 4
    assert answer["target"] == 0.01
    assert [row["policy"] for row in answer["policies"]] == [report.policy for report in advice.policies]
    assert {"chi_square", "biased", "window", "time_to_target"} <= set(answer["policies"][0])


def test_reweighted_schedules_keep_their_times():
    schedule = plan_schedule(Asynchronous(hardware=FixedTimes(TIMES)), EVERYONE, steps=30)
    other = reweight(schedule, np.array([1.0, 2.0, 3.0, 4.0]))
    assert [step.time for step in other.steps] == [step.time for step in schedule.steps]
    assert all((step.weights == step.clients + 1).all() for step in other.steps)


# Mistakes.


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": 1.0}, "the target must be between 0 and 1, but is 1.0"),
        ({"target": math.nan}, "the target must be between 0 and 1, but is nan"),
        ({"conditioning": 0.5}, "conditioning must be at least 1"),
        ({"unlike": -1.0}, "clients at least 0 apart"),
        ({"unlike": math.inf}, "clients at least 0 apart"),
    ],
)
def test_goals_that_make_no_sense_are_one_sentence(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        RaceTarget(**options)


def test_requests_that_make_no_sense_are_one_sentence():
    with pytest.raises(ConfigError, match="at most 1,000 clients, but there are 1,001"):
        advise_timing("equal", clients=1001)
    with pytest.raises(ConfigError, match=r"one number per client \(2\)"):
        advise_timing([1, 2], [1.0])
    with pytest.raises(ConfigError, match="did you mean 'spread'"):
        advise_timing("spred:80")
    with pytest.raises(ConfigError, match="times must be positive"):
        advise_timing([1, 0])
