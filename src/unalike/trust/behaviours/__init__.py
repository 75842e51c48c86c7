"""Behaviours: what clients do that are not honest, for tests of servers. Off unless asked for."""

from .base import Behaviour, Situation, behaviour_registry
from .dishonest_clients import DishonestClients, misbehave
from .rehearsal import Rehearsal

__all__ = ["Behaviour", "DishonestClients", "Rehearsal", "Situation", "behaviour_registry", "misbehave"]
