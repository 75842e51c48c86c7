"""Receiving messages in pieces, without blocking and within a limit of bytes.

A message of Flower's is a tree of objects that are fetched one by one: its records, then each array's type
and shape, then the array's bytes in chunks. Objects are fetched from the top, so that a message which
declares too much is refused before its bytes are fetched. What has not arrived yet is fetched at the next
attempt.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from flwr.app import Message
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.inflatable.inflatable_object import get_object_children_ids_from_object_content
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPullError,
    ObjectUnavailableError,
    inflate_object_from_contents,
)

from ...typing import Document
from .messages import MOST_ARRAYS, MessageError, check_limit, declared_bytes

Fetch = Callable[[str], bytes]
_SMALLEST_CHUNK = 65_536
_LARGEST_HEADER = 2**24  # the bytes of a message that are no array: names, numbers, metadata


class IncomingMessage:
    """A message on its way in."""

    def __init__(self, tree: ObjectTree, limit: int) -> None:
        most = 4 * MOST_ARRAYS + limit // _SMALLEST_CHUNK
        self.root = tree.object_id
        self._limit = limit
        self._waiting = deque(dict.fromkeys(_from_the_top(tree, most)))
        self._contents: dict[str, bytes] = {}
        self._fetched = self._declared = 0

    def advance(self, fetch: Fetch) -> Message | None:
        """Fetch what is there; returns the message once it is complete. An unfit one is a MessageError."""
        try:
            while self._waiting:
                self._take(self._waiting[0], fetch(self._waiting[0]))
                self._waiting.popleft()
        except ObjectUnavailableError:
            return None
        except ObjectPullError as error:
            raise MessageError("the message was never sent completely.") from error
        return self._open()

    def _take(self, name: str, content: bytes) -> None:
        self._fetched += len(content)
        check_limit(self._fetched, self._limit + _LARGEST_HEADER)
        if content.startswith(b"Array "):
            about = _about_array(content)
            self._declared += declared_bytes("of a message", about["dtype"], tuple(about["shape"]))
            check_limit(self._declared, self._limit)
        self._contents[name] = content

    def _open(self) -> Message:
        # One chunk may be named many times over: an array is measured before its bytes are put together.
        check_limit(_expanded_size(self._contents), self._limit)
        try:
            message = inflate_object_from_contents(self.root, self._contents)
        except Exception as error:  # whatever a hostile message provokes, it is the message that is wrong
            raise MessageError(f"the message is malformed ({type(error).__name__}).") from error
        if not isinstance(message, Message):
            raise MessageError("the message is malformed (it is no message).")
        message.metadata.__dict__["_message_id"] = self.root
        return message


def _from_the_top(tree: ObjectTree, most: int) -> Iterator[str]:
    level, count = [tree], 0
    while level:
        count += len(level)
        if count > most:
            raise MessageError(f"the message has more than {most} parts.")
        yield from (node.object_id for node in level)
        level = [child for node in level for child in node.children]


def _about_array(content: bytes) -> Document:
    try:
        about = json.loads(content.partition(b"\0")[2])
        wanted = {"dtype": str, "shape": list, "arraychunk_ids": list}
        if all(isinstance(about[name], kind) for name, kind in wanted.items()):
            return dict(about)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise MessageError("the message is malformed (an array does not say its type and shape).")


def _expanded_size(contents: Mapping[str, bytes]) -> int:
    """The bytes of all arrays when their chunks are put together."""
    total = 0
    for content in contents.values():
        if content.startswith(b"Array "):
            chunks = get_object_children_ids_from_object_content(content)
            lengths = [len(contents.get(chunk, b"").partition(b"\0")[2]) for chunk in chunks]
            try:
                total += sum(lengths[index] for index in _about_array(content)["arraychunk_ids"])
            except (IndexError, TypeError) as error:
                raise MessageError("the message is malformed (an array names a missing chunk).") from error
    return total
