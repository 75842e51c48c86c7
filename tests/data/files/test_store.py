"""What is saved comes back, and reading runs no code."""

import json

import numpy as np
import pytest

from unalike.data import Federation
from unalike.errors import DataError

PARTS = ("train", "validation", "test")


@pytest.fixture
def federation():
    rng = np.random.default_rng(0)
    clients = {f"client {i}": (rng.normal(size=(5 + i, 3)), np.arange(5 + i) % 3) for i in range(4)}
    return Federation.from_clients(clients, test_fraction=0.2)


@pytest.mark.parametrize("mmap", [True, False])
def test_round_trip(federation, tmp_path, mmap):
    back = Federation.load(federation.save(tmp_path / "saved"), mmap=mmap)
    assert (back.names, back.classes, back.label_names) == (federation.names, federation.classes, None)
    for part in PARTS:
        old, new = getattr(federation, part), getattr(back, part)
        for kind in ("x", "y", "offsets"):
            np.testing.assert_array_equal(getattr(new, kind), getattr(old, kind))
            assert getattr(new, kind).dtype == getattr(old, kind).dtype


def test_a_mapped_federation_stays_on_disk(federation, tmp_path):
    back = Federation.load(federation.save(tmp_path))
    assert isinstance(back.train.x.base, np.memmap)
    assert not back.train.x.flags.writeable


def test_saving_over_the_folder_it_is_mapped_from(federation, tmp_path):
    back = Federation.load(federation.save(tmp_path))
    back.subset([2, 0]).save(tmp_path)
    np.testing.assert_array_equal(back.train.x, federation.train.x)
    assert Federation.load(tmp_path).names == ("client 2", "client 0")


def test_an_array_of_objects_is_refused(federation, tmp_path):
    federation.save(tmp_path)
    np.save(tmp_path / "train_x.npy", np.array([{"run": "me"}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        Federation.load(tmp_path)


def test_a_damaged_federation_is_found(federation, tmp_path):
    federation.save(tmp_path)
    x = federation.train.x.copy()
    x[0, 0] = np.nan
    np.save(tmp_path / "train_x.npy", x)
    with pytest.raises(DataError, match="'client 0'"):
        Federation.load(tmp_path)
    assert len(Federation.load(tmp_path, check=False)) == 4


def test_a_folder_that_is_no_federation(tmp_path):
    with pytest.raises(DataError, match="not a saved federation"):
        Federation.load(tmp_path)


@pytest.mark.parametrize(("text", "words"), [("{", "damaged"), (json.dumps({"version": 99}), "version 99")])
def test_a_manifest_from_elsewhere(federation, tmp_path, text, words):
    federation.save(tmp_path)
    (tmp_path / "federation.json").write_text(text)
    with pytest.raises(DataError, match=words):
        Federation.load(tmp_path)
