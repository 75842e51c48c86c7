"""The robust aggregation rule interface: one update from many, of which some may be malicious.

    update = estimate(changes, present, weights)            in place of  sum_i w_i change_i / sum_i w_i

Every client's change is one row of a matrix, whatever the upload's structure; rejected uploads, and those
that weigh nothing, are rows that are not `present`. A rule is a pure function of these, so it runs in every
engine. Guarantees count clients, not rows of data: whoever lies about its update may lie about its size. So
rules that sort or select give each upload one vote; those that average by weights say so.

A rule bears at most so many dishonest uploads. A step with too few uploads for that leaves the model as it
is, which is recorded; a cohort that can never be large enough is refused beforehand.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...aggregation.base import Aggregator, Combined, Uploads, aggregator_registry
from ...aggregation.needs import AggregatorNeeds
from ...algorithms import Algorithm, Reply
from ...core.spec import Argument
from ...errors import ConfigError
from ...participation import Participation
from ...timing import Step
from ...typing import Event, Message, PyTree, Report


class Votes(NamedTuple):
    """The changes of a step's clients, as a rule sees them."""

    rows: jax.Array
    """One per client (clients x parameters); of one that is not present, anything finite."""
    present: jax.Array
    """1 for an upload that counts, 0 for one that was rejected or weighs nothing."""
    weights: jax.Array
    key: Any = None
    """The step's own randomness, for rules that draw."""

    @property
    def voters(self) -> jax.Array:
        """How many uploads count."""
        return self.present.sum().astype(jnp.int32)

    @property
    def shares(self) -> jax.Array:
        """Weights of the uploads that count, which sum to one."""
        kept = jnp.where(self.present > 0, self.weights, 0.0)
        total = kept.sum()
        return kept / jnp.where(total != 0, total, 1.0)


@dataclass(frozen=True)
class RobustRule(Aggregator):
    """One update in the place of the weighted mean; a subclass says which."""

    needs: ClassVar[AggregatorNeeds] = AggregatorNeeds(combine=True, observe=True)
    name: ClassVar[str] = ""

    @abstractmethod
    def estimate(self, votes: Votes) -> jax.Array:
        """The update, as one row, of at least `least` uploads that count."""

    @property
    def least(self) -> int:
        """How many uploads it needs."""
        return 1

    @property
    def limit(self) -> str:
        """Why it needs so many, in words."""
        return f"it needs at least {self.least}"

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        if method.needs.uploads:
            raise ConfigError(
                f"{self.name} gives the server one update in the place of all uploads, but "
                f"{method.name or type(method).__name__} looks at every upload by itself; choose a method "
                "such as fedavg or scaffold."
            )

    def check_cohort(self, most: int) -> None:
        if most < self.least:
            clients = "1 client" if most == 1 else f"{most} clients"
            raise ConfigError(f"{self.name} cannot work with {clients} in a step: {self.limit}.")

    def combine(self, uploads: Uploads) -> Combined:
        changes, present = uploads.changes(), (uploads.accepted > 0) & (uploads.weight != 0)
        if not jax.tree.leaves(changes):  # a method that sends no model, such as local
            return Combined(None, changes, present.any(), {"rule_used": present.astype(jnp.float32)})
        rows, as_tree = as_rows(changes)
        votes = Votes(rows, present.astype(rows.dtype), uploads.weight, uploads.key)
        usable = votes.voters >= self.least
        update = as_tree(jnp.where(usable, self.estimate(votes), 0.0))
        return Combined(None, update, usable, {"rule_used": jnp.where(usable, present, 0.0)})

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        """Says where a step had too few uploads, so that nothing changed."""
        used = np.asarray(report.get("rule_used", 1.0))
        if used.any():
            return {}, []
        accepted = int((np.asarray(report.get("accepted", 0)) > 0).sum())
        event = {"kind": "too few uploads", "rule": self.name, "uploads": accepted, "least": self.least}
        return {}, [event]


def as_rows(trees: PyTree) -> tuple[jax.Array, Callable[[jax.Array], PyTree]]:
    """Trees along a leading axis as the rows of a matrix, and how one row becomes a tree again.

    >>> rows, as_tree = as_rows({"a": jnp.ones((2, 3)), "b": jnp.zeros((2, 1, 2))})
    >>> rows.shape, as_tree(rows[0])["b"].shape
    ((2, 5), (1, 2))
    """
    leaves, structure = jax.tree.flatten(trees)
    flat = [leaf.reshape(leaf.shape[0], -1).astype(_float_of(leaf)) for leaf in leaves]
    ends = np.cumsum([part.shape[1] for part in flat])[:-1].tolist()

    def as_tree(row: jax.Array) -> PyTree:
        parts = jnp.split(row, ends)
        shaped = [
            part.reshape(leaf.shape[1:]).astype(_float_of(leaf))
            for part, leaf in zip(parts, leaves, strict=True)
        ]
        return jax.tree.unflatten(structure, shaped)

    return jnp.concatenate(flat, 1), as_tree


def _float_of(leaf: jax.Array) -> Any:
    """Changes of whole numbers are fractions once they are mixed."""
    return jnp.promote_types(leaf.dtype, jnp.float32)


def rule_of(name: str, words: tuple[Argument, ...]) -> RobustRule:
    """The rule that words after a pre-aggregation's own argument name, such as ("multi-krum:1", 3)."""
    if not words:
        raise ConfigError(f"{name} comes before a rule; say which, such as {name},median.")
    made = aggregator_registry.make(",".join(str(word) for word in words))
    if not isinstance(made, RobustRule):
        raise ConfigError(f"{name} comes before a robust rule such as median or krum:1, not {words[0]}.")
    return made


def check_whole(what: str, value: object, least: int = 0) -> None:
    """Raise where a count is none."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{what} must be a whole number, at least {least}, but is {value!r}.")
