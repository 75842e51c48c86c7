"""Access control in front of the SuperLink: who is let through, and a log of who is not.

Flower serves everything at one port: what nodes need (`/v1/fleet/`), and what the server's owner needs, such
as registering nodes and starting runs, which it leaves open to everybody. The gate lets strangers reach only
the part for nodes; the rest needs a secret that is made anew for every start and that only the owner's
processes can read. Of nodes it asks for a supported version of Flower and for requests of a bearable size,
and it writes down, one line each, whom it or Flower refused.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

HEADER = "unalike-secret"
SECRET, REFUSALS, GUESTS, CLOSED = "secret", "refusals.log", "allowed", "closed"
_FLEET = "/v1/fleet/"
_QUIET_SECONDS = 30.0
_LARGEST_NOTEBOOK = 5_000_000
_UNTRUSTING = (
    "UNKNOWN_CA",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "CERTIFICATE_REVOKED",
    "ALERT_CERTIFICATE",
)


class AuditLog:
    """A file with one readable line per refusal; the same refusal is noted at most twice a minute."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[str, float] = {}

    def note(self, who: str, why: str) -> None:
        """Write down that somebody was refused."""
        line, now = f"refused {who}: {why}", time.monotonic()
        self._seen = {text: then for text, then in self._seen.items() if now - then < _QUIET_SECONDS}
        if line in self._seen or (self._path.exists() and self._path.stat().st_size > _LARGEST_NOTEBOOK):
            return
        self._seen[line] = now
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")


class AllowList:
    """The keys that may come: their digests in a file that may change at any time; no file: everybody."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = 0
        self._keys: frozenset[str] | None = None

    def holds(self, key: bytes | None) -> bool:
        """Whether somebody with this key may come."""
        changed = self._path.stat().st_mtime_ns if self._path.exists() else 0
        if changed != self._changed:
            self._keys = frozenset(self._path.read_text().split()) if changed else None
            self._changed = changed
        return self._keys is None or (key is not None and hashlib.sha256(key).hexdigest() in self._keys)


def write_allow_list(path: Path, keys: Iterable[bytes] | None) -> None:
    """Replace the list of allowed keys, in one step; None lets everybody in."""
    if keys is None:
        path.unlink(missing_ok=True)
        return
    temporary = path.with_suffix(".new")
    temporary.write_text("".join(f"{hashlib.sha256(key).hexdigest()}\n" for key in keys))
    temporary.replace(path)


class AdmissionGate:
    """Nodes are asked to come back a moment later while a file is there: Flower ends a node that comes before
    it knows the node's key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = False

    def closed(self) -> bool:
        """Whether the link does not know its nodes yet; once open, it stays so."""
        self._opened = self._opened or not self._path.exists()
        return not self._opened


class _TooLargeError(Exception):
    """A request body that grows over the limit."""


class AccessControl:
    """An ASGI application that stands in front of Flower's."""

    def __init__(
        self,
        app: Application,
        notes: AuditLog,
        allow_list: AllowList,
        door: AdmissionGate,
        secret: bytes,
        largest: int,
        version: str,
    ) -> None:
        self._app, self._notes, self._guests, self._door, self._secret = app, notes, allow_list, door, secret
        self._largest, self._version = largest, version

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        headers = _headers(scope["headers"])
        if hmac.compare_digest(headers.get(HEADER, "").encode(), self._secret):
            return await self._app(scope, receive, send)
        key = _key(headers)
        who = f"{(scope.get('client') or ('somebody',))[0]} {_with(key)}"
        if objection := self._objection(scope["path"], headers) or self._unknown(scope["path"], key):
            self._notes.note(who, objection[1])
            return await _refuse(*objection, send)
        if self._door.closed():
            return await _refuse(503, "the link is being opened", send)
        return await self._pass(who, scope, receive, send)

    def _objection(self, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        if not path.startswith(_FLEET):
            return 403, "it asked for what only this link's owner may do"
        version = headers.get("flwr-package-version", "none")
        if version.split(".")[:2] != self._version.split("."):
            return 426, f"it has Flower {version[:20]!a}, and this link needs {self._version}.x"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._largest:
            return 413, self._too_large()
        return None

    def _unknown(self, path: str, key: bytes | None) -> tuple[int, str] | None:
        """To 401, a SuperNode ends; to 404 while it connects, it also tells why."""
        if self._guests.holds(key):
            return None
        connecting = path in {f"{_FLEET}activate-node", f"{_FLEET}register-node"}
        return 404 if connecting else 401, "its key is not among those that this link allows"

    def _too_large(self) -> str:
        return f"it sent a request of more than {self._largest} bytes"

    async def _pass(self, who: str, scope: Message, receive: Receive, send: Send) -> None:
        with suppress(_TooLargeError):
            await self._app(scope, self._bounded(who, receive), self._watched(who, scope["path"], send))

    def _bounded(self, who: str, receive: Receive) -> Receive:
        """Bodies without a declared length are counted as they come."""
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._largest:
                self._notes.note(who, self._too_large())
                raise _TooLargeError
            return message

        return counted

    def _watched(self, who: str, path: str, send: Send) -> Send:
        async def watching(message: Message) -> None:
            if message["type"] == "http.response.start" and (why := _flowers_reason(path, message["status"])):
                self._notes.note(who, why)
            await send(message)

        return watching


async def _refuse(status: int, why: str, send: Send) -> None:
    body = json.dumps({"code": status, "detail": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def notice_handshakes(notes: AuditLog) -> None:
    """Have failed TLS handshakes noted too: Python's servers pass over them in silence."""

    class Noticing(ssl.SSLObject):
        def do_handshake(self) -> None:
            try:
                super().do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError as error:
                notes.note("a connection", _handshake_reason(error.reason or "unknown reason"))
                raise

    ssl.SSLContext.sslobject_class = Noticing


def _handshake_reason(reason: str) -> str:
    if reason in {"HTTP_REQUEST", "WRONG_VERSION_NUMBER"}:
        return "it did not speak TLS"
    if any(word in reason for word in _UNTRUSTING):
        return "it does not trust this link's certificate"
    return f"the TLS handshake failed ({reason})"


def _flowers_reason(path: str, status: int) -> str | None:
    """What Flower's answer means; answers about a run that has ended are no refusals."""
    if status == 401:
        return "its signature is wrong, or it speaks for another node"
    if status >= 400 and path == f"{_FLEET}activate-node":
        return "another node with its key is connected"
    return None


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names and values; of a repeated name all values, joined, so that none can hide behind another."""
    found: dict[str, str] = {}
    for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs):
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _key(headers: dict[str, str]) -> bytes | None:
    try:
        return base64.b64decode(headers["flwr-public-key"], validate=True)
    except (KeyError, binascii.Error):
        return None


def _with(key: bytes | None) -> str:
    return "without a key" if key is None else f"with key {fingerprint(key)}"


def fingerprint(public_key: bytes) -> str:
    """A short name for a key.

    >>> fingerprint(b"some key")
    '6e3b0e6bd28267dc'
    """
    return hashlib.sha256(public_key).hexdigest()[:16]
