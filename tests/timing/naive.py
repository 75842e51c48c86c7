"""A deliberately naive simulation of clients and a server: fractions, client by client, no queue."""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from unalike.core.random import bits
from unalike.timing import Clients, Hardware


@dataclass
class Job:
    client: int
    number: int
    version: int
    start: Fraction
    end: Fraction
    lost: bool


@dataclass
class NaiveStep:
    clients: list
    versions: list
    jobs: list
    time: Fraction
    started: list
    finished: list
    lost: list
    in_the_air: set
    """The versions that somebody works on after the step."""


def first(count):
    """Wait for so many results."""

    def rule(now, jobs):
        taken = []
        for job in jobs:
            taken.append(job)
            if sum(not each.lost for each in taken) == count:
                break
        return (taken[-1].end if taken else now + 1), taken, []

    return rule


def every(window):
    """Wait for a fixed time."""
    return lambda now, jobs: (now + window, [job for job in jobs if job.end <= now + window], [])


def everyone(now, jobs):
    """Wait until nobody works any more."""
    return (jobs[-1].end if jobs else now + 1), jobs, []


def deadline(limit, late):
    """Wait for everyone, or until the limit; late jobs are given up or kept."""

    def rule(now, jobs):
        taken = [job for job in jobs if job.end <= now + limit]
        rest = [job for job in jobs if job.end > now + limit]
        if not rest:
            return everyone(now, taken)
        return now + limit, taken, rest if late == "drop" else []

    return rule


def first_of_cohort(count):
    """Wait for so many results, and give the rest up."""

    def rule(now, jobs):
        time, taken, _ = first(count)(now, jobs)
        return time, taken, [job for job in jobs if job not in taken]

    return rule


def naive_steps(rule, duration, clients, steps, lost=lambda client, job: False, timeout=None, cohort=None):
    """What happens if `duration(client, job)` is how long jobs take; `cohort(number)` names who may start."""
    working, done, now, happened = {}, [0] * clients, Fraction(0), []
    for number in range(steps):
        for client in range(clients):
            if client not in working and (cohort is None or client in cohort(number)):
                job, takes = done[client], duration(client, done[client])
                late = timeout is not None and takes > timeout
                end = now + (timeout if late else takes)
                working[client] = Job(client, job, number, now, end, late or lost(client, job))
                done[client] += 1
        jobs = sorted(working.values(), key=lambda job: (job.end, job.client))
        now, taken, given_up = rule(now, jobs)
        for job in taken + given_up:
            del working[job.client]
        results = sorted((job for job in taken if not job.lost), key=lambda job: job.client)
        happened.append(
            NaiveStep(
                [job.client for job in results],
                [job.version for job in results],
                [job.number for job in results],
                now,
                [job.start for job in results],
                [job.end for job in results],
                sorted([job.client for job in taken if job.lost] + [job.client for job in given_up]),
                {job.version for job in working.values()},
            )
        )
    return happened


def assert_same(steps, expected):
    """Step by step the same; times are the same to the last bit."""
    steps = list(steps)
    assert len(steps) == len(expected)
    for number, (step, naive) in enumerate(zip(steps, expected, strict=True)):
        found = (step.number, step.clients.tolist(), step.versions.tolist(), step.jobs.tolist(), step.time)
        assert found == (number, naive.clients, naive.versions, naive.jobs, float(naive.time))
        assert step.started.tolist() == [float(time) for time in naive.started]
        assert step.finished.tolist() == [float(time) for time in naive.finished]
        assert sorted(step.lost.tolist()) == naive.lost


class Table(Hardware):
    """A user's own hardware: a table of fractions, one row per client, repeated."""

    def __init__(self, rows):
        self.rows = rows
        self.resolution = lcm(*(time.denominator for row in rows for time in row))
        self.mean = np.array([float(sum(row) / len(row)) for row in rows])

    def duration(self, client, job):
        """The same as a fraction, for the naive simulation."""
        return self.rows[client][job % len(self.rows[client])]

    def ticks(self, clients, jobs):
        exact = [self.duration(c, j) * self.resolution for c, j in zip(clients, jobs, strict=True)]
        return np.array([int(ticks) for ticks in exact], np.int64)


def random_table(rng, clients, jobs=7):
    """Rational times with many ties."""
    return Table(
        [
            [Fraction(int(rng.integers(1, 13)), int(rng.integers(1, 5))) for _ in range(jobs)]
            for _ in range(clients)
        ]
    )


def lost_jobs(seed, dropout):
    """Whether a job is lost, from the bits that decide it."""
    return lambda client, job: int(bits(seed, "lost job", client, job)) < Fraction(dropout) * 2**64


def equally(clients, seed=0):
    """Clients of equal importance."""
    return Clients(np.full(clients, 1 / clients), seed)


def assert_released_once(steps, expected):
    """After step n, the versions 0 ... n that were released are those that nobody works on; none twice."""
    released = []
    for step, naive in zip(steps, expected, strict=True):
        released.extend(step.done_with.tolist())
        assert sorted(released) == sorted(set(range(step.number + 1)) - naive.in_the_air)
