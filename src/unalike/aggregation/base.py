"""What does the server make of single uploads before they are mixed?  (Aggregators.)

    receive(upload, start)      each upload by itself, as it comes in:     clip it, let it count less
    combine(uploads)            all uploads of a step together:            other weights, or one update
    finish(tally, key)          the sum of all of them:                    add noise
    measure(uploads, mean)      each upload beside their mean:             how far it lies from it
    observe(step, report)       on the server's host, after the step:      keep account, say what is unusual
    admit(step)                 on the server's host, before a step:       leave clients out
    refusal(step)               on the server's host, before a step:       end training, with the reason

The default changes nothing and costs nothing. The functions of uploads are pure JAX code, so that an
aggregator runs in every engine; what it sees of clients is what a server sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from ..algorithms import Algorithm, Reply
from ..core import pytrees
from ..core.pytrees import shapes
from ..core.registry import Registry
from ..errors import ConfigError
from ..participation import Participation
from ..timing import Step
from ..typing import Array, Event, Leaf, Message, PyTree, Report, Scalar, Upload
from .needs import AggregatorNeeds
from .tally import Tally

aggregator_registry: Registry[Aggregator] = Registry("aggregator", "aggregators")


class Uploads(NamedTuple):
    """The single uploads of a step, along a leading axis in the order of its clients."""

    upload: Upload
    """Zeros for a rejected one."""
    weight: Leaf
    """What each was asked to weigh, rejected ones too."""
    importance: Leaf
    accepted: Leaf
    """1 for an upload that was accepted, 0 for one that was rejected."""
    client: Leaf = None
    start: Message | None = None
    """The message that each client started from, for aggregators that see uploads."""
    key: jax.Array | None = None
    """The step's own randomness, for aggregators that draw."""

    def changes(self) -> Upload:
        """How each upload differs from the message; the upload itself where the two are not alike."""
        return pytrees.subtract(self.upload, self.start) if self.alike else self.upload

    @property
    def alike(self) -> bool:
        """Whether uploads have the shapes of messages."""
        return bool(shapes(self.upload) == shapes(self.start))


class Received(NamedTuple):
    """What the server makes of one upload by itself."""

    upload: Upload
    factor: Scalar | None = None
    """What multiplies its weight; None for 1."""
    report: Mapping[str, jax.Array] = {}
    """Numbers that are recorded for this client."""


class Combined(NamedTuple):
    """What the server makes of all uploads of a step: other weights, or one update in their place."""

    weights: jax.Array | None = None
    """One per upload; whoever weighs nothing is left out, and the others take over its weight."""
    update: PyTree | None = None
    """In place of the weighted mean of :meth:`Uploads.changes`."""
    usable: bool | jax.Array = True
    """Whether that update may be used; where not, nothing moves in this step."""
    report: Mapping[str, jax.Array] = {}


