"""`unalike certs`: the certificates and keys of a deployment."""

from __future__ import annotations

from pathlib import Path

import typer

from ...errors import ConfigError
from ..log_lines import say

CERTS = Path("certs")


def certs(
    nodes: str | None = typer.Option(None, help="Names of nodes to make keys for, such as ann,bob,cyd."),
    hosts: str | None = typer.Option(
        None, help="Names or IP addresses under which nodes reach the server.", show_default="localhost"
    ),
    out: Path = typer.Option(CERTS, help="Folder to make them in."),
    server: bool = typer.Option(True, help="Make the server's certificate; not on a node's own machine."),
    replace: bool = typer.Option(False, "--replace", help="Replace what is there."),
) -> None:
    """Create the certificates and keys of a deployment.

    To try it out on one machine: unalike certs --nodes ann,bob. Between organizations the server makes its
    own (unalike certs --hosts fl.example.org), every node makes its key where it will be used (unalike certs
    --nodes ann --no-server) and sends the .pub file, and gets ca.pem.
    """
    from ...deploy import check_flower, make_authority, make_node_key

    check_flower()
    names = _words(nodes)
    if not server and not names:
        raise ConfigError("say for which nodes to make keys, such as --nodes ann.")
    known = (out / "ca.pem").exists() and not replace and hosts is None
    if server and not (known and names):
        made = make_authority(out, _words(hosts) or ["localhost"], replace=replace)
        say(f"{made.parent}: the server's certificate; give ca.pem to every node.")
    for name in names:
        private, public = make_node_key(out, name, replace)
        say(f"{private} stays with node {name}; the server needs {public.name}.")


def _words(listed: str | None) -> list[str]:
    return [word.strip() for word in (listed or "").split(",") if word.strip()]
