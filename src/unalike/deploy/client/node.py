"""A node: what runs on a client's machine, from connecting to shutdown.

Two processes: Flower's SuperNode, which talks to the link and needs no open port, and this one, which holds
the data and computes. Messages pass between the two over a loopback port that is protected by a secret. If
the SuperNode ends, it is started again; while the link is away, the SuperNode waits; and only `stop` ends the
node.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ..transport.certificates import check_private_key
from ..transport.flower import check_flower, free_port, split_address
from ..transport.messages import DEFAULT_LIMIT, WireMessage, pack, unpack
from ..transport.probe import explain_silence
from ..transport.processes import Child, new_secret, private_folder

if TYPE_CHECKING:
    from flwr.app import Context, Message

    from .executor import App, Executor

Log = Callable[[str], None]
_OFTEN, _SELDOM = 0.05, 2.0
_LONGEST_PAUSE = 60.0
_NUMBER = re.compile(r"SuperNode ID: (\d+)")
_GIVEN_UP = "SSL/TLS handshake error detected"
_SILENT = "Connection attempt failed"
_NEWS = {
    "Connection successful after": "the link answers again.",
    "Failed to send message": "an answer could not be sent.",
}


@dataclass(frozen=True)
class _Place:
    """Where a node lives and whom it talks to."""

    link: str
    root: Path | None
    key: Path | None
    folder: Path
    pull_every: float


def message_app(answer: Callable[[WireMessage, Context], WireMessage], limit: int = DEFAULT_LIMIT) -> App:
    """An app from a function that answers a message with a message."""
    check_flower()
    from flwr.app import Message

    def app(message: Message, context: Context) -> Message:
        return Message(pack(answer(unpack(message.content, limit), context)), reply_to=message)

    return app


def serve_node(
    app: App,
    link: str,
    root_certificate: str | Path | None,
    key: str | Path | None,
    folder: str | Path,
    stop: threading.Event,
    log: Log = print,
    *,
    limit: int = DEFAULT_LIMIT,
    pull_every: float = 1.0,
    pause: float = 5.0,
) -> None:
    """Take part until `stop` is set: answer every message of the link with `app(message, context)`.

    `app` is Flower's `ClientApp` or any such function (see `message_app`); it runs in this process, one
    message at a time. Without a root certificate the connection is plain HTTP; a key needs one. The folder
    keeps the SuperNode's log. The link is asked for messages at least every `pull_every` seconds, and more
    often while messages come. A SuperNode that ended is started again after `pause` seconds, and after twice
    as many each time that it does not reach the link at all, up to a minute.
    """
    check_flower()
    place = _place(link, root_certificate, key, Path(folder), pull_every)
    wait = pause
    while not stop.is_set():
        connected = _attend(place, app, stop, log, limit)
        wait = pause if connected else min(2 * wait, max(pause, _LONGEST_PAUSE))
        stop.wait(wait)


def _place(
    link: str, root: str | Path | None, key: str | Path | None, folder: Path, pull_every: float
) -> _Place:
    split_address(link)
    if not 0.05 <= pull_every <= 60:
        raise ConfigError(f"a node cannot pull every {pull_every} seconds; choose from 0.05 to 60.")
    if key is not None and root is None:
        raise ConfigError("a node with a key needs the link's certificate (ca.pem) too.")
    if root is not None and not Path(root).is_file():
        raise ConfigError(f"there is no certificate {root}; get ca.pem from the owner of the link.")
    private = None if key is None else check_private_key(key).resolve()
    trusted = None if root is None else Path(root).resolve()
    return _Place(link, trusted, private, private_folder(folder.resolve()), pull_every)


def _attend(place: _Place, app: App, stop: threading.Event, log: Log, limit: int) -> bool:
    """Start a SuperNode, do its tasks until it ends or `stop` is set; returns whether it reached the link."""
    from ..transport.wire import Endpoint
    from .executor import Executor

    _leave(place)
    before = _last_connected(place)
    port, secret = free_port(), new_secret(place.folder / "secret")
    child = Child(_arguments(place, port), place.folder, "supernode.log")
    executor = Executor(Endpoint(f"127.0.0.1:{port}", None, secret), app, log, limit, stop)
    try:
        _work(place, child, executor, stop, log)
    finally:
        executor.close()
        child.stop(patience=1.0)
    return _last_connected(place) != before


def _work(place: _Place, child: Child, executor: Executor, stop: threading.Event, log: Log) -> None:
    """Ask for tasks when the SuperNode says that a message came, and now and then in any case."""
    import httpx

    listener, next_look = _Listener(place, child, log), 0.0
    while not stop.is_set():
        expected = listener.listen()
        if listener.broken:
            return listener.explain()
        if not child.alive():
            return log(f"the SuperNode ended and will be started again: {child.last_words()}")
        if expected or time.monotonic() > next_look:
            try:
                next_look = 0.0 if executor.work() else time.monotonic() + _SELDOM
            except httpx.ConnectError:
                pass  # it is starting, or has just ended
            except Exception as error:
                return log(f"the SuperNode must be started again ({type(error).__name__}: {error}).")
        stop.wait(_OFTEN)
    return None


class _Listener:
    """Tells what a SuperNode says about its connection, and nothing twice in a row."""

    def __init__(self, place: _Place, child: Child, log: Log) -> None:
        self._place, self._child, self._log = place, child, log
        self._last = ""
        self.broken = False
        """Whether the SuperNode has given up without ending, as it does when TLS is cut off half-way."""

    def listen(self) -> bool:
        """Read what the SuperNode printed; returns whether it says that a message came."""
        lines = self._child.news.lines()
        self.broken = self.broken or any(_GIVEN_UP in line for line in lines)
        if any(_SILENT in line for line in lines):
            self.explain()
        for line in lines:
            if found := _NUMBER.search(line):
                (self._place.folder / "number").write_text(found[1])
                self._tell(f"connected to {self._place.link}.")
            for words, meaning in _NEWS.items():
                if words in line:
                    self._tell(meaning)
        return any("Received successfully" in line for line in lines)

    def explain(self) -> None:
        """Tell why there is no connection; it is tried again in any case."""
        self._tell(f"{explain_silence(self._place.link, self._place.root)} Trying again.")

    def _tell(self, words: str) -> None:
        if words != self._last:
            self._log(words)
        self._last = words


def _arguments(place: _Place, port: int) -> list[str]:
    secret = ["--superexec-auth-secret-file", str(place.folder / "secret")]
    trust = ["--insecure"] if place.root is None else ["--root-certificates", str(place.root)]
    identity = [] if place.key is None else ["--auth-supernode-private-key", str(place.key)]
    own = ["--isolation", "process", "--host", "127.0.0.1", "--port", str(port)]
    return ["supernode", str(place.pull_every), "--superlink", place.link, *own, *secret, *trust, *identity]


def _leave(place: _Place) -> None:
    """Sign off a SuperNode that was killed: the link still counts it, and would refuse its successor."""
    file = place.folder / "number"
    if place.key is None or place.root is None or not file.exists():
        return
    from ..transport.wire import sign_off

    number = file.read_text().strip()
    if number.isdecimal():
        sign_off(place.link, place.root, place.key, int(number))


def _last_connected(place: _Place) -> int:
    """When the link last gave the node its number."""
    file = place.folder / "number"
    return file.stat().st_mtime_ns if file.exists() else 0
