"""What is a federated algorithm?

An :class:`Algorithm` is a frozen dataclass of hyper-parameters with a handful of pure functions. One round is

    message = broadcast(state)                                 what goes down
    reply   = client(message, memory, data, key)               on every client that takes part
    state   = aggregate(state, sum_i weight_i * upload_i)      mixing

`client` is ordinary JAX code. It never sees other clients, the engine, files or clocks, so the same object
runs in every engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from ..core.pytrees import nbytes, scale
from ..core.registry import Registry
from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Event, Int64s, Memory, Message, Params, Predictor, PyTree, State, Upload
from .needs import Needs
from .shared.client_data import ClientData
from .shared.messages import Messages

algorithm_registry: Registry[Algorithm] = Registry("algorithm", "algorithms")


class Reply(NamedTuple):
    """What one client hands back."""

    upload: Upload
    """Goes up; uploads are summed with the step's weights."""
    memory: Memory = Memory({})
    """Stays with the client until it takes part again."""
    report: Mapping[str, jax.Array] = {}
    """Numbers that are recorded for this client, such as its training loss."""
    weight: jax.Array | None = None
    """What multiplies the step's weight of this client; None for 1. So a method that lets some clients count
    more (by their loss, say) keeps what samplers and timings have corrected."""


class Aggregate(NamedTuple):
    """What the server receives: the weighted sum of uploads, already corrected for rejected ones."""

    total: PyTree
    """sum_i weight_i * upload_i; with a mixing matrix, one such sum per receiver (leading axis)."""
    start: Params | None
    """The same sum of the messages that the clients started from; None with a mixing matrix."""
    weight: jax.Array
    """sum_i weight_i; with a mixing matrix, what each receiver's accepted uploads weigh."""
    accepted: jax.Array
    """How many uploads were accepted."""
    share: jax.Array
    """The accepted clients' part of the federation: the sum of their importances (1 for everyone)."""
    round: jax.Array | int = 0
    importance_sum: PyTree | None = None
    """sum_i importance_i * upload_i over the accepted clients, for algorithms that need it."""
    uploads: Upload | None = None
    """All uploads (leading axis: the step's clients), for algorithms that need `uploads`; zeros for rejected
    ones."""
    clients: jax.Array | None = None
    """Whose uploads these are, for algorithms that need `uploads`."""
    weights: jax.Array | None = None
    """What each of them weighs, zero for rejected ones."""

    @property
    def plain_sum(self) -> PyTree:
        """sum_i upload_i over the accepted clients, where all weigh the same; with 64-bit floats, to 64 bits:
        every upload was multiplied by the same number, and so was the weight that it is divided by."""
        return scale(self.accepted / self.weight, self.total)


class PrivateRows(NamedTuple):
    """Rows of all clients that the same noise on gradients hides."""

    sizes: Int64s
    """How many rows every client has."""
    setting: str
    """The setting of the method that says how much noise there is."""
    noise: float | None
    """The noise's deviation over the clipping norm; chosen by a budget, or 1, when None."""


class UploadNoise(NamedTuple):
    """Noise that every client adds to its uploads by itself."""

    multiplier: float
    """The noise's deviation over the sensitivity."""
    delta: float
    """At which its epsilon was said."""


USUAL_NOISE = 1.0
"""The noise on gradients of rows where neither it nor a budget is given."""


