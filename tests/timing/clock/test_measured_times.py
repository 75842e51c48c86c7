"""Are measured times replayed as they were measured, and files that make no sense refused in one sentence?"""

import numpy as np
import pytest

import unalike.timing.clock.measured_times  # noqa: F401
from unalike.errors import ConfigError
from unalike.timing import (
    Asynchronous,
    Clients,
    Deadline,
    FedFix,
    FixedTimes,
    NetworkTime,
    WaitForAll,
    hardware_registry,
    plan_schedule,
)
from unalike.timing.clock.measured_times import LONGEST, TraceTimes, read_measured, read_times

from ..naive import equally
from ..test_timeline import assert_equal_steps


@pytest.fixture
def write(tmp_path):
    """A file with this text."""

    def write(text, name="measured.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def seconds(hardware, client, jobs):
    jobs = np.asarray(jobs)
    return (hardware.ticks(np.full(len(jobs), client), jobs) / hardware.resolution).tolist()


# ---------------------------------------------------------------------------------------- one time per client


@pytest.mark.parametrize(
    "text",
    [
        "1.5\n0.5\n2\n",
        "1.5,0.5,2",
        "1.5 0.5 2",
        " 1.5,\n0.5,\n2 \n\n",
        "1.5\r\n.5\r\n2.\r\n",
        "\ufeff15e-1\t5E-1\t0.2e+1",
    ],
)
def test_one_number_per_client_however_they_are_separated(write, text):
    hardware = hardware_registry.make(f"times:{write(text)}", clients=3)
    assert hardware.fixed
    assert hardware.mean.tolist() == [1.5, 0.5, 2]
    assert seconds(hardware, 0, [0, 1, 99]) == [1.5, 1.5, 1.5]
    assert seconds(hardware, 2, [3]) == [2]


def test_measured_times_are_fixed_times_for_every_policy(write):
    path = write("2.1 0.3 1.7 0.9")
    for make in (Asynchronous, WaitForAll, lambda **o: FedFix(0.3, **o), lambda **o: Deadline(1, **o)):
        one, other = (
            plan_schedule(make(hardware=hardware), equally(4), steps=60)
            for hardware in (f"times:{path}", FixedTimes([2.1, 0.3, 1.7, 0.9]))
        )
        for a, b in zip(one.steps, other.steps, strict=True):
            assert_equal_steps(
                a._replace(done_with=np.sort(a.done_with)), b._replace(done_with=np.sort(b.done_with))
            )


def test_times_are_exact_to_the_nanosecond(write):
    """As decimals, 2.1 / 0.3 is seven windows."""
    values = ["2.1", "0.3", "0.123456789", "1000000.000000001", "0.8372918273645"]
    hardware = hardware_registry.make(f"times:{write(' '.join(values))}", clients=5)
    expected = [2_100_000_000, 300_000_000, 123_456_789, 10**15 + 1, 837_291_827]
    assert hardware.ticks(np.arange(5), np.zeros(5, int)).tolist() == expected
    policy = FedFix(0.3, hardware=hardware)
    policy.begin(equally(5))
    assert 1 / policy.frequency()[0] == pytest.approx(7, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2\n3 soon\n4", r"line 2 of measured.csv holds 'soon'; times must be positive numbers of seconds"),
        ("1\n\n-2", "line 3 of measured.csv holds '-2'; times must be positive"),
        ("1,0,2", "line 1 of measured.csv holds '0'; times must be positive"),
        ("1,2\n0.0", "line 2 of measured.csv holds '0.0'; times must be positive"),
        ("1\nnan", "line 2 of measured.csv holds 'nan'"),
        ("inf", "line 1 of measured.csv holds 'inf'"),
        ("1 1e999", "line 1 of measured.csv holds '1e999'; .* at most 1e[+]08"),
        ("1_0 2", "line 1 of measured.csv holds '1_0'"),
        ("0x10", "line 1 of measured.csv holds '0x10'"),
        ("1;2;3", "line 1 of measured.csv holds '1;2;3'"),
        ("1\n２", "line 2 of measured.csv holds"),
        ("", "measured.csv is empty"),
        (" \n \n", "measured.csv is empty"),
        ("1 2", r"measured.csv has 2 times, but there are 3 clients"),
        ("1 2 3 4", r"measured.csv has 4 times, but there are 3 clients"),
        ("__import__('os').mkdir('exploded')", "line 1 of measured.csv holds"),
    ],
)
def test_files_of_times_that_make_no_sense_are_refused(write, text, words):
    with pytest.raises(ConfigError, match=words) as error:
        hardware_registry.make(f"times:{write(text)}", clients=3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["times", "trace"])
