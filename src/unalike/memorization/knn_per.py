"""kNN-Per: personalization of a trained model without further training.

kNN-Per (Marfoq, Neglia, Kameni, Vidal, "Personalized Federated Learning through Local Memorization", 2022).
Every client sends its rows once through the global model, remembers their representations, and mixes

    h_t(x) = lambda_t * vote of the k nearest remembered rows + (1 - lambda_t) * global model's probabilities.

Nothing is sent. A client that never took part in training does the same, and a client whose data change
changes its memory instead of the model.

    memory = memorize(run)
    memory.evaluate("test")["accuracy"], memory.explain(3, x), memory.update(3, x, y)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from numpy.typing import ArrayLike

from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Array, Float32s, Float64s, Int64s, Params, PyTree
from .compression import Projection, projection_registry
from .datastore import Datastore, fingerprint
from .embedding import Embedded, Features, embed, embed_split, measure, representation
from .interpolation_weight import GRID, check_choice, own_share
from .knn_voting import check_labels, interpolate
from .replacement_policies import policy_registry
from .voting_rule import Rule

PerClient = float | int | ArrayLike
"""One value for everybody, or one for each client."""


class Asked(Protocol):
    """What was trained, and for whom."""

    @property
    def task(self) -> Task: ...

    @property
    def federation(self) -> Federation: ...


class Trained(Protocol):
    """A run, as far as memory needs one."""

    @property
    def setting(self) -> Asked: ...

    @property
    def message(self) -> PyTree: ...


class Explanation(NamedTuple):
    """Why a client predicts what it does: for every query its neighbors, nearest first."""

    ids: Int64s
    labels: Array
    distances: Float32s
    weights: Float32s
    share: float
    """How much the neighbors count together (lambda)."""
    prediction: Float32s


@dataclass(eq=False)
class Personal:
    """Clients that remember: one store, one rule and one share (lambda) for each."""

    task: Task
    params: Params
    federation: Federation
    rules: list[Rule]
    stores: list[Datastore]
    shares: Float64s
    features: Features | None = None
    projection: Projection | None = None
    _seen: dict[str, Embedded] = field(default_factory=dict, repr=False)

    @property
    def fingerprint(self) -> str:
        """The hash of the model that made all keys."""
        return fingerprint(self.params)

    def predict(self, client: int, x: Array) -> Float32s:
        """Probabilities of the classes (or the targets of a regression) for some rows of a client."""
        return self._mixed(client, *self._embed(x))

    def evaluate(self, split: str = "test") -> dict[str, Float64s]:
        """Loss and metrics of every client on its rows of a split, with the number of `samples`."""
        rows = self.embedded(split)
        mine = [rows.client(i) for i in range(len(self.stores))]
        parts = [self._mixed(i, part.keys, part.common) for i, part in enumerate(mine)]
        return measure(self.task, np.concatenate(parts), rows)

    def explain(self, client: int, x: Array) -> Explanation:
        """The remembered rows behind a client's predictions, with what each of them counted."""
        keys, common = self._embed(x)
        store = self.stores[client]
        found, counted = self.rules[client].find(store.keys, keys)
        share = float(self.shares[client]) if len(store) else 0.0
        ids, labels = store.ids[found.rows], store.labels[found.rows]
        said = self._mixed(client, keys, common)
        return Explanation(ids, labels, found.distances, counted, share, said)

    def update(
        self, client: int, x: Array, y: ArrayLike, *, policy: str = "fifo", time: int | None = None
    ) -> None:
        """Show a client new rows, which a policy (`fifo`, `concat`, `fixed`) puts into its store."""
        store = self.stores[client]
        moment = int(store.times.max(initial=-1)) + 1 if time is None else time
        keys, _ = self._embed(x)
        self.stores[client] = policy_registry.make(policy)(store, keys, np.asarray(y), moment)

    def forget(self, client: int, ids: ArrayLike) -> None:
        """Delete remembered rows; what the global model learned from them is another matter."""
        self.stores[client] = self.stores[client].forget(ids)

    def put(self, client: int, store: Datastore) -> None:
        """Give a client a store that was saved; one that another model made is refused."""
        store.check_model(self.fingerprint)
        self.stores[client] = store

    def tune(self, choose: str | float = "loo", *, seed: int = 0, grid: Sequence[float] = GRID) -> Personal:
        """The same memories with shares chosen on those remembered rows that are training rows."""
        check_choice(choose)
        validation = self.embedded("validation") if choose == "validation" else None
        shares = [
            own_share(
                self.task,
                rule,
                self.trained_rows(i),
                choose,
                validation=None if validation is None else validation.client(i),
                seed=seed,
                client=i,
                grid=grid,
            )
            for i, rule in enumerate(self.rules)
        ]
        return replace(self, stores=list(self.stores), shares=np.array(shares, np.float64))

    def changed(self, shares: PerClient | None = None, **rule: Any) -> Personal:
        """The same memories with other shares, or with neighbors found and counted in another way."""
        given = self.shares if shares is None else _each(shares, len(self.stores)).astype(np.float64)
        rules = [replace(r, **rule) for r in self.rules]
        return replace(self, rules=rules, stores=list(self.stores), shares=given)

    def with_capacity(self, capacity: PerClient, seed: int = 0) -> Personal:
        """The same clients, of whose memories a random part is left."""
        parts = _capacities(capacity, len(self.stores))
        return self._with_stores([s.subsample(parts[i], seed, i) for i, s in enumerate(self.stores)])

    def packed(self, precision: str) -> Personal:
        """The same memories with keys in fewer bits (`float16`, `int8`)."""
        return self._with_stores([store.packed(precision) for store in self.stores])

    def memory(self) -> dict[str, float]:
        """Rows and bytes of all stores, and the bytes of what clients share to make keys shorter."""
        return {
            "rows": sum(len(store) for store in self.stores),
            "bytes": sum(store.nbytes for store in self.stores),
            "shared_bytes": 0 if self.projection is None else self.projection.nbytes,
            "dropped": sum(store.dropped for store in self.stores),
        }

    def embedded(self, split: str) -> Embedded:
        """All clients' rows of a split as the model sees them, computed once."""
        if split not in self._seen:
            rows = embed_split(self.task, self.params, getattr(self.federation, split), self.features)
            self._seen[split] = rows._replace(keys=self._short(rows.keys))
        return self._seen[split]

    def trained_rows(self, client: int) -> Embedded:
        """Remembered training rows with their keys as they are kept; their ids are their places."""
        train, store = self.embedded("train").client(client), self.stores[client]
        known = store.take(store.ids < len(train.keys))
        return train.take(known.ids)._replace(keys=known.keys)

    def _with_stores(self, stores: list[Datastore]) -> Personal:
        return replace(self, stores=stores)

    def _embed(self, x: Array) -> tuple[Float32s, Float32s]:
        keys, common = embed(self.task, self.params, np.asarray(x), self.features)
        return self._short(keys), common

    def _short(self, keys: Float32s) -> Float32s:
        return keys if self.projection is None else self.projection(keys)

    def _mixed(self, client: int, keys: Float32s, common: Float32s) -> Float32s:
        store, share = self.stores[client], float(self.shares[client])
        if not len(store) or not len(keys) or share == 0:
            return common
        near = self.rules[client].ask(self.task, store.keys, store.labels, keys, common)
        return interpolate(share, near, common)


