"""Who reads a user's file asks first whether it has an end."""

import os

import pytest

from unalike.core.plain_files import check_plain_file, check_unfolded, free_memory
from unalike.data.importance import read_importance
from unalike.errors import ConfigError, UnalikeError
from unalike.experiments.config import read_experiment
from unalike.participation.availability.trace_files import read_trace
from unalike.timing.clock.measured_times import read_measured, read_times
from unalike.topology.underlays.base import read_underlay
from unalike.topology.underlays.measurements import read_measurements

READERS = {
    "experiment": read_experiment,
    "importance": read_importance,
    "measurements": read_measurements,
    "underlay": read_underlay,
    "trace": lambda path: read_trace(path, 3),
    "measured": lambda path: read_measured(path, 3),
    "times": read_times,
}
TRAPS = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "more than": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
    "No such file": lambda path: path.symlink_to(path.with_name("nowhere")),
}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_plain_file_is_refused_in_a_sentence(tmp_path, reader, trap):
    path = tmp_path / "given.csv"
    TRAPS[trap](path)
    with pytest.raises(UnalikeError, match=trap):
        READERS[reader](path)


def test_the_size_of_a_plain_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert check_plain_file(path) == check_plain_file(path, None) == 5
    with pytest.raises(OSError, match="it has 5 bytes, more than the 4 bytes that can be read"):
        check_plain_file(path, 4)


def test_what_a_file_may_unfold_to(monkeypatch):
    monkeypatch.setattr("unalike.core.plain_files.free_memory", lambda: 8 << 30)
    check_unfolded(1 << 30, 1 << 20)
    check_unfolded(4 << 30, 1 << 28)
    with pytest.raises(OSError, match=r"from 1.0 MiB to 4.0 GiB, which no honest data do"):
        check_unfolded(4 << 30, 1 << 20)
    with pytest.raises(OSError, match=r"unfolds to 9.0 GiB, more than the 8.0 GiB free"):
        check_unfolded(9 << 30, 4 << 30)


def test_some_memory_is_free():
    assert free_memory() > 1 << 20


def test_an_experiment_nested_beyond_reason(tmp_path):
    (tmp_path / "a.toml").write_text("a = " + "[" * 50_000)
    with pytest.raises(ConfigError, match="nested too deeply"):
        read_experiment(tmp_path / "a.toml")
