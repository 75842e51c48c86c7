"""kNN-Per: a global model beside each client's own memory of its rows (Marfoq, Neglia, Kameni, Vidal,
Personalized Federated Learning through Local Memorization, 2022). Trained as FedAvg; nothing more is sent.

    client t:   store_t  <-  { (phi(x_i), y_i) }            one forward pass, phi the model's representation
                lambda_t <-  best on its own rows, each looked up among the others
    predict:    h_t(x)   =   lambda_t vote(k nearest of phi(x) in store_t) + (1 - lambda_t) h(x)

Here a store lives inside one compiled visit to its client; `unalike.memorization` keeps stores between
predictions, for any trained model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pixels import as_floats
from ..data.federation import Federation
from ..errors import ConfigError
from ..memorization.compiled_knn import FixedStore, ask, ask_own, best_share, draw_rows, mix
from ..memorization.datastore import rows_kept
from ..memorization.embedding import representation
from ..memorization.interpolation_weight import BEFORE_ENOUGH, ENOUGH, FOLDS, check_choice
from ..memorization.knn_voting import check_labels, outputs, predictions
from ..memorization.voting_rule import Rule
from ..models import Task
from ..typing import Memory, Message, Params, Predictor, PyTree
from .base import Algorithm, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData


@algorithm_registry.add("knnper")
@dataclass(frozen=True, kw_only=True)
class KNNPer(FedAvg):
    """FedAvg whose clients remember their rows and mix in a vote of the nearest (Marfoq et al., 2022)."""

    k: int = 10
    sigma: float = 1.0
    """The kernel's scale: a small one counts the nearest row alone."""
    kernel: str = "euclid"
    capacity: float = 1.0
    """What a client remembers of its rows, drawn at random: a part (0.5), or a whole number of rows (200)."""
    choose: str | float = "loo"
    """How lambda is found: every row among the others (`loo`), a fifth of them (`holdout`), or a number."""
    features: Callable[[PyTree, jax.Array], jax.Array] | None = None
    """A representation `(parameters, x)` other than the model's own."""

    name: ClassVar[str] = "knnper"
    takes_state: ClassVar[bool] = False
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(rows_to_predict=True)
    grid: ClassVar = {"k": (5, 10, 20), "sigma": (1.0, 10.0)}

    def __post_init__(self) -> None:
        if isinstance(self._rule.sigma, str):
            raise ConfigError("sigma must be a number here; only memorize() finds a median.")
        rows_kept(self.capacity, 1)
        check_choice(self.choose, ("loo", "holdout"))

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        representation(task, self.features)
        check_labels(task, federation.train.y)
        return self

    @property
    def equals_local_training(self) -> bool:
        return False

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        store = self._remember(task, message, data, key)
        return {"params": message, "store": store, "share": self._share(task, store, key)}

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        keys, common = self._see(task, predictor["params"], x)
        near = ask(task, self._rule, predictor["store"], keys, common)
        return outputs(task, mix(predictor["share"], near, common))

    @property
    def _rule(self) -> Rule:
        return Rule(self.k, self.kernel, self.sigma)

    def _see(self, task: Task, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Keys and the global model's predictions of some rows."""
        keys = representation(task, self.features)(params, x).reshape(len(x), -1).astype(jnp.float32)
        return keys, predictions(task, task.apply(params, x))

    def _remember(self, task: Task, params: Params, data: ClientData, key: jax.Array) -> FixedStore:
        """The rows that count, or a random part of them, as the model sees them in one pass."""

        def both(x: jax.Array, y: jax.Array) -> jax.Array:
            return jnp.concatenate([part.reshape(len(x), -1) for part in self._see(task, params, x)], axis=1)

        keys, common = jax.eval_shape(lambda: self._see(task, params, as_floats(data.x[:1])))
        seen = data.per_row(both)
        found, said = jnp.split(seen, [keys.shape[1]], axis=1)
        real = (data.row_weights() > 0) & jnp.isfinite(found).all(axis=1)
        sizes = jnp.asarray([rows_kept(self.capacity, n) for n in range(data.capacity + 1)])
        kept = draw_rows(real, sizes[real.sum()], key)
        labels = data.per_row(lambda x, y: y)
        return FixedStore(
            jnp.where(kept[:, None], found, 0), labels, said.reshape(-1, *common.shape[1:]), kept
        )

    def _share(self, task: Task, store: FixedStore, key: jax.Array) -> jax.Array:
        """lambda: given, or the best one for the rows that are looked up; fixed where rows are few."""
        rows = store.kept.sum()
        if not isinstance(self.choose, str):
            return jnp.where(rows > 0, jnp.float32(self.choose), 0.0)
        held = draw_rows(store.kept, -(-rows // FOLDS), jax.random.fold_in(key, 1))
        asked, among = (held, store.kept & ~held) if self.choose == "holdout" else (store.kept, store.kept)
        best = best_share(task, ask_own(task, self._rule, store._replace(kept=among)), store, asked)
        return jnp.where(rows >= ENOUGH, best, jnp.where(rows > 0, BEFORE_ENOUGH, 0.0))
