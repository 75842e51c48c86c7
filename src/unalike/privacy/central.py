"""Central differential privacy: clipping and noise at the server.

    change_i  ->  change_i * min(1, C / |change_i|)                   every client's change is clipped
    sum_i w_i change_i  +  Gaussian noise of deviation z C max_i w_i   the server uses this sum

McMahan, Ramage, Talwar and Zhang, "Learning Differentially Private Recurrent Language Models", 2018. Without
one client the sum moves by at most C max_i w_i, so z is the noise multiplier whatever the weights are; with m
equal weights 1/m the deviation is z C / m. It is an aggregator, so simulations and deployments do the same.
In a simulation, which hides nothing, the noise follows from the seed like everything else; between real
clients it never does: whoever knows the seed could take it off again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import numpy as np

from ..aggregation.base import Aggregator, Received, aggregator_registry, check_changes
from ..aggregation.needs import AggregatorNeeds
from ..aggregation.norm_bound import clip_change
from ..aggregation.tally import Tally
from ..algorithms import Algorithm, Reply
from ..algorithms.shared.private_gradient import add_noise
from ..errors import ConfigError
from ..participation import Participation
from ..timing import Step
from ..typing import Array, Event, Float64s, Message, Report, Upload
from .accountant import Ledger, budget_message


@dataclass(frozen=True)
class CentralPrivacy(Aggregator):
    """Clip every client's change to the norm `clip` and add noise of `noise` times the largest share."""

    clip: float
    noise: float
    ledger: Ledger = field(compare=False)

    needs: ClassVar[AggregatorNeeds] = AggregatorNeeds(finish=True, observe=True)
    hidden: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        for name, value in (("clipping norm", self.clip), ("noise multiplier", self.noise)):
            if not 0 < value < np.inf:
                raise ConfigError(f"the {name} of central privacy must be above 0, but is {value:g}.")
        if not 0 < self.ledger.delta < 1:
            raise ConfigError(f"delta must lie between 0 and 1, but is {self.ledger.delta:g}.")

    @property
    def clip_at_client(self) -> float | None:
        """Where the server sees sums only, clients clip by themselves."""
        return self.clip

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        """Raise where more than a sum would be seen, or a change cannot be computed or bounded."""
        check_private("central privacy", method.name or type(method).__name__, method, who)
        check_changes("central privacy", message, reply.upload)
        if not all(np.issubdtype(leaf.dtype, np.floating) for leaf in jax.tree.leaves(reply.upload)):
            raise ConfigError("central privacy adds noise to real numbers, but uploads hold other ones.")
        if reply.weight is not None:
            raise ConfigError("central privacy bounds what clients weigh, but here they say it themselves.")

    def refusal(self, step: Step) -> str | None:
        """The budget, where the step would bring a client above it."""
        if not len(step.clients) or self.ledger.affords(step.clients, self._inverses(step)):
            return None
        return budget_message(self.ledger)

    def receive(self, upload: Upload, start: Message) -> Received:
        return Received(clip_change(upload, start, self.clip)[0])

    def finish(self, tally: Tally, heaviest: jax.Array, key: jax.Array) -> Tally:
        return tally._replace(total=add_noise(tally.total, self.deviation(heaviest), key))

    def deviation(self, heaviest: Any) -> Any:
        """The noise's standard deviation, where no client weighs more than that."""
        return self.noise * self.clip * heaviest

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        """Charge the step's clients for what was released of them."""
        inverses = self._inverses(step)
        if not np.any(report.get("accepted", 0)) or not inverses.any():
            return {}, []
        self.ledger.charge(step.clients, inverses)
        return {"epsilon": self.ledger.epsilon()}, []

    def _inverses(self, step: Step) -> Float64s:
        """One over the noise multiplier of each client: noise is that of the largest weight."""
        weights = np.abs(step.weights)
        return weights / (max(weights.max(initial=0.0), np.finfo(float).tiny) * self.noise)

    def state(self) -> dict[str, Array]:
        return {"charges": self.ledger.charges.copy(), "releases": np.array(self.ledger.releases)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """What was released after the checkpoint was released all the same, where the ledger knows of it."""
        self.ledger.charges = np.maximum(self.ledger.charges, state["charges"])
        self.ledger.releases = max(self.ledger.releases, int(state["releases"]))


@aggregator_registry.add("central-dp")
def central_dp(clip: float, noise: float, delta: float = 1e-5, *, clients: int) -> CentralPrivacy:
    """Clipped changes and Gaussian noise in their sum, with the privacy that is spent; `central-dp:1,0.8`."""
    return CentralPrivacy(clip, noise, Ledger(clients, delta))


def check_private(what: str, name: str, algorithm: Algorithm, participation: Participation) -> None:
    """Raise where something else than one weighted sum of uploads would be used."""
    if not algorithm.has_server:
        raise ConfigError(f"{what} needs a server, but {name} has none.")
    if algorithm.needs.uploads:
        raise ConfigError(f"{what} gives sums only, but {name} looks at every client's upload.")
    if algorithm.needs.importance_sum:
        raise ConfigError(f"{what} gives one weighted sum, but {name} needs a second one, by importance.")
    if participation.watches or participation.learns or participation.asks:
        kind = type(participation).__name__
        raise ConfigError(f"{what} hides what single clients do, but the sampling {kind} chooses by it.")


def central_privacy(
    words: str, clients: int, save: Callable[[str], None], budget: float | None = None
) -> CentralPrivacy:
    """From the words CLIP,NOISE or CLIP,NOISE,DELTA; nobody spends more than the budget, where there is one.

    >>> central_privacy("1,0.8", 3, print).ledger.delta
    1e-05
    """
    clip, noise, *delta = numbers(words, (2, 3), "CLIP,NOISE or CLIP,NOISE,DELTA, such as 1,0.8")
    return CentralPrivacy(clip, noise, Ledger(clients, delta[0] if delta else 1e-5, save, budget))


def numbers(words: str, counts: tuple[int, ...], form: str) -> list[float]:
    """Numbers between commas."""
    try:
        found = [float(word) for word in words.split(",")]
    except ValueError:
        found = []
    if len(found) not in counts or not np.isfinite(found).all():
        raise ConfigError(f"{words!r} is not of the form {form}.")
    return found
