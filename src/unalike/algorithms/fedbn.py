"""FedBN: normalization layers stay with the client (Li, Jiang, Zhang, Kamp, Dou, FedBN: Federated Learning on
Non-IID Features via Local Batch Normalization, 2021).

    client:   (rest_i, norm_i) <- descend from (rest, norm_i) on all parameters together;   sends  rest_i
    server:   rest <- as FedAvg
    predict:  with (rest, norm_i)

Made for clients whose inputs differ in scale or shift, which their own normalization takes out. A newcomer
trains its normalization while the rest stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from .base import Algorithm, algorithm_registry
from .fedper import FedPer
from .shared.layer_split import PathPredicate, name_contains, paths, under_path


@algorithm_registry.add("fedbn")
@dataclass(frozen=True, kw_only=True)
class FedBN(FedPer):
    """Clients keep the parameters of normalization layers and share the rest (Li et al., 2021).

    These are the parameters whose path contains "norm" (of a PyTorch module, those that its normalization
    layers use), unless `private` says where they are.
    """

    name: ClassVar[str] = "fedbn"

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        found = paths(jax.eval_shape(task.init, jax.random.key(0)))
        if not any(map(self._keeps(task), found)):
            raise ConfigError(
                "fedbn keeps normalization layers with the client, but this model has none; choose mlp-norm, "
                f'cnn-norm, mlp-bn or cnn-bn, or give private="..." ({", ".join(found)}).'
            )
        return super().prepare(task, federation)

    def _keeps(self, task: Task) -> PathPredicate:
        if self.private is not None:
            return super()._keeps(task)
        return under_path(*task.model.norms) if task.model.norms else name_contains("norm")

    def _roots(self, task: Task, found: list[str]) -> list[str]:
        return [] if self.private is None else super()._roots(task, found)