@dataclass(frozen=True)
class Aggregator:
    """The plain weighted sum of uploads; subclasses override what they do with them."""

    needs: ClassVar[AggregatorNeeds] = AggregatorNeeds()
    """Which of its functions an engine must call."""
    hidden: ClassVar[str | None] = "it looks at single uploads"
    """Why it cannot work where only sums of uploads are seen; None if it can."""

    @property
    def stepwise(self) -> bool:
        """Whether the server must take its steps one by one, because it does more than add."""
        return self.needs.combine or self.needs.finish or self.needs.measure

    @property
    def needs_key(self) -> bool:
        """Whether it is to be given the server's randomness."""
        return self.needs.finish or self.needs.key

    @property
    def clip_at_client(self) -> float | None:
        """The norm to which clients clip their own changes where the server sees sums only."""
        return None

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        """Raise a `ConfigError` where it cannot work with a method and a participation, or with such messages
        and replies."""

    def check_cohort(self, most: int) -> None:
        """Raise a `ConfigError` where steps of about so many clients are too small for it."""

    def admit(self, step: Step) -> Step:
        """The step as it is to be taken: without clients that are not to take part, or with other weights."""
        return step

    def refusal(self, step: Step) -> str | None:
        """Why an admitted step must not be taken, so that training ends before it; None where it may."""
        return None

    def receive(self, upload: Upload, start: Message) -> Received:
        """One accepted upload, and the message that its client started from."""
        return Received(upload)

    def combine(self, uploads: Uploads) -> Combined:
        """All uploads of a step."""
        return Combined(uploads.weight)

    def finish(self, tally: Tally, heaviest: jax.Array, key: jax.Array) -> Tally:
        """The sums that the server goes on with; `heaviest` is the largest weight of a single upload."""
        return tally

    def measure(self, uploads: Uploads, mean: Upload) -> Mapping[str, jax.Array]:
        """Numbers that are recorded for each client, once the weighted mean of all uploads is known."""
        return {}

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        """After a step: columns for the record, and events such as {"kind": "suspicious upload"}."""
        return {}, []

    def of_clients(self, step: Step) -> Mapping[str, Array]:
        """After :meth:`observe`: what is to be recorded of single clients, one number for each."""
        return {}

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run observes as if nothing had happened."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


@aggregator_registry.add("weighted-sum")
@dataclass(frozen=True)
class WeightedSum(Aggregator):
    """The weighted sum of all uploads (the default)."""

    hidden: ClassVar[str | None] = None


@aggregator_registry.add("norm-bound")
@dataclass(frozen=True)
class NormBound(Aggregator):
    """No client changes the model by more than a norm: longer changes are scaled down; `norm-bound:1`."""

    norm: float = 1.0

    def __post_init__(self) -> None:
        check_norm(self.norm)

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        check_changes("norm-bound", message, reply.upload)

    def receive(self, upload: Upload, start: Message) -> Received:
        clipped, factor = clip_change(upload, start, self.norm)
        return Received(clipped, None, {"clipped": (factor < 1).astype(jnp.float32)})


def receive_reply(
    aggregator: Aggregator, reply: Reply, message: Message, good: jax.Array | None = None
) -> Received:
    """What the server takes in of a reply; the upload is zeros if it is not `good`, by default if it is not
    finite. The report says whether it was `accepted`."""
    if good is None:
        good = pytrees.all_finite((reply.upload, reply.weight))
    upload = pytrees.where(good, reply.upload, pytrees.zeros_like(reply.upload))
    received = aggregator.receive(upload, message)
    taken = upload if received.upload is upload else pytrees.where(good, received.upload, upload)
    factors = [jnp.where(good, f, 1.0) for f in (reply.weight, received.factor) if f is not None]
    report = {"accepted": good.astype(jnp.float32), **reply.report, **received.report}
    return Received(taken, math.prod(factors) if factors else None, report)


def clip_change(upload: Upload, start: Message, norm: float) -> tuple[Upload, jax.Array]:
    """The upload with its change from the start scaled down to at most that norm, and the factor."""
    change = pytrees.subtract(upload, start)
    length = jnp.sqrt(pytrees.squared_norm(change))
    factor = jnp.minimum(1.0, norm / jnp.maximum(length, 1e-30))
    return pytrees.where(factor < 1, pytrees.add_scaled(start, factor, change), upload), factor


def check_norm(norm: float) -> None:
    """Raise where a bound on changes is none."""
    if not 0 < norm < float("inf"):
        raise ConfigError(f"the largest norm of a change must be above 0, but is {norm:g}.")


def check_changes(what: str, message: Message, upload: Upload) -> None:
    """Raise where a change from the message to the upload cannot be computed."""
    if shapes(message) != shapes(upload):
        raise ConfigError(
            f"{what} bounds how an upload differs from the message, but this algorithm's uploads have other "
            "shapes than its messages; choose one such as fedavg or fedprox."
        )
