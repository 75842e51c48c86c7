"""Does a store keep exactly what it was given, in order, and lose what it is told to?"""

import warnings

import numpy as np
import pytest

from unalike.errors import ConfigError, DataError
from unalike.memorization import Datastore, fingerprint, policy_registry, rows_kept
from unalike.runs.tensors import DamagedFileError

RNG = np.random.default_rng(0)
KEYS = RNG.normal(size=(20, 3)).astype(np.float32)
LABELS = np.arange(20, dtype=np.int32) % 4


@pytest.fixture
def store():
    return Datastore.of(KEYS, LABELS, model="one")


def test_rows_keep_their_order_ids_and_times(store):
    grown = store.add(KEYS[:2] + 9, [3, 3], time=7)
    assert grown.ids.tolist() == list(range(22))
    assert grown.times.tolist() == [0] * 20 + [7] * 2
    assert np.array_equal(grown.keys[:20], KEYS)
    assert len(store) == 20  # a store never changes


def test_adding_without_a_time_counts_on(store):
    assert store.add(KEYS[:1], [0]).add(KEYS[:1], [0]).times[-2:].tolist() == [1, 2]


def test_ids_of_forgotten_rows_are_not_given_again(store):
    left = store.forget([19, 3])
    assert 3 not in left.ids
    assert len(left) == 18
    assert left.add(KEYS[:1], [1]).ids[-1] == 20


def test_forgetting_a_row_that_is_not_there_is_an_error(store):
    with pytest.raises(DataError, match="row 77 cannot be forgotten"):
        store.forget([2, 77])


def test_ids_must_be_new(store):
    with pytest.raises(DataError, match="all different"):
        store.add(KEYS[:1], [0], ids=[5])
    assert store.add(KEYS[:1], [0], ids=[50]).next_id == 51


def test_rows_that_are_not_finite_are_dropped_and_counted(store):
    bad = KEYS[:3].copy()
    bad[0, 0], bad[2, 1] = np.nan, np.inf
    grown = store.add(bad, [1, 2, 3])
    assert (len(grown), grown.dropped, grown.labels[-1]) == (21, 2, 2)


def test_wrong_shapes_are_named(store):
    with pytest.raises(DataError, match="do not fit"):
        store.add(KEYS[:, :2], LABELS)
    with pytest.raises(DataError, match="one key"):
        Datastore.of(KEYS, LABELS[:3])


@pytest.mark.parametrize(
    ("capacity", "rows"), [(0.0, 0), (0.29, 29), (1.0, 100), (0, 0), (1, 1), (7, 7), (500, 100)]
)
def test_capacity_is_a_part_or_a_number(capacity, rows):
    assert rows_kept(capacity, 100) == rows


@pytest.mark.parametrize("capacity", [-0.1, -3, 1.5, float("nan"), True])
def test_a_capacity_that_makes_no_sense_is_an_error(capacity):
    with pytest.raises(ConfigError, match="capacity must be"):
        rows_kept(capacity, 10)


def test_a_subsample_is_drawn_by_seed_and_stays_in_order(store):
    part = store.subsample(0.5, seed=3)
    assert len(part) == 10
    assert (np.diff(part.ids) > 0).all()
    assert np.array_equal(part.ids, store.subsample(0.5, seed=3).ids)
    assert not np.array_equal(part.ids, store.subsample(0.5, seed=4).ids)
    assert not np.array_equal(part.ids, store.subsample(0.5, seed=3, client=1).ids)


def test_every_row_is_drawn_equally_often(store):
    drawn = np.bincount(np.concatenate([store.subsample(5, seed=s).ids for s in range(800)]), minlength=20)
    assert np.abs(drawn / 800 - 0.25).max() < 0.06


# Saving.


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_a_store_survives_saving(store, tmp_path, precision):
    kept = store.packed(precision).forget([4])
    kept.save(tmp_path / "store.safetensors")
    back = Datastore.load(tmp_path / "store.safetensors", model="one")
    for name in ("keys", "labels", "ids", "times"):
        assert np.array_equal(getattr(back, name), getattr(kept, name))
    assert (back.next_id, back.precision) == (20, precision)


