"""Behaviors: what clients do that are not honest, for tests of servers. Off unless asked for."""

from .base import Behavior, Situation, behavior_registry
from .dishonest_clients import DishonestClients, misbehave
from .simulated_attack import SimulatedAttack

__all__ = ["Behavior", "DishonestClients", "SimulatedAttack", "Situation", "behavior_registry", "misbehave"]