def test_a_file_that_cannot_be_read_is_named(kind, tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.csv' cannot be read"):
        hardware_registry.make(f"{kind}:{tmp_path / 'nowhere.csv'}", clients=3)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="bytes' cannot be read"):
        hardware_registry.make(f"{kind}:{tmp_path / 'bytes'}", clients=3)
    with pytest.raises(ConfigError, match="cannot be read"):
        hardware_registry.make(f"{kind}:{tmp_path}", clients=3)
    with pytest.raises(ConfigError, match="wrong arguments"):
        hardware_registry.make(kind, clients=3)


# ------------------------------------------------------------------------------- several times per client

TRACE = "client,seconds\n1,2\n0,1\n1,4\n2,0.5\n1,3\n0,1.5\n"


@pytest.mark.parametrize(
    "text", [TRACE, TRACE.replace("\n", "\r\n"), "\ufeff" + TRACE.replace(",", ", "), TRACE.rstrip()]
)
def test_times_are_replayed_in_order_and_repeat(write, text):
    hardware = hardware_registry.make(f"trace:{write(text)}", clients=3)
    assert seconds(hardware, 1, range(8)) == [2, 4, 3, 2, 4, 3, 2, 4]
    assert seconds(hardware, 0, range(4)) == [1, 1.5, 1, 1.5]
    assert seconds(hardware, 2, range(3)) == [0.5, 0.5, 0.5]
    assert hardware.counts.tolist() == [2, 3, 1]
    assert hardware.mean.tolist() == [1.25, 3, 0.5]
    assert not hardware.fixed


def test_many_jobs_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    rows = [rng.uniform(0.1, 3, rng.integers(1, 9)) for _ in range(20)]
    hardware = TraceTimes(rows)
    clients, jobs = rng.integers(0, 20, 500), rng.integers(0, 1000, 500)
    expected = [round(rows[c][j % len(rows[c])] * 1e9) for c, j in zip(clients, jobs, strict=True)]
    assert hardware.ticks(clients, jobs).tolist() == expected
    np.testing.assert_allclose(hardware.mean, [row.mean() for row in rows])
    for limit in (0.5, 1.0, 2.5):
        np.testing.assert_allclose(hardware.chance_within(limit), [(row <= limit).mean() for row in rows])
    limits = rng.uniform(-1, 3, 20)
    expected = [(row <= limit).mean() for row, limit in zip(rows, limits, strict=True)]
    np.testing.assert_allclose(hardware.chance_within(limits), expected)


def test_pairs_in_any_order_are_the_same_as_rows():
    rng = np.random.default_rng(1)
    clients, times = rng.permutation(np.repeat(np.arange(5), 4)), rng.uniform(0.1, 2, 20)
    listed = TraceTimes.listed(clients, times, 5)
    rows = TraceTimes([times[clients == client] for client in range(5)])
    asked = np.repeat(np.arange(5), 9), np.tile(np.arange(9), 5)
    assert np.array_equal(listed.ticks(*asked), rows.ticks(*asked))


def test_a_trace_whose_times_never_change_is_fixed():
    assert TraceTimes([[1, 1, 1], [2]]).fixed
    assert not TraceTimes([[1, 1, 1], [2, 2.1]]).fixed


def test_a_time_shorter_than_a_nanosecond_takes_one():
    assert TraceTimes([[1e-12]]).ticks(np.zeros(1, int), np.zeros(1, int)).tolist() == [1]


def test_replayed_clients_count_as_much_as_they_should():
    hardware = TraceTimes([[1, 3, 0.5], [0.7], [0.2, 0.3, 0.1, 0.6]])
    clients = Clients(np.array([0.5, 0.3, 0.2]))
    for policy in (
        Asynchronous(hardware=hardware),
        FedFix(0.8, hardware=hardware),
        Deadline(0.7, hardware=hardware),
    ):
        schedule = plan_schedule(policy, clients, steps=3000)
        np.testing.assert_allclose(schedule.expected_weights, clients.importance, rtol=0.02)


