"""Algorithm wrappers: a method around another method, which forwards whatever it does not change.

Simulated attacks, local differential privacy and local module state change what some function of a method
returns, and leave the rest as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.forwarding import forward_members
from ...data import Federation
from ...models import Task
from ..base import Algorithm


@forward_members(Algorithm, to="method", except_for=("equals_local_training",))
@dataclass(frozen=True, kw_only=True)
class AlgorithmWrapper(Algorithm):
    """An algorithm around an `inner` one; members that a subclass does not define are the inner one's.

    >>> from unalike.algorithms import FedAvg
    >>> AlgorithmWrapper(inner=FedAvg()).name
    'fedavg'
    """

    inner: Algorithm

    @property
    def method(self) -> Algorithm:
        """The wrapped method, with the local work that this one was given."""
        return self.inner if self.work == self.inner.work else replace(self.inner, work=self.work)

    def with_noise(self, **chosen: float) -> Algorithm:
        return replace(self, inner=self.inner.with_noise(**chosen))

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        return replace(self, inner=self.method.prepare(task, federation))
