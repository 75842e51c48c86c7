"""Simulated attacks between real processes: a node that misbehaves, to test its server.

A node that simulates an attack behaves as a dishonest client of a simulation does, on its own and with its
own rows: the server cannot tell, and is not told. It claims as many rows as it has. Nobody but the one who
starts the node can ask for it.
"""

from __future__ import annotations

import numpy as np

from ...data import Federation
from ...errors import ConfigError
from ...trust.behaviors import Behavior


def attack_alone(behavior: Behavior, federation: Federation) -> Federation:
    """The rows of the one client of a node as its behavior changes them; raises for what one client cannot
    do alone."""
    if behavior.colludes:
        raise ConfigError(
            f"{type(behavior).__name__} needs to know what other clients send, which a node does not; "
            "choose a behavior of one client, such as free-rider:decay or sign-flip."
        )
    return behavior.change_data(federation, np.array([0]))
