"""Secure sums at a node: masks its answers.

For every analysis a node makes a new key and agrees on a secret with each other node (X25519); public keys
travel through the server. Answers leave with masks of these secrets (:mod:`...privacy.masked_sums`). The
group of nodes is fixed by the first request of an analysis, and each request is answered once: asked again,
the same bytes are sent.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ...algorithms import Algorithm
from ...analytics.linear.newton import Newton
from ...errors import ConfigError
from ...privacy.masked_sums import FEWEST, mask_vector
from ...typing import Array, Float64s
from ..transport.messages import MessageError, WireMessage

PEERS = "peers"
"""The number of a request that holds the public keys of all nodes, as JSON."""
MOST_PEERS = 10_000


class SumSession:
    """A node's key for one analysis, and the secrets that it shares with the others."""

    def __init__(self) -> None:
        self._key = X25519PrivateKey.generate()
        self.public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
        self._group: tuple[str, ...] | None = None
        self._secrets: dict[int, bytes] = {}
        self._place = 0
        self._sent: dict[bytes, Array] = {}

    def mask(self, vector: Float64s, request: WireMessage) -> Array:
        """The vector that answers a request, with masks.

        Args:
            vector: What this node adds to the sum.
            request: The request, which names the group of nodes.
        """
        self._agree(read_peers(request))
        label = request_label(request)
        if label not in self._sent:
            self._sent[label] = mask_vector(vector, self._place, self._secrets, label)
        return self._sent[label]

    def _agree(self, group: tuple[str, ...]) -> None:
        if self._group is None:
            if self.public not in group:
                raise MessageError("the group of this sum does not hold this node's key.")
            own = group.index(self.public)
            self._secrets = {
                place: self._secret(public) for place, public in enumerate(group) if place != own
            }
            self._place, self._group = own, group
        if group != self._group:
            raise MessageError("the group of nodes cannot change during an analysis with secure sums.")

    def _secret(self, public: str) -> bytes:
        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(public)))
        except ValueError as error:
            raise MessageError(f"a key of the group cannot be used ({error}).") from None


def read_peers(request: WireMessage) -> tuple[str, ...]:
    """The public keys of the group, in order; at least three, all different."""
    try:
        keys = json.loads(str(request.numbers.get(PEERS)))
    except (ValueError, RecursionError):
        keys = None
    if not isinstance(keys, list) or not all(isinstance(key, str) and len(key) == 64 for key in keys):
        raise MessageError("the group of a secure sum cannot be read.")
    if not FEWEST <= len(set(keys)) == len(keys) <= MOST_PEERS:
        raise MessageError(f"a secure sum needs {FEWEST} nodes or more, each with a key of its own.")
    return tuple(keys)


def request_label(request: WireMessage) -> bytes:
    """A digest of all that a request asks for. What differs between nodes (their places) is left out."""
    numbers = {k: v for k, v in request.numbers.items() if k != PEERS}
    if isinstance(contract := numbers.get("contract"), str):
        numbers["contract"] = _common_part(contract)
    digest = hashlib.sha256(json.dumps([request.kind, numbers], sort_keys=True).encode())
    for name, array in sorted(request.arrays.items()):
        digest.update(f"{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _common_part(contract: str) -> str:
    try:
        known = json.loads(contract)
    except (ValueError, RecursionError):
        return contract
    if isinstance(known, dict):
        known.pop("number", None)
    return json.dumps(known, sort_keys=True)


def check_summable(algorithm: Algorithm) -> None:
    """Raise for a method that needs more of nodes than one sum."""
    if not isinstance(algorithm, Newton):
        raise ConfigError(
            f"secure sums are for analyses that need sums only (linear, ridge, logistic and mixed models, "
            f"stratified Cox regression); {algorithm.name} needs single answers."
        )
