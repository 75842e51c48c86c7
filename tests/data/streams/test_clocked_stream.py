"""Do rows arrive by the clock, whatever the server waits for?"""

import jax
import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, Task
from unalike.data import MemoryStream
from unalike.data.streams import ClockedStream, HeldSteps, Stream
from unalike.timing import Asynchronous, FedBuff, FedFix, WaitForAll

CLIENTS, ROWS, RATE = 6, 30, 2
X = np.random.default_rng(0).normal(size=(CLIENTS, ROWS, 2))
FEDERATION = Federation.from_clients(
    {str(i): {"train": (x, (x[:, 0] > 0).astype(int))} for i, x in enumerate(X)}, classes=2
)
TASK = Task.of(FEDERATION, "linear")
SLOW = "spread:3"
POLICIES = (
    *(WaitForAll(hardware=SLOW), FedFix(0.7, hardware=SLOW), FedBuff(2, hardware=SLOW)),
    Asynchronous(),
)


def train(timing=None, rounds=20, period=None, stream=f"constant:{RATE}", **how):
    given = MemoryStream(stream, period=period)
    method = FedAvg(work=LocalWork(steps=1, batch_size=0))
    how = {"evaluate_every": 0, **how}
    return unalike.train(FEDERATION, TASK, method, rounds=rounds, timing=timing, stream=given, **how)


@pytest.mark.parametrize("period", [None, 0.5, 4.0])
@pytest.mark.parametrize("timing", POLICIES)
def test_what_has_arrived_depends_on_the_time_and_on_nothing_else(timing, period):
    metrics = train(timing, period=period).metrics()
    arrived, times = np.nancumsum(metrics["arrived"])[1:], metrics["clock"]
    begun = np.floor(np.nan_to_num(times[:-1]) / (period or 1.0) + 1e-9)  # the start has no clock yet
    np.testing.assert_array_equal(arrived, CLIENTS * np.minimum(RATE * (begun + 1), ROWS))


def test_synchronous_rounds_are_those_of_the_stream_unless_a_period_is_given():
    plain, unit, slow = (train(period=p, rounds=8).metrics()["arrived"][1:] for p in (None, 1.0, 2.0))
    np.testing.assert_array_equal(plain, np.full(8, CLIENTS * RATE))
    np.testing.assert_array_equal(unit, plain)
    np.testing.assert_array_equal(slow, np.tile([CLIENTS * RATE, 0], 4))


def test_waiting_for_equal_machines_trains_on_the_rows_of_synchronous_rounds():
    one, other = (train(timing, rounds=6).message for timing in (None, WaitForAll()))
    for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_resumed_training_receives_the_same_rows(tmp_path):
    whole = train(FedBuff(2, hardware=SLOW), rounds=14)
    train(FedBuff(2, hardware=SLOW), rounds=5, out=tmp_path / "r").folder.close()
    resumed = train(FedBuff(2, hardware=SLOW), rounds=14, out=tmp_path / "r", resume=True)
    for name in ("arrived", "held", "clock"):
        np.testing.assert_array_equal(resumed.metrics()[name], whole.metrics()[name])
    for a, b in zip(*(jax.tree.leaves(run.message) for run in (resumed, whole)), strict=True):
        np.testing.assert_array_equal(a, b)
    resumed.folder.close()


@pytest.mark.parametrize("timing", [None, FedBuff(2, hardware=SLOW)])
def test_a_stream_that_ran_dry_is_an_event_once(timing, tmp_path):
    run = train(timing, rounds=60, stream="constant:10")
    dry = [event["round"] for event in run.events() if event["kind"] == "stream ran dry"]
    arrived = run.metrics()["arrived"]
    assert len(dry) == 1
    assert np.nansum(arrived) == CLIENTS * ROWS
    assert np.nansum(arrived[dry[0] :]) == 0
    assert arrived[: dry[0]][-1] >= 0


@pytest.mark.parametrize("stream", ["historical", "constant:1"])
def test_a_stream_that_never_flows_or_still_does_has_not_run_dry(stream):
    events = train(rounds=10, stream=stream).events()
    assert not [event for event in events if event["kind"] == "stream ran dry"]


def test_that_rows_follow_the_clock_is_an_event():
    (event,) = (e for e in train(Asynchronous(), rounds=2).events() if e["kind"] == "stream follows clock")
    assert event["period"] == 1.0
    assert not train(rounds=2).events()


def test_steps_that_are_held_follow_the_clock_of_their_first_round():
    stream = HeldSteps(ClockedStream(Stream(), period=1.0), rounds=2)
    for number in range(6):
        stream.tick(number, 1.5 * (number + 1))
    rounds = [stream.stream.round_of(stream.round_of(number)) for number in range(8)]
    assert rounds == [0, 0, 3, 3, 6, 6, 9, 9]


def test_workers_that_do_not_see_the_clock_are_refused():
    with pytest.raises(ConfigError, match="which Ray's workers do not see"):
        train(Asynchronous(), engine="ray:2")


@pytest.mark.parametrize("period", [0, -1, np.inf, np.nan])
def test_a_period_that_is_none_is_refused(period):
    with pytest.raises(ConfigError, match="period must be above 0"):
        MemoryStream("constant:1", period=period)