def test_keys_of_another_model_are_stale(store, tmp_path):
    store.save(tmp_path / "store.safetensors")
    with pytest.raises(ConfigError, match="stale"):
        Datastore.load(tmp_path / "store.safetensors", model="two")


def test_a_damaged_file_is_noticed(store, tmp_path):
    path = tmp_path / "store.safetensors"
    store.save(path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError):
        Datastore.load(path)


def test_a_fingerprint_sees_every_weight():
    model = {"w": np.zeros((2, 2), np.float32), "b": np.zeros(2, np.float32)}
    other = {"w": np.zeros((2, 2), np.float32), "b": np.array([0, 1e-7], np.float32)}
    assert fingerprint(model) == fingerprint(dict(reversed(model.items())))
    assert fingerprint(model) != fingerprint(other)


# Fewer bits.


def test_memory_counts_every_byte_of_a_key():
    wide = Datastore.of(np.zeros((250, 1280)), np.zeros(250, np.int32))
    assert wide.memory()["key_bytes_per_row"] == 5120
    assert wide.nbytes == 250 * (5120 + 4 + 8 + 8)
    assert wide.packed("float16").memory()["key_bytes_per_row"] == 2560
    assert wide.packed("int8").nbytes == 250 * (1280 + 20) + 4 * 1280


def test_packed_keys_are_near_the_originals(store):
    assert np.abs(store.packed("float16").keys - KEYS).max() < 2e-3
    steps = np.abs(KEYS).max(axis=0) / 127
    assert (np.abs(store.packed("int8").keys - KEYS) <= 0.5001 * steps).all()


def test_new_rows_of_a_packed_store_are_packed_the_same_way(store):
    packed = store.packed("int8")
    grown = packed.add(100 * KEYS[:1], [0])  # beyond the scale: the largest number there is
    assert grown.precision == "int8"
    assert np.allclose(grown.keys[-1], np.sign(KEYS[0]) * np.abs(KEYS).max(axis=0))


def test_numbers_too_large_for_half_precision_stay_finite():
    assert np.isfinite(Datastore.of([[1e6]], [0]).packed("float16").keys).all()


def test_unknown_precision_has_a_hint(store):
    with pytest.raises(ConfigError, match="did you mean 'float16'"):
        store.packed("float15")


# Policies.


def test_fifo_keeps_the_size_and_the_newest(store):
    after = policy_registry.make("fifo")(store, KEYS[:5], LABELS[:5], 1)
    assert len(after) == 20
    assert after.ids.tolist() == list(range(5, 25))


def test_fifo_with_more_new_rows_than_places_keeps_the_newest(store):
    small = store.newest(3)
    after = policy_registry.make("fifo")(small, KEYS, LABELS, 1)
    assert len(after) == 3
    assert np.array_equal(after.keys, KEYS[-3:])


def test_fifo_with_a_capacity_fills_up_first(store):
    empty = Datastore.empty(3)
    update = policy_registry.make("fifo:8")
    half = update(empty, KEYS[:5], LABELS[:5], 0)
    assert (len(half), len(update(half, KEYS, LABELS, 1))) == (5, 8)


def test_concat_grows_up_to_a_cap_with_a_warning(store):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(policy_registry.make("concat:25")(store, KEYS[:5], LABELS[:5], 1)) == 25
    with pytest.warns(UserWarning, match="cap of 22 rows"):
        assert len(policy_registry.make("concat:22")(store, KEYS[:5], LABELS[:5], 1)) == 22


def test_a_fixed_store_ignores_what_arrives(store):
    assert policy_registry.make("fixed")(store, KEYS, LABELS, 1) is store


def test_an_empty_batch_changes_nothing(store):
    for name in ("fifo", "concat", "fixed"):
        after = policy_registry.make(name)(store, KEYS[:0], LABELS[:0], 1)
        assert np.array_equal(after.ids, store.ids)
