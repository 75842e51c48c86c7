"""Do clients find again what they remembered, and nothing that was another's?"""

import jax
import numpy as np
import pytest

from unalike.engine import Memories
from unalike.errors import RunError

TEMPLATE = {
    "a": jax.ShapeDtypeStruct((2, 3), np.float32),
    "b": [jax.ShapeDtypeStruct((), np.int32)],
}


def memory_of(clients, turn=0):
    clients = np.asarray(clients)
    a = np.arange(6, dtype=np.float32).reshape(2, 3) + 100.0 * clients[:, None, None] + turn
    return {"a": a.astype(np.float32), "b": [(clients + 1000 * turn).astype(np.int32)]}


def same(one, two):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True))


def test_what_is_scattered_is_gathered_in_any_order():
    memories = Memories(TEMPLATE, 10)
    memories.scatter(np.array([7, 2, 5]), memory_of([7, 2, 5]))
    found, fresh = memories.gather(np.array([5, 7, 2, 5]))
    assert same(found, memory_of([5, 7, 2, 5]))
    assert not fresh.any()


def test_clients_that_were_never_seen_are_fresh_and_have_zeros():
    memories = Memories(TEMPLATE, 10)
    found, fresh = memories.gather(np.array([0, 9]))
    assert fresh.all()
    memories.scatter(np.array([9]), memory_of([9]))
    found, fresh = memories.gather(np.array([0, 9]))
    assert fresh.tolist() == [True, False]
    assert not found["a"][0].any()
    assert same(jax.tree.map(lambda leaf: leaf[1:], found), memory_of([9]))


def test_random_cohorts_agree_with_a_dictionary():
    memories, naive, rng = Memories(TEMPLATE, 30), {}, np.random.default_rng(0)
    for turn in range(40):
        cohort = rng.choice(30, rng.integers(1, 8), replace=False)
        found, fresh = memories.gather(cohort)
        for place, client in enumerate(cohort.tolist()):
            assert fresh[place] == (client not in naive)
            if client in naive:
                assert same(jax.tree.map(lambda leaf, p=place: leaf[[p]], found), naive[client])
        memories.scatter(cohort, memory_of(cohort, turn))
        naive |= {client: memory_of([client], turn) for client in cohort.tolist()}


def test_room_follows_the_clients_seen_and_not_the_population():
    memories = Memories(TEMPLATE, 1_000_000)
    memories.scatter(np.array([999_999, 3]), memory_of([999_999, 3]))
    kept = memories.tensors()
    assert kept["0"].shape == (2, 2, 3)
    assert memories._arrays[0].shape[0] <= 4


def test_gathered_memories_are_copies():
    memories = Memories(TEMPLATE, 4)
    memories.scatter(np.array([1]), memory_of([1]))
    found, _ = memories.gather(np.array([1]))
    found["a"][:] = -1
    assert same(memories.gather(np.array([1]))[0], memory_of([1]))


def test_tensors_and_restore_are_inverse_and_growth_goes_on_after():
    memories = Memories(TEMPLATE, 12)
    for cohort in ([3, 1], [8], [1, 11, 0]):
        memories.scatter(np.array(cohort), memory_of(cohort, turn=len(cohort)))
    copy = Memories(TEMPLATE, 12)
    copy.restore(memories.tensors())
    everyone = np.arange(12)
    for one, two in zip(memories.gather(everyone), copy.gather(everyone), strict=True):
        assert same(one, two)
    copy.scatter(np.array([5, 3]), memory_of([5, 3], turn=9))
    assert same(copy.gather(np.array([3, 5]))[0], memory_of([3, 5], turn=9))
    assert same(copy.gather(np.array([11]))[0], memory_of([11], turn=3))
    # The original does not notice.
    assert memories.gather(np.array([5]))[1].all()


def test_algorithms_without_memory_store_nothing():
    memories = Memories({}, 5)
    assert not memories
    memories.scatter(np.array([1]), {})
    found, fresh = memories.gather(np.array([1, 2]))
    assert found == {}
    assert fresh.tolist() == [False, False]
    assert memories.tensors() == {}
    memories.restore({})


@pytest.fixture
def saved():
    memories = Memories(TEMPLATE, 6)
    memories.scatter(np.array([2, 4]), memory_of([2, 4]))
    return memories.tensors()


@pytest.mark.parametrize(
    "template",
    [
        {"a": jax.ShapeDtypeStruct((3, 2), np.float32), "b": [jax.ShapeDtypeStruct((), np.int32)]},
        {"a": jax.ShapeDtypeStruct((2, 3), np.float16), "b": [jax.ShapeDtypeStruct((), np.int32)]},
        {"a": jax.ShapeDtypeStruct((6,), np.float32), "b": [jax.ShapeDtypeStruct((), np.int32)]},
        {**TEMPLATE, "c": jax.ShapeDtypeStruct((), np.float32)},
        {"a": TEMPLATE["a"]},
    ],
    ids=["turned", "half precision", "flat", "one more", "one fewer"],
)
def test_a_checkpoint_of_another_algorithm_is_refused(saved, template):
    with pytest.raises(RunError, match="client memories"):
        Memories(template, 6).restore(saved)


@pytest.mark.parametrize("clients", [5, 7])
def test_a_checkpoint_of_another_federation_is_refused(saved, clients):
    with pytest.raises(RunError):
        Memories(TEMPLATE, clients).restore(saved)


def test_a_checkpoint_without_memories_is_refused_where_there_should_be_some():
    with pytest.raises(RunError):
        Memories(TEMPLATE, 6).restore({})
