"""A run goes on from the newest checkpoint that is whole."""

import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import Checkpoints

TEMPLATE = {"w": np.zeros(50)}


def saved(folder, rounds, keep=None):
    checkpoints = Checkpoints(folder, keep)
    for round in rounds:
        checkpoints.save(round, {"w": np.full(50, float(round))}, {"method": "fedavg"})
    return checkpoints


def test_nothing_saved_is_no_checkpoint(tmp_path):
    assert Checkpoints(tmp_path / "none").latest(TEMPLATE) is None


def test_the_latest_is_the_newest(tmp_path):
    round, tree, metadata = saved(tmp_path, [5, 10, 1_000_000]).latest(TEMPLATE)
    assert (round, tree["w"][0], metadata["method"]) == (1_000_000, 1e6, "fedavg")


def test_only_the_newest_are_kept(tmp_path):
    assert saved(tmp_path, range(1, 8), keep=3).rounds() == [5, 6, 7]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_history_keeps_all_and_can_be_read_anywhere(tmp_path):
    history = saved(tmp_path, range(5))
    assert history.rounds() == list(range(5))
    assert history.load(2, TEMPLATE)[0]["w"][0] == 2


def test_keeping_none_is_refused(tmp_path):
    with pytest.raises(RunError, match="at least one"):
        Checkpoints(tmp_path, keep=0)


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "garbage"])
def test_a_damaged_one_is_skipped_and_reported(tmp_path, harm):
    checkpoints = saved(tmp_path, [1, 2, 3])
    rng = np.random.default_rng(1)
    for _ in range(10):
        content = bytearray(checkpoints.path(3).read_bytes())
        position = int(rng.integers(len(content) - 400, len(content)))  # among the tensor's bytes
        flipped = content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :]
        bad = {"cut": content[:position], "flip": flipped, "empty": b"", "garbage": rng.bytes(200)}[harm]
        checkpoints.path(3).write_bytes(bad)
        round, tree, _ = checkpoints.latest(TEMPLATE)
        assert (round, tree["w"][0]) == (2, 2.0)
        assert checkpoints.damaged == [3]
        checkpoints.path(3).write_bytes(content)
    assert checkpoints.latest(TEMPLATE)[0] == 3
    assert checkpoints.damaged == []


def test_all_damaged_is_an_error(tmp_path):
    checkpoints = saved(tmp_path, [1, 2])
    for round in (1, 2):
        checkpoints.path(round).write_bytes(b"no")
    with pytest.raises(RunError, match="all 2 checkpoints"):
        checkpoints.latest(TEMPLATE)
    assert checkpoints.damaged == [2, 1]


def test_a_checkpoint_of_another_model_is_an_error_not_damage(tmp_path):
    with pytest.raises(RunError, match=r"another model.*shape"):
        saved(tmp_path, [1, 2]).latest({"w": np.zeros(4)})


def test_saving_after_a_rewind_replaces_the_future(tmp_path):
    checkpoints = saved(tmp_path, [1, 2, 3])
    checkpoints.save(2, {"w": np.full(50, -2.0)})
    assert checkpoints.rounds() == [1, 2]
    assert checkpoints.latest(TEMPLATE)[1]["w"][0] == -2


def test_strange_files_are_ignored_and_leftovers_removed(tmp_path):
    (tmp_path / "round-final.safetensors").write_text("mine")
    (tmp_path / ".round-000009.safetensors.77.tmp").write_text("half")
    assert saved(tmp_path, [1]).rounds() == [1]
    assert not list(tmp_path.glob(".*.tmp"))
    assert (tmp_path / "round-final.safetensors").exists()


def test_without_a_template_the_tensors_come_back_by_name(tmp_path):
    round, tensors, _ = saved(tmp_path, [1, 2]).latest()
    assert round == 2
    assert list(tensors) == ["w"]
    np.testing.assert_array_equal(tensors["w"], np.full(50, 2.0))