def test_the_time_of_messages_is_added_to_measured_times():
    hardware = TraceTimes([[1, 2], [3]])
    policy = WaitForAll(hardware=hardware, network=NetworkTime(8, 8))
    schedule = plan_schedule(policy, Clients(np.array([0.5, 0.5]), 0, 1_000_000, 0), steps=2)
    assert [step.finished.tolist() for step in schedule.steps] == [[2, 4], [7, 8]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1\n1,2\n2,3\n", "line 1 of measured.csv must be the header client,seconds, but is '0,1'"),
        ("seconds,client\n1,0\n", "line 1 of measured.csv must be the header client,seconds"),
        ("client,seconds\n", "has a header but no times"),
        (
            "client,seconds\n0,1\n1\n2,1\n",
            "line 3 of measured.csv is '1'; it must be a client's number and seconds",
        ),
        ("client,seconds\n0,1\n\n1,1\n2,1\n", "line 3 of measured.csv is ''"),
        ("client,seconds\n0,1\n1,2,3\n2,1\n", "line 3 of measured.csv is '1,2,3'"),
        ("client,seconds\n0,1\n-1,2\n", "line 3 of measured.csv is '-1,2'"),
        ("client,seconds\n0,1\n1.0,2\n", "line 3 of measured.csv is '1.0,2'"),
        ("client,seconds\nann,1\n", "line 2 of measured.csv is 'ann,1'"),
        ("client,seconds\n0,1\n1,nan\n", "line 3 of measured.csv is '1,nan'"),
        ("client,seconds\n0,1\n1,-2\n", "line 3 of measured.csv is '1,-2'"),
        ("client,seconds\n0,1\n1,0\n2,1\n", "line 3 of measured.csv holds 0; times must be positive"),
        (
            "client,seconds\n0,1\n1,1e20\n2,1\n",
            r"line 3 of measured.csv holds 1e\+20; times must be .* at most",
        ),
        (
            "client,seconds\n0,1\n3,1\n2,1\n1,1\n",
            "line 3 of measured.csv names client 3, but there are 3, numbered from 0",
        ),
        ("client,seconds\n0,1\n2,1\n", "has no time of client 1; every client needs at least one"),
        ("client,seconds\n0,__import__('os').mkdir('exploded')\n", "line 2 of measured.csv is"),
        ("", "measured.csv is empty"),
    ],
)
def test_traces_that_make_no_sense_are_refused(write, text, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=words) as error:
        hardware_registry.make(f"trace:{write(text)}", clients=3)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 2 * LONGEST])
def test_times_given_in_python_are_checked_too(bad):
    with pytest.raises(
        ConfigError, match=f"times must be positive .*, but one of client 1 is {float(bad)}".replace("+", ".")
    ):
        TraceTimes([[1], [2, bad]])


def test_clients_given_in_python_are_checked_too():
    with pytest.raises(ConfigError, match="client 1 has no measured time"):
        TraceTimes([[1], [], [2]])
    with pytest.raises(ConfigError, match="a time is of client 2, but there are 2"):
        TraceTimes.listed([0, 2], [1, 1], 2)
    with pytest.raises(ConfigError, match="a time is of client -1"):
        TraceTimes.listed([0, -1], [1, 1], 2)


@pytest.mark.parametrize("word", ["1" * 200_000 + "x", "1." + "0" * 200_000 + "x", "1;2" * 100_000])
def test_a_file_that_is_made_to_take_long_does_not(write, word):
    with pytest.raises(ConfigError, match="line 2 of measured"):
        read_times(write(f"1\n{word}"))
    with pytest.raises(ConfigError, match="line 2 of measured"):
        read_measured(write(f"client,seconds\n0,{word}"), 3)


def test_large_files_are_read_at_once(write):
    rng = np.random.default_rng(0)
    clients, times = (
        np.concatenate([np.arange(5000), rng.integers(0, 5000, 45_000)]),
        rng.uniform(0.1, 5, 50_000),
    )
    text = "\n".join(f"{client},{time}" for client, time in zip(clients, times, strict=True))
    owner, found = read_measured(write(f"client,seconds\n{text}"), 5000)
    assert np.array_equal(owner, clients)
    assert np.array_equal(found, times)
    assert np.array_equal(read_times(write("\n".join(map(str, times)))), times)
