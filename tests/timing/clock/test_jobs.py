"""Are all jobs in the air known, with the versions that they started from?"""

from fractions import Fraction

import numpy as np
import pytest

from unalike.timing import ExponentialTimes, FixedTimes
from unalike.timing.clock.jobs import FEW, Jobs

from ..naive import random_table


def flying(times=(3, 1, 2, 1), finer=1):
    """All clients on version 0, from the beginning."""
    jobs = Jobs(FixedTimes(times), len(times), finer)
    jobs.send(np.arange(len(times)), 0, 0)
    return jobs


def taken_until(jobs, tick):
    """The clients whose results are ready by then, in the order in which they are."""
    taken = []
    while len(jobs) and jobs.first() <= tick:
        taken.append(jobs.take_one())
    return taken


def test_results_come_in_the_order_of_time_then_of_clients():
    jobs = flying()
    assert len(jobs) == 4
    assert jobs.first() == 1
    assert [jobs.take_one() for _ in range(4)] == [1, 3, 2, 0]
    assert len(jobs) == 0


def test_results_by_a_tick_include_those_on_it():
    jobs = flying()
    assert taken_until(jobs, 2) == [1, 3, 2]
    assert taken_until(jobs, 2) == []
    assert jobs.working() == [0]


def test_a_finer_clock_multiplies_ticks():
    hardware = FixedTimes([Fraction(1, 3), 1])
    jobs = Jobs(hardware, 2, 4)
    jobs.send(np.arange(2), 5, 7)
    assert jobs.ready.tolist() == [7 + 4, 7 + 12]
    assert jobs.started.tolist() == [7, 7]


def test_landed_clients_are_idle_and_unused_versions_are_named_once():
    jobs = flying()
    assert jobs.idle().tolist() == []
    versions, unused = jobs.finish(np.array([jobs.take_one()]))
    assert (versions.tolist(), unused.tolist()) == ([0], [])
    assert jobs.idle().tolist() == [1]
    assert jobs.uses(0)
    jobs.send(np.array([1]), 1, 1)
    assert jobs.uses(1)
    landed = np.array([jobs.take_one() for _ in range(4)])
    versions, unused = jobs.finish(landed)
    assert sorted(versions.tolist()) == [0, 0, 0, 1]
    assert sorted(unused.tolist()) == [0, 1]
    assert not jobs.uses(0)
    assert not jobs.uses(1)


def test_canceled_jobs_do_not_come_but_count_as_begun():
    jobs = flying()
    jobs.cancel(np.array([1, 2]))
    assert sorted(jobs.working()) == [0, 3]
    assert jobs.idle().tolist() == []  # they are still to land
    jobs.finish(np.array([1, 2]))
    assert jobs.idle().tolist() == [1, 2]
    jobs.send(np.array([1]), 1, 1)
    assert jobs.begun.tolist() == [1, 2, 1, 1]
    assert [jobs.take_one() for _ in range(3)] == [3, 1, 0]


def test_sending_nobody_uses_no_version():
    jobs = flying()
    jobs.send(np.zeros(0, np.int64), 4, 1)
    assert not jobs.uses(4)


@pytest.mark.parametrize("group", [1, 3, FEW, FEW + 1, 25])
def test_durations_are_the_hardwares_however_many_start_together(group):
    """Few clients are sent off one by one and many together; both must take as long."""
    hardware, rng = random_table(np.random.default_rng(0), 25, jobs=40), np.random.default_rng(group)
    jobs = Jobs(hardware, 25)
    begun, now = np.zeros(25, int), 0
    for version in range(60):
        size = group if version % 7 else FEW + 4  # sometimes many, in between the others
        clients = np.sort(rng.choice(25, size, replace=False))
        jobs.send(clients, version, now)
        for client in clients:
            takes = hardware.duration(client, begun[client]) * hardware.resolution
            assert jobs.ready[client] == now + takes
        begun[clients] += 1
        assert jobs.begun.tolist() == begun.tolist()
        now = int(jobs.ready.max())
        jobs.finish(np.array(taken_until(jobs, now)))


def test_a_flight_goes_on_from_its_state():
    hardware = ExponentialTimes([1, 0.5, 0.2, 0.7])
    jobs = Jobs(hardware, 4)
    jobs.send(np.arange(4), 0, 0)
    for version in range(1, 30):
        now = jobs.first()
        client = np.array([jobs.take_one()])
        jobs.finish(client)
        if version % 5:
            jobs.send(client, version, now)
            jobs.send(np.setdiff1d(jobs.idle(), client), version, now)
    again = Jobs(hardware, 4)
    again.restore({name: value.copy() for name, value in jobs.state().items()})
    assert sorted(again.working()) == sorted(jobs.working())
    for version in range(30, 60):
        answers = []
        for each in (jobs, again):
            now = each.first()
            client = np.array([each.take_one()])
            versions, unused = each.finish(client)
            each.send(client, version, now)
            answers.append((now, client.tolist(), versions.tolist(), unused.tolist(), each.ready.tolist()))
        assert answers[0] == answers[1]


def test_a_state_is_a_copy():
    jobs = flying()
    state = jobs.state()
    jobs.take_one()
    jobs.finish(np.array([1]))
    assert state["version"].tolist() == [0, 0, 0, 0]
    assert state["queue"].tolist() == [1, 3, 2, 0]
