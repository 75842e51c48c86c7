"""Attack behaviors of dishonest clients, for tests of servers. Off by default."""

from .base import Behavior, Situation, behavior_registry
from .dishonest_clients import DishonestClients, misbehave
from .simulated_attack import SimulatedAttack

__all__ = ["Behavior", "DishonestClients", "SimulatedAttack", "Situation", "behavior_registry", "misbehave"]
