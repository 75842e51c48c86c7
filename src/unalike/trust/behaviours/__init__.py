"""Behaviours: what clients do that are not honest, for tests of servers. Off unless asked for."""

from . import free_rider as _free_rider  # noqa: F401 - behaviours register themselves
from . import inner_product as _inner_product  # noqa: F401
from . import label_flip as _label_flip  # noqa: F401
from . import little_is_enough as _little_is_enough  # noqa: F401
from . import random_upload as _random_upload  # noqa: F401
from . import scaled as _scaled  # noqa: F401
from . import sign_flip as _sign_flip  # noqa: F401
from .base import Behaviour, Situation, behaviour_registry
from .dishonest_clients import DishonestClients, misbehave
from .rehearsal import Rehearsal

__all__ = ["Behaviour", "DishonestClients", "Rehearsal", "Situation", "behaviour_registry", "misbehave"]