def memorize(
    trained: Trained | tuple[Task, PyTree],
    federation: Federation | None = None,
    *,
    k: PerClient = 10,
    capacity: PerClient = 1.0,
    kernel: str = "euclid",
    sigma: float | str = 1.0,
    choose: str | float = "loo",
    method: str = "auto",
    projection: str | Projection | None = None,
    features: Features | None = None,
    seed: int = 0,
) -> Personal:
    """Let every client of a federation remember its training rows, as a trained model sees them.

    trained: a run of any algorithm with one model for all, or a task and parameters.
    federation: the run's own when not given; others are newcomers.
    k, capacity: for everybody, or one for each client; capacity is a part (0.5) or a number (200) of rows.
    choose: `loo`, `holdout`, `kfold`, `validation`, or the share itself. Validation rows are remembered once
        lambda is chosen, as training rows are and within the same capacity.
    """
    task, params = trained if isinstance(trained, tuple) else (trained.setting.task, trained.message)
    who = _federation(trained, federation)
    representation(task, features)
    _check_one_model(task, params, who)
    check_labels(task, who.train.y)
    check_choice(choose)
    if choose == "validation" and not len(who.validation.y):
        raise ConfigError("choosing lambda by validation needs validation rows; use 'loo' or 'holdout'.")
    rules = [Rule(int(one), kernel, sigma, method) for one in _each(k, len(who)).tolist()]
    memory = Personal(task, params, who, rules, [], np.zeros(len(who)), features)
    memory.projection, memory._seen = _projection(memory, projection, seed), {}
    memory.stores = _stores(memory, "train")
    tuned = memory.with_capacity(capacity, seed).tune(choose, seed=seed)
    if choose != "validation":
        return tuned
    return _with_validation(replace(tuned, stores=memory.stores)).with_capacity(capacity, seed)


def _federation(trained: Trained | tuple[Task, PyTree], federation: Federation | None) -> Federation:
    if federation is not None:
        return federation
    if isinstance(trained, tuple):
        raise ConfigError("a task and parameters need the federation whose clients should remember.")
    return trained.setting.federation


def _check_one_model(task: Task, params: Params, federation: Federation) -> None:
    x = federation.train.x
    row = jax.ShapeDtypeStruct((1, *x.shape[1:]), x.dtype)
    try:
        jax.eval_shape(task.apply, params, row)
    except Exception as error:  # whatever a model says of parameters that are not its own
        raise ConfigError(
            "memorization needs the parameters of one model for all clients, but the task cannot apply "
            f"these to its rows ({type(error).__name__})."
        ) from None


def _projection(memory: Personal, wanted: str | Projection | None, seed: int) -> Projection | None:
    if not isinstance(wanted, str):
        return wanted
    return projection_registry.make(wanted, seed=seed)(memory.embedded("train").keys)


def _stores(memory: Personal, split: str) -> list[Datastore]:
    rows, model = memory.embedded(split), memory.fingerprint
    mine = (rows.client(i) for i in range(len(memory.rules)))
    return [Datastore.of(part.keys, part.labels, model=model) for part in mine]


def _with_validation(memory: Personal) -> Personal:
    """Remember the rows that lambda was chosen on, too."""
    rows = memory.embedded("validation")
    mine = (rows.client(i) for i in range(len(memory.stores)))
    pairs = zip(memory.stores, mine, strict=True)
    return memory._with_stores([store.add(part.keys, part.labels, time=0) for store, part in pairs])


def _capacities(capacity: PerClient, clients: int) -> list[Any]:
    """One capacity per client; in a list, parts stay parts and whole numbers stay numbers of rows."""
    if isinstance(capacity, list | tuple) and len(capacity) == clients:
        return list(capacity)
    return _each(capacity, clients).tolist()


def _each(value: PerClient, clients: int) -> Array:
    """One value per client."""
    values = np.asarray(value)
    if values.ndim and values.shape != (clients,):
        raise ConfigError(f"give one value, or one for each of {clients} clients, not {values.shape}.")
    return np.broadcast_to(values, clients)
