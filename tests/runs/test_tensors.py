"""A file gives back exactly what was put in, or an error; never something else, and never code."""

import errno
import os
import pickle
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import flatten, load_tensors, restore, save_tensors
from unalike.runs import tensors as module


class Momentum(NamedTuple):
    velocity: object
    step: object


def tree():
    return {
        "state": {"params": [{"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.zeros(3, jnp.bfloat16)}, None]},
        "momentum": Momentum(np.arange(4)[::2], np.asarray(7, np.int64)),
        "mask": np.array([[True], [False]]),
        "empty": np.zeros((0, 4), np.float32),
        "rounds": 12,
        "rate": 0.1,
    }


def same(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert type(x) is type(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_names_spell_the_way_to_the_leaf():
    assert {"state/params/0/w", "momentum/velocity", "rounds"} <= set(flatten(tree()))
    assert list(flatten(np.ones(2))) == ["value"]


def test_arrays_are_contiguous_and_keep_their_rank():
    tensors = flatten({"t": np.arange(6).reshape(2, 3).T, "s": np.float32(1)})
    assert tensors["t"].flags.c_contiguous
    assert tensors["s"].shape == ()


def test_a_round_trip_changes_nothing(tmp_path):
    save_tensors(tmp_path / "a.safetensors", tree(), {"note": "héllo"})
    tensors, metadata = load_tensors(tmp_path / "a.safetensors")
    same(restore(tree(), tensors), tree())
    assert metadata == {"note": "héllo"}


def test_equal_trees_make_equal_files(tmp_path):
    for name in "ab":
        save_tensors(tmp_path / name, tree(), {"x": "1", "y": "2"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_template_of_shapes_alone_is_enough():
    template = jax.eval_shape(lambda: {"w": jnp.zeros((2, 3))})
    np.testing.assert_array_equal(restore(template, {"w": np.ones((2, 3), np.float32)})["w"], np.ones((2, 3)))


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({}, "'w' is missing"),
        ({"w": np.zeros(2, np.float32), "x": np.zeros(1)}, "'x' is not expected"),
        ({"w": np.zeros(3, np.float32)}, r"'w' has shape \(3,\), but \(2,\)"),
        ({"w": np.zeros(2, np.float64)}, "'w' has type float64, but float32"),
    ],
)
def test_what_does_not_fit_is_named(tensors, words):
    with pytest.raises(RunError, match=words):
        restore({"w": jnp.zeros(2, jnp.float32)}, tensors)


@pytest.mark.parametrize(
    ("leaf", "words"),
    [
        (jax.random.key(0), "random key"),
        (np.array(["text"]), "cannot hold"),
        (np.zeros(2, complex), "complex128"),
        (object(), "cannot hold"),
    ],
)
def test_what_cannot_be_stored_is_named(leaf, words):
    with pytest.raises(RunError, match=f"'odd'.*{words}"):
        flatten({"odd": leaf})


def test_two_leaves_of_one_name_are_refused():
    with pytest.raises(RunError, match="same name"):
        flatten({"a/b": np.ones(1), "a": {"b": np.ones(1)}})


def test_any_flipped_bit_or_cut_is_noticed_or_harmless(tmp_path):
    path = tmp_path / "a.safetensors"
    save_tensors(path, tree(), {"round": "3"})
    whole = path.read_bytes()
    expected, words = load_tensors(path)
    rng = np.random.default_rng(0)
    noticed = 0
    for position in rng.choice(len(whole), 300, replace=False):
        bad = bytearray(whole)
        bad[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        try:
            found, found_words = load_tensors(path)
        except RunError:
            noticed += 1
            continue
        # Only the spaces that pad the header are covered by nothing, and they mean nothing.
        assert found_words == words
        same(found, expected)
    assert noticed > 290
    for length in (0, 1, 7, 8, 50, *rng.choice(len(whole), 50)):
        path.write_bytes(whole[: int(length)])
        with pytest.raises(RunError, match="damaged"):
            load_tensors(path)


def test_a_pickle_is_an_error_and_is_not_run(tmp_path):
    trap = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(trap),)

    path = tmp_path / "evil.safetensors"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(RunError, match="not a safetensors file"):
        load_tensors(path)
    assert not trap.exists()


def test_a_header_that_claims_the_whole_memory_is_an_error(tmp_path):
    (tmp_path / "big").write_bytes((2**62).to_bytes(8, "little") + b"{}")
    with pytest.raises(RunError):
        load_tensors(tmp_path / "big")


def test_a_safetensors_file_without_our_checksum_is_not_believed(tmp_path):
    from safetensors.numpy import save_file

    save_file({"w": np.ones(2)}, tmp_path / "foreign.safetensors")
    with pytest.raises(RunError, match="checksum"):
        load_tensors(tmp_path / "foreign.safetensors")


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(RunError, match="there is no file"):
        load_tensors(tmp_path / "nothing")


def full_disk(tensors, path, metadata):
    Path(path).write_bytes(b"half of it")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def test_a_full_disk_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save_tensors(path, {"w": np.ones(3)})
    before = path.read_bytes()
    monkeypatch.setattr(module, "save_file", full_disk)
    with pytest.raises(RunError, match=r"disk full.*model\.safetensors"):
        save_tensors(path, {"w": np.zeros(3)})
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_an_unwritable_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write"):
        save_tensors(tmp_path / "file" / "model.safetensors", {"w": np.ones(1)})
