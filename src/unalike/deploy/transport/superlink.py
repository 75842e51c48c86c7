"""The SuperLink: opening the server to allowed nodes of other organizations.

A link is Flower's SuperLink in a process of its own, behind a gate (`access_control.py`), with TLS, a list of
allowed keys and a database in a folder. It lives as long as this process. A link on the folder of one that
was killed takes over: nodes reconnect by themselves, and runs that nobody finished are stopped.
"""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...errors import ConfigError, RunError
from ...runs.lock import lock_folder
from .access_control import CLOSED, GUESTS, HEADER, REFUSALS, SECRET, write_allow_list
from .certificates import AllowedNode, check_dates
from .flower import SUPPORTED, check_flower, own_address, split_address
from .processes import Child, LogFollower, new_secret, private_folder

if TYPE_CHECKING:
    from .grid import MessageGrid
    from .wire import Endpoint

LARGEST_REQUEST = 2**26
_PATIENCE = 30.0


class SuperLink:
    """The meeting point of a federation: Flower's SuperLink, at `address` ("host:port").

    `certificates` is the folder of `make_authority`, or None for plain HTTP. `allowed` are the nodes that may
    come (see `read_allowed`), or None for everybody. `folder` keeps the database and the logs.
    """

    def __init__(
        self,
        address: str,
        certificates: str | Path | None,
        allowed: Sequence[AllowedNode] | None,
        folder: str | Path,
        *,
        largest_request: int = LARGEST_REQUEST,
    ) -> None:
        self.address = address
        self._host, self._port = split_address(address)
        self._certificates = None if certificates is None else _check_certificates(Path(certificates))
        if allowed is not None and certificates is None:
            raise ConfigError("a list of allowed nodes needs certificates; make them with make_authority.")
        self._allowed = allowed
        self._folder = Path(folder).resolve()
        self._largest = largest_request
        self._names: dict[int, str] = {}
        self._child: Child | None = None
        self._posts: list[MessageGrid] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Start, and wait until the link answers and knows its nodes."""
        check_flower()
        private_folder(self._folder)
        self._open.enter_context(lock_folder(self._folder))
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the link."""
        self.close()

    def close(self) -> None:
        """End the open runs and the process."""
        for post in self._posts:
            post.finish(False, "the link was closed")
        self._posts.clear()
        if self._child is not None:
            self._child.stop(patience=2.0)  # it would wait for nodes that are silent; its database is safe
            self._child = None
        self._open.close()

    def alive(self) -> bool:
        """Whether the SuperLink is running."""
        return self._child is not None and self._child.alive()

    def allow(self, nodes: Sequence[AllowedNode]) -> None:
        """Change who may come, at once: nodes that are no longer on the list are shut out."""
        from .control import register

        if self._allowed is None:
            raise ConfigError("this link is open to everybody; give it a list of allowed nodes at its start.")
        with closing(self._endpoint.control()) as client:
            self._names = register(client, nodes)
        self._invite(nodes)
        self._allowed = nodes

    def open(self) -> MessageGrid:
        """Start a run of Flower's and take the server's place in it; returns what sends and collects."""
        from .control import start_run
        from .grid import MessageGrid

        with closing(self._endpoint.control()) as client:
            run = start_run(client)
        post = MessageGrid(self._endpoint, run, None if self._allowed is None else lambda: self._names)
        self._posts.append(post)
        return post

    def refusals(self) -> list[str]:
        """One readable line for each visitor that was refused since the last look."""
        return self._visitors.lines()

    def _start(self) -> None:
        from .control import stop_runs

        self._invite(self._allowed)
        (self._folder / CLOSED).touch()
        self._launch()
        if self._allowed is not None:
            self.allow(self._allowed)
        (self._folder / CLOSED).unlink()
        with closing(self._endpoint.control()) as client:
            stop_runs(client)

    def _invite(self, nodes: Sequence[AllowedNode] | None) -> None:
        write_allow_list(
            self._folder / GUESTS, None if nodes is None else [node.public_key for node in nodes]
        )

    def _launch(self) -> None:
        from .wire import Endpoint

        _wait_for_port(self._host, self._port)
        secret = new_secret(self._folder / SECRET)
        root = None if self._certificates is None else (self._certificates / "ca.pem").read_bytes()
        self._endpoint: Endpoint = Endpoint(own_address(self.address), root, secret)
        self._visitors = LogFollower(self._folder / REFUSALS)
        self._child = Child(self._arguments(), self._folder, "superlink.log")
        self._wait_until_it_answers()

    def _arguments(self) -> list[str]:
        gate = [str(self._folder), str(self._largest), SUPPORTED]
        place = ["--host", self._host, "--port", str(self._port), "--database", str(self._folder / "link.db")]
        task = ["--isolation", "process", "--superexec-auth-secret-file", str(self._folder / SECRET)]
        own = ["--disable-runtime-dependency-installation"]
        allow_list = [] if self._allowed is None else ["--enable-supernode-auth"]
        return ["superlink", *gate, *place, *task, *own, *allow_list, *self._trust()]

    def _trust(self) -> list[str]:
        if self._certificates is None:
            return ["--insecure"]
        files = {"--ssl-ca-certfile": "ca.pem", "--ssl-certfile": "server.pem", "--ssl-keyfile": "server.key"}
        return [word for option, name in files.items() for word in (option, str(self._certificates / name))]

    def _wait_until_it_answers(self) -> None:
        import httpx

        root = self._endpoint.root
        verify = ssl.create_default_context(cadata=root.decode()) if root else True
        url = f"{'https' if root else 'http'}://{self._endpoint.address}/health"
        deadline = time.monotonic() + _PATIENCE
        with httpx.Client(verify=verify, headers={HEADER: self._endpoint.secret.decode()}) as client:
            while time.monotonic() < deadline:
                if not self.alive():
                    raise RunError(f"the link at {self.address} did not start: {self._last_words()}")
                try:
                    if client.get(url).status_code == 200:
                        return
                except httpx.TransportError:
                    time.sleep(0.1)
        raise RunError(
            f"the link at {self.address} does not answer; its log is {self._folder / 'superlink.log'}."
        )

    def _last_words(self) -> str:
        return self._child.last_words() if self._child else ""


def _check_certificates(folder: Path) -> Path:
    for name in ("ca.pem", "server.pem", "server.key"):
        if not (folder / name).is_file():
            raise ConfigError(f"folder {folder} has no {name}; make certificates with make_authority.")
    for name in ("ca.pem", "server.pem"):
        check_dates(folder / name)
    return folder.resolve()


def _wait_for_port(host: str, port: int, patience: float = 10.0) -> None:
    """The SuperLink of an owner who was killed ends by itself, but a moment later than its owner."""
    deadline = time.monotonic() + patience
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        with socket.socket(family) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                return listener.bind((host, port))
            except socket.gaierror as error:
                raise ConfigError(f"{host!r} is not a name or an address of this machine.") from error
            except OSError as error:
                if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                    reason = f"{host}:{port} ({error.strerror})"
                    raise ConfigError(f"cannot listen at {reason}; choose another address.") from error
        time.sleep(0.1)
