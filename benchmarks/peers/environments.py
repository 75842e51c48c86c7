"""How each peer is installed: one virtual environment per peer, made once, by package names only.

PyTorch is installed first and alone, so that no later requirement can swap it for another build; the pins go
to pip again as constraints for everything that follows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TORCH = "torch==2.13.0"
TORCHVISION = "torchvision==0.28.0"
MARKER = "installed.json"


@dataclass(frozen=True)
class Peer:
    """One framework: the pip commands that install it, in order, and the package that carries its version."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    package: str
    constraints: tuple[str, ...] = ()


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("torch", ((TORCH, "numpy"),), "torch"),
        Peer("pfl", ((TORCH,), ("pfl",)), "pfl", (TORCH,)),
        Peer("fedjax", (("fedjax",),), "fedjax"),
        Peer("fedlab", ((TORCH,), ("fedlab",)), "fedlab", (TORCH, TORCHVISION)),
        Peer("flower", ((TORCH,), ("flwr[simulation]",)), "flwr", (TORCH,)),
    )
}


class InstallError(RuntimeError):
    """A peer could not be installed; the message is the last line pip wrote."""


def python_of(root: Path, name: str) -> Path:
    """The interpreter of a peer's environment."""
    inside = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return root.joinpath(name, *inside)


def last_line(text: str) -> str:
    """The last line that says something, which in a traceback or a pip log is the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def is_installed(root: Path, peer: Peer) -> bool:
    """Whether the marker is there and was written for the same installation steps."""
    marker = root / peer.name / MARKER
    if not marker.exists():
        return False
    return json.loads(marker.read_text()).get("steps") == recipe(peer)


def recipe(peer: Peer) -> list[list[str]]:
    """The installation steps as they are kept in the marker."""
    return [list(step) for step in peer.steps] + [list(peer.constraints)]


def ensure(root: Path, peer: Peer) -> Path:
    """Make the peer's environment unless it exists, and return its interpreter."""
    python = python_of(root, peer.name)
    if is_installed(root, peer):
        return python
    home = root / peer.name
    print(f"installing {peer.name} ...", file=sys.stderr, flush=True)
    log = home / "install.log"
    check([sys.executable, "-m", "venv", "--clear", str(home)], log)
    constraints = home / "constraints.txt"
    constraints.write_text("".join(f"{line}\n" for line in peer.constraints))
    for step in peer.steps:
        check([str(python), "-m", "pip", "install", "--no-input", "-c", str(constraints), *step], log)
    (home / MARKER).write_text(json.dumps({"steps": recipe(peer), "versions": versions(python)}, indent=1))
    return python


def check(command: list[str], log: Path) -> None:
    """Run one installation command, append what it says to the log, and raise on failure."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(done.stdout + done.stderr)
    if done.returncode:
        raise InstallError(last_line(done.stderr or done.stdout))


def versions(python: Path) -> dict[str, str]:
    """Every package of an environment and its version."""
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {entry["name"]: entry["version"] for entry in json.loads(listed.stdout)}


def installed_version(root: Path, peer: Peer) -> str:
    """The version of the peer's own package, from the marker."""
    marker = json.loads((root / peer.name / MARKER).read_text())
    return marker["versions"].get(peer.package, "unknown")
