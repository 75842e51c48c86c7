"""A run that is killed with SIGKILL keeps every round it had committed, and lets go of its folder."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import Record, RunFolder, lock_folder

TRAINING = """
import sys
import numpy as np
from unalike.runs import RunFolder
folder = RunFolder.create(sys.argv[1], {"rounds": 10**6})
with folder.locked():
    for round in range(10**6):
        clients = {"client": np.arange(20), "accuracy": np.full(20, float(round))}
        folder.record.write_round(round, {"a": round, "b": -round}, clients, [{"kind": "tick"}], seconds=0.0)
        print(round, flush=True)
        if round % 5 == 0:
            folder.save_checkpoint(round, {"w": np.full(1000, float(round))})
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run folder whose process was killed, what it had announced, and what others saw while it lived."""
    path = tmp_path_factory.mktemp("crash") / "run"
    process = subprocess.Popen([sys.executable, "-c", TRAINING, str(path)], stdout=subprocess.PIPE, text=True)
    announced = [int(process.stdout.readline()) for _ in range(60)]
    with pytest.raises(RunError) as refusal, lock_folder(path):
        pass
    with RunFolder.open(path, read_only=True) as folder:
        seen = folder.record.last_round()
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    announced += [int(line) for line in process.stdout.read().splitlines()]
    process.stdout.close()
    process.wait()
    return path, process.pid, announced[-1], str(refusal.value), seen


def test_every_announced_round_is_there_in_whole(killed):
    path, _, announced, _, _ = killed
    with Record(path / "metrics.sqlite", read_only=True) as record:
        columns = record.metrics()
        last = record.last_round()
        assert last >= announced
        np.testing.assert_array_equal(columns["round"], np.arange(last + 1))
        np.testing.assert_array_equal(columns["a"], -columns["b"])
        assert len(record.events()) == last + 1
        np.testing.assert_array_equal(record.client_metrics()["accuracy"], np.full(20, float(last)))


def test_the_file_is_sound(killed):
    database = sqlite3.connect(killed[0] / "metrics.sqlite")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_the_run_resumes_from_a_whole_checkpoint_and_rewinds_its_record(killed):
    path, _, announced, _, _ = killed
    with RunFolder.open(path) as folder, folder.locked():
        round, tree, _ = folder.checkpoints.latest({"w": np.zeros(1000)})
        assert announced - 6 <= round
        np.testing.assert_array_equal(tree["w"], np.full(1000, float(round)))
        folder.rewind(round)
        assert folder.record.last_round() == round
        assert not folder.finished


def test_a_second_process_was_refused_and_told_who_holds_the_folder(killed):
    path, pid, _, refusal, _ = killed
    assert refusal == f"run folder {path} is in use by process {pid}."


def test_others_could_read_while_it_ran(killed):
    assert killed[4] >= 59
