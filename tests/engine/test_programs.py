"""Programs are kept while they are few, and forgotten between trainings when they are many."""

import jax
import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, Task
from unalike.engine import compilation_cache
from unalike.engine.compilation_cache import cached_program, forget_programs


def test_the_same_arguments_give_the_same_program():
    @cached_program
    def build(a, b=1):
        return object()

    assert build(1) is build(1)
    assert build(1) is not build(2)


def test_programs_are_forgotten_only_when_they_are_many(monkeypatch):
    cleared = []
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(1))
    monkeypatch.setattr(compilation_cache, "_built", ["round"] * 5)
    monkeypatch.setattr(compilation_cache, "TOGETHER", 5)
    forget_programs()
    assert not cleared
    forget_programs(4)
    forget_programs(4)
    assert len(cleared) == 1


@pytest.mark.exact
def test_a_training_after_they_were_forgotten_has_the_same_result():
    federation = unalike.load("digits", clients=5, samples=100)
    model = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
    task, method = Task.classification(model, 10), FedAvg(work=LocalWork(steps=2))
    first = unalike.train(federation, task, method, rounds=2).message
    forget_programs(-1)
    again = unalike.train(federation, task, method, rounds=2).message
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
