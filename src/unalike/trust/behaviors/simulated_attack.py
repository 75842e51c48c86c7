"""Simulated attacks: a behavior, and the clients that show it.

attack = SimulatedAttack.of("free-rider:decay", "5", federation)
unalike.train(attack.federation(federation), task, attack.algorithm(FedAvg()),
              aggregator=attack.aggregator(WeightedSum()), rounds=50)
"""

from __future__ import annotations

from typing import NamedTuple

from ...aggregation.base import Aggregator
from ...algorithms import Algorithm
from ...data import Federation
from ...data.chosen_clients import choose_clients
from ...typing import ClientIds
from .base import Behavior, behavior_registry
from .colluding_clients import ColludingClients
from .dishonest_clients import misbehave


class SimulatedAttack(NamedTuple):
    """A behavior, and the numbers of the clients that show it."""

    behavior: Behavior
    who: ClientIds

    @classmethod
    def of(cls, behavior: str | Behavior, dishonest: str, federation: Federation) -> SimulatedAttack:
        """From the words that a person types."""
        made = behavior if isinstance(behavior, Behavior) else behavior_registry.make(behavior)
        return cls(made, choose_clients(dishonest, federation, "dishonest"))

    def federation(self, federation: Federation) -> Federation:
        """The clients as they pretend to be."""
        return self.behavior.change_data(federation, self.who) if len(self.who) else federation

    def algorithm(self, algorithm: Algorithm) -> Algorithm:
        """The method, with clients that are not honest in it."""
        return misbehave(algorithm, self.behavior, self.who) if len(self.who) else algorithm

    def aggregator(self, aggregator: Aggregator) -> Aggregator:
        """The server's rule, with lies that clients agreed upon in its way."""
        if not self.behavior.colludes or not len(self.who):
            return aggregator
        return ColludingClients(aggregator, self.behavior, tuple(int(i) for i in self.who))
