"""The timing interface: steps, model versions, staleness.

A timing turns cohorts into :class:`Step` objects: which clients report, which version of the model each
started from, what their uploads weigh, and the simulated clock. Version v is the server's state after v
steps; a synchronous step number r starts from version r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ..core.registry import Registry
from ..participation import Cohort
from ..typing import Array, Bools, ClientIds, Float64s, Int64s, Keywords

if TYPE_CHECKING:
    from .clock.jobs import Jobs

Draw = Callable[[int], Cohort]
"""The cohort of a round; a draw with a true attribute `everyone` always names all clients."""
NONE: Int64s = np.zeros(0, np.int64)


class Step(NamedTuple):
    """One aggregation: some clients' results, each from some version of the model, mixed by weights."""

    number: int
    clients: ClientIds
    versions: Int64s
    weights: Float64s
    """One weight per client, or a mixing matrix (receivers x clients)."""
    time: float = 0.0
    done_with: Int64s = NONE
    """Versions that no later step starts from."""
    jobs: Int64s | None = None
    """Which job of its client each result is (0 is the first), which decides its batches; the step's number,
    when not given."""
    started: Float64s | None = None
    """When each client began, and when its result was ready; where the timing knows."""
    finished: Float64s | None = None
    lost: Int64s = NONE
    """Clients whose work was lost or given up since the last step."""
    messages: float | None = None
    """How many models were sent; one down and one up for each client, when not given."""

    def arrays(self) -> dict[str, Array]:
        """The step as arrays, for a checkpoint."""
        return {name: np.asarray(value) for name, value in self._asdict().items() if value is not None}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Step:
        """The inverse of :meth:`arrays`."""
        plain: Keywords = {"number": int(arrays["number"]), "time": float(arrays["time"])}
        if "messages" in arrays:
            plain["messages"] = float(arrays["messages"])
        return cls(**{**arrays, **plain})

    def only(self, kept: Bools, factors: Float64s | None = None) -> Step:
        """The same step with some of its clients, whose weights may be multiplied."""
        weights = self.weights if factors is None else self.weights * factors
        given = {"jobs": self.jobs, "started": self.started, "finished": self.finished}
        some: Keywords = {name: values[kept] for name, values in given.items() if values is not None}
        return self._replace(
            clients=self.clients[kept], versions=self.versions[kept], weights=weights[kept], **some
        )

    @property
    def fresh(self) -> bool:
        """Whether everyone started from the newest model."""
        return bool((self.versions == self.number).all())


class Clients(NamedTuple):
    """What a timing is told of the clients before a run."""

    importance: Float64s
    seed: int = 0
    bytes_down: int = 0
    bytes_up: int = 0
    jobs: Jobs | None = None
    """The jobs of real clients; simulated on the timing's hardware when not given."""


class Traits(NamedTuple):
    """What is known of a timing's steps before a run."""

    always_fresh: bool = False
    """Every step starts from the newest model, so that nothing is known before the step before it is done."""
    mixes_by_matrix: bool = False
    """The weights of steps are matrices: there is no server, and receivers mix for themselves."""
    by_cohort: bool = True
    """A step's clients are those of a drawn cohort, with its weights."""
    has_clock: bool = True
    """Steps take different times, so that other things happen by the clock, not by their number."""
    takes_all: bool = False
    """Every result that is not lost is taken in some step, so that clients work without end."""
    changes: bool = False
    """The server waits in another way, with other weights, as training goes on."""


class Timing:
    """Turns cohorts into steps."""

    traits: ClassVar[Traits] = Traits()
    """What other parts must know of its steps."""

    def begin(self, clients: Clients) -> None:
        """Get ready for a run, and forget earlier ones."""

    def steps(self, draw: Draw, first: int) -> Iterator[Step]:
        """Steps number `first`, `first + 1`, ... without end; a schedule is replayed up to `first`, not
        trained, unless its state was restored."""
        raise NotImplementedError

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run sees the same steps, beside their number."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


timing_registry: Registry[Timing] = Registry("timing", "timings")
