"""Listening for nodes: address, certificates and access control of `unalike serve`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError

if TYPE_CHECKING:
    from ...deploy import AllowedNode, SuperLink

ADDRESS = "127.0.0.1:9092"


@dataclass(frozen=True)
class Listening:
    """An address, with certificates and the nodes that may come; without both, everybody may."""

    address: str
    certificates: Path | None
    allowed: Sequence[AllowedNode] | None

    @classmethod
    def of(cls, address: str, certificates: Path, allow: Path | None, insecure: bool) -> Listening:
        """What the options of a server say."""
        from ...deploy import read_allowed

        return (
            cls(address, None, None)
            if insecure
            else cls(address, certificates, read_allowed(allow or certificates))
        )

    def count(self, asked: int | None) -> int:
        """How many nodes to wait for: as many as one asks for, or everyone who is allowed."""
        clients = asked or len(self.allowed or ())
        if not clients:
            raise ConfigError("say how many nodes to wait for, such as --clients 2.")
        if self.allowed is not None and clients > len(self.allowed):
            raise ConfigError(
                f"{clients} clients cannot come, for only {len(self.allowed)} nodes are allowed."
            )
        return clients

    @contextmanager
    def open(self, log: Callable[[str], None]) -> Iterator[SuperLink]:
        """The link, whose database is kept beside the certificates; without these it is not kept."""
        from ...deploy import SuperLink

        with tempfile.TemporaryDirectory() as passing:
            state = self.certificates or Path(passing)
            with SuperLink(self.address, self.certificates, self.allowed, state / "link") as link:
                unsafe = " without encryption" if self.certificates is None else ""
                log(f"listening on {self.address}{unsafe} for `unalike join`.")
                yield link


def say_refusals(link: SuperLink, log: Callable[[str], None]) -> list[str]:
    """Nodes that were turned away since one last asked, each said in a line."""
    lines = link.refusals()
    for line in lines:
        log(line.partition(" ")[2])  # without its own time
    return lines
