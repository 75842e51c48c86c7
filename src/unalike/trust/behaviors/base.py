"""The behavior interface: simulated misconduct of clients, to test servers.

A behavior changes what some clients do, at one of three places, and nothing else:

    change_data(federation, who)         before training:      their rows, or how many they claim to have
    change_upload(message, upload, ...)  on a client alone:    what it sends in place of what it should
    change_uploads(changes, ...)         all of them together: lies that need to know what the honest send

The defaults are honest. A behavior is a frozen dataclass of pure JAX functions, so it runs in every engine
and with every algorithm; whoever is not dishonest is left as it is. Nothing here is on unless it is asked
for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax

from ...algorithms import ClientData
from ...core.registry import Registry
from ...data import Federation
from ...typing import ClientIds, Memory, Message, Upload

behavior_registry: Registry[Behavior] = Registry("behavior", "behaviors")


class Situation(NamedTuple):
    """What a dishonest client knows when it makes up its upload."""

    message: Message
    """What it was sent."""
    memory: Memory
    """What it kept of earlier rounds, beside what its algorithm remembers."""
    round: jax.Array
    """0 for the first."""
    key: jax.Array


@dataclass(frozen=True)
class Behavior:
    """What dishonest clients do; subclasses override where they are not honest."""

    replaces_changes: ClassVar[bool] = False
    """Whether it changes uploads, which then must have the shapes of messages."""
    colludes: ClassVar[bool] = False
    """Whether `change_uploads` is to be asked, with all uploads of a step."""

    def change_data(self, federation: Federation, who: ClientIds) -> Federation:
        """The federation as these clients pretend that it is."""
        return federation

    def change_work(self, data: ClientData) -> ClientData:
        """The rows and mini-batches on which a dishonest client trains."""
        return data

    def first_memory(self, message: Message) -> Memory:
        """What a dishonest client remembers when it is first sent a message."""
        return Memory({})

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        """What a dishonest client sends in place of an upload, and what it remembers."""
        return upload, now.memory

    def change_uploads(self, changes: Upload, honest: jax.Array, lying: jax.Array) -> Upload:
        """The changes that dishonest clients agree upon, in place of all changes of a step (leading axis);
        `honest` and `lying` are 1 for uploads of each kind, and both 0 for rejected ones."""
        return changes
