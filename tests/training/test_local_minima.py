"""Is each client's least loss the same, however many are fitted at a time?"""

import numpy as np

import unalike
from unalike.models import Task, linear
from unalike.training import local_minima as module


def test_blocks_of_clients_are_fitted_as_everyone_together(monkeypatch):
    federation = unalike.load("gaussians", clients=12, samples=240, seed=1)
    task = Task.classification(linear(input_shape=(20,), outputs=federation.classes), federation.classes)
    together = module.local_minima(federation, task, steps=40)
    planned, fitted = [], module._fit_clients

    def watched(some, *rest):
        planned.append(len(some))
        return fitted(some, *rest)

    monkeypatch.setattr(module, "_fit_clients", watched)
    monkeypatch.setattr(module, "PLANNED", 5 * 40 * int(federation.train.sizes.max()))
    apart = module.local_minima(federation, task, steps=40)
    np.testing.assert_allclose(apart, together, rtol=1e-4)
    assert sum(planned) == 12
    assert max(planned) <= 5


def test_clients_of_like_sizes_are_fitted_together_and_everyone_once():
    sizes = np.array([1, 3, 4, 15, 16, 17, 5000, 0])
    blocks = list(module.like_sizes(sizes, rows=100))
    assert sorted(np.concatenate(blocks)) == list(range(8))
    for block in blocks:
        assert sizes[block].max() <= 4 * max(sizes[block].min(), 1)
        assert len(block) == 1 or len(block) * sizes[block].max() <= 100