@dataclass(frozen=True)
class LocalWork:
    """How much a client computes in a round: whole passes over its rows (`epochs`) or mini-batches (`steps`).

    Batches are consecutive pieces of shuffled passes; the last batch of a pass holds what is left, and a
    batch is never larger than the client. `batch_size=0` means all rows at once.
    """

    epochs: int | None = None
    steps: int | None = None
    batch_size: int = 16
    shuffle: bool = True

    def __post_init__(self) -> None:
        if self.epochs is not None and self.steps is not None:
            raise ConfigError("give either epochs or steps of local work, not both.")
        whole = {"epochs": self.epochs, "steps": self.steps, "batch_size": self.batch_size}
        for name, value in whole.items():
            if isinstance(value, bool) or not isinstance(value, int | np.integer | None):
                raise ConfigError(f"{name} must be a whole number, but is {value!r}.")
            if name != "batch_size" and value is not None and value < 0:
                raise ConfigError(f"{name} must not be negative, but is {value}.")
        if self.batch_size < 0:
            raise ConfigError(f"batch_size must be positive (or 0 for all rows), but is {self.batch_size}.")


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """The base of all algorithms; subclasses override what differs from plain averaging of a single model."""

    work: LocalWork = field(default_factory=LocalWork)

    name: ClassVar[str] = ""
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    """Values that are worth trying for the method's own settings, beside the learning rate."""
    usual_importance: ClassVar[str] = "data"
    """How much clients count where nobody says it: by their rows, or as the method was published."""
    personalized: ClassVar[bool] = False
    """Whether clients predict with something of their own, so that evaluation must visit each of them."""
    needs: ClassVar[Needs] = Needs()
    """What it needs of engines, timings, aggregators and deployments."""
    decentralized: ClassVar[bool] = False
    """Whether every client has a model of its own: `broadcast` then has a leading client axis, and step
    weights are a matrix."""

    converges: ClassVar[bool] = False
    """Whether the method says by `finished` that it has nothing left to do; it is then asked every round."""
    takes_state: ClassVar[bool] = False
    """Whether it trains models with state, such as running statistics: by `local_sgd` and plain averages."""

    @property
    def has_server(self) -> bool:
        """Whether there is one model for all, which a server mixes."""
        return not self.decentralized

    @property
    def rounds_per_step(self) -> int:
        """Rounds that one time step of a stream takes; all of them see the same rows."""
        return 1

    @property
    def dishonest(self) -> tuple[int, ...]:
        """Numbers of clients that misbehave in a simulated attack; a method itself knows of none."""
        return ()

    @property
    def equals_local_training(self) -> bool:
        """Whether a federation of one client is that client's local training (checked by the contract)."""
        return False

    @property
    def evaluation_work(self) -> LocalWork:
        """The mini-batches planned for `predictor`, for algorithms that still train before they predict."""
        return LocalWork(steps=0, batch_size=self.work.batch_size)

    def init(self, task: Task, key: jax.Array) -> State:
        """The server's state before the first round."""
        return State({"params": task.init(key)})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        """What a client remembers when it first hears from the server."""
        return Memory({})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        """Bytes that one client receives and sends in a round, where these are such a message and upload."""
        return nbytes(message), nbytes(upload)

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        """Events such as {"kind": "dead component", "component": 2}, from the memories of all clients that
        took part (leading axis) and their numbers of rows."""
        return []

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        """The memory that a client which has never taken part makes for itself before it predicts."""
        return self.init_client(task, message, key)

    def private_rows(self, sizes: Int64s) -> Mapping[str, PrivateRows]:
        """For clients of these sizes, the rows that noise on gradients hides, by the column of the record
        that says what they spent; empty for methods without such noise."""
        return {}

    @property
    def upload_noise(self) -> UploadNoise | None:
        """The noise that clients add to their uploads, so that it is counted; None where they add none."""
        return None

    def with_noise(self, **chosen: Any) -> Algorithm:
        """The method with noise on gradients that a privacy budget has chosen, by setting."""
        return replace(self, **chosen)

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        """The method made ready for these clients; a `ConfigError` where it cannot work with them."""
        return self

    def broadcast(self, task: Task, state: State) -> Message:
        """What goes down to a client."""
        return state["params"]

    def messages(self, task: Task, state: State) -> Messages:
        """What goes down to all clients: one message for everyone, or one for each."""
        message = self.broadcast(task, state)
        if not self.decentralized:
            return Messages(message)
        return Messages(message, np.arange(len(jax.tree.leaves(message)[0])))

    def own_message(self, message: Message, client: int | None) -> Message:
        """What of a message is meant for one client, in the same shapes: a method whose message has numbers
        of single clients blanks those of the others, and for None those of all."""
        return message

    def own_upload(self, upload: Upload, client: int) -> Upload:
        """What of an upload a client may say: a method whose uploads have places for all clients blanks those
        of the others, so that nobody speaks for somebody else."""
        return upload

    def models(self, message: Message) -> Params:
        """All clients' models (leading axis), from what they would be sent, where each has its own."""
        return message

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        """One client's work in one round."""
        raise NotImplementedError(f"{type(self).__name__} must implement client().")

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        """The server's state after the uploads are mixed."""
        raise NotImplementedError(f"{type(self).__name__} must implement aggregate().")

    def weigh_round(self, state: State, weight: float) -> State:
        """The state before a round of a stream whose rows weigh so much together; for methods that
        need `round_weights`."""
        return state

    def finished(self, task: Task, state: State) -> bool:
        """Whether nothing is left to do, so that training ends early; asked of methods that converge."""
        return False

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        """What a client predicts with; it may use the client's memory and training rows."""
        return message

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        """Predictions of a predictor for a batch of rows."""
        return task.apply(predictor, x)


def check_reply(algorithm: Algorithm, reply: Any) -> None:
    """Raise where a client hands back something else than a reply."""
    if not isinstance(reply, Reply):
        raise ConfigError(
            f"{type(algorithm).__name__}.client returns a {type(reply).__name__}; let it return "
            "Reply(upload, memory, report), such as Reply(params, memory, {'train_loss': loss})."
        )


def as_promised(algorithm: Algorithm, mixed: Aggregate) -> Aggregate:
    """What the server receives, without sums that the method has not asked for."""
    if algorithm.needs.importance_sum:
        return mixed
    limited = _WithoutImportance(*mixed)
    limited.method = type(algorithm).__name__
    return limited


class _WithoutImportance(Aggregate):
    """A mixture of a method that has not asked for the sum by importance."""

    method: str

    @property
    def importance_sum(self) -> PyTree:
        raise ConfigError(
            f"{self.method}.aggregate uses mixed.importance_sum, which is summed only on request; write "
            f"needs: ClassVar[Needs] = Needs(importance_sum=True) in {self.method}."
        )
