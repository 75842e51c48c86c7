"""Behaviors: what clients do that are not honest, for tests of servers. Off unless asked for."""

from .base import Behavior, Situation, behavior_registry
from .dishonest_clients import DishonestClients, misbehave
from .rehearsal import Rehearsal

__all__ = ["Behavior", "DishonestClients", "Rehearsal", "Situation", "behavior_registry", "misbehave"]
