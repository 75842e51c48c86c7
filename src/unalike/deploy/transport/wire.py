"""Authenticated HTTP clients for Flower's services.

Flower's services speak protocol buffers over HTTP, and Flower has clients for them. This file makes such
clients with what a deployment adds: the secret of the gate, the signature that acquiring a task needs, the
token of a task, and no retries (Flower's own end the process they run in when a token is no longer valid).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.supercore.constant import TASK_TOKEN_HEADER
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.error import FlowerError
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.protobuf.client import ProtobufCall, ProtobufRequestContext
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from ...errors import RunError
from .access_control import HEADER

_ACQUIRE = "/flwr.proto.Runtime/AcquireTask"


class Pass:
    """Adds the gate's secret, and a task's token once there is one, to every request."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret.decode("ascii")
        self.token: str | None = None

    def intercept(self, context: ProtobufRequestContext, call_next: ProtobufCall) -> httpx.Response:
        """Send the request with the headers added."""
        context.request.headers[HEADER] = self._secret
        if self.token:
            context.request.headers[TASK_TOKEN_HEADER] = self.token
        return call_next(context)


@dataclass(frozen=True)
class Endpoint:
    """Where a service of Flower's is, its certificate (None: plain HTTP), and its secret."""

    address: str
    root: bytes | None
    secret: bytes

    def control(self) -> ControlHttpClient:
        """A client for what the link's owner may do."""
        version = RuntimeVersionHttpInterceptor(component_name="flwr CLI")
        return ControlHttpClient.from_server_address(
            self.address, self.root is None, self.root, [version, Pass(self.secret)]
        )

    def runtime(self, component: str) -> tuple[RuntimeHttpClient, Pass]:
        """A client for tasks, and its pass, which takes the token of the task at hand."""
        own = Pass(self.secret)
        signature = SuperExecAuthHttpInterceptor(master_secret=self.secret, protected_methods={_ACQUIRE})
        version = RuntimeVersionHttpInterceptor(component_name=component)
        client = RuntimeHttpClient.from_server_address(
            self.address, self.root is None, self.root, [version, signature, own]
        )
        return client, own


@contextmanager
def expect_answer(what: str) -> Iterator[None]:
    """Turn an answer that is a refusal, or no answer at all, into an error with one sentence."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        told = FlowerError.from_json(error.response.text)
        reason = told.message if told else f"status {error.response.status_code}"
        raise RunError(f"the link refused to {what} ({reason}).") from error
    except httpx.TransportError as error:
        raise RunError(f"the link did not answer when asked to {what} ({error}).") from error
    except ObjectPushError as error:
        raise RunError(f"the link stopped listening when asked to {what}.") from error


def heartbeat(client: RuntimeHttpClient) -> HeartbeatSender:
    """Tells the service every twenty seconds that the task is alive; start it, and stop it at the end.

    Flower's own version interrupts the whole process when the task is unknown; here the task's next call
    fails.
    """
    from flwr.proto.runtime_pb2 import SendTaskHeartbeatRequest

    def beat() -> bool:
        try:
            client.SendTaskHeartbeat(SendTaskHeartbeatRequest())
        except httpx.HTTPStatusError:
            return True
        except (httpx.TransportError, RuntimeError):  # RuntimeError: the client was closed meanwhile
            return False
        return True

    return HeartbeatSender(beat)


def sign_off(link: str, root: Path, key: Path, number: int) -> None:
    """Tell the link, in a node's name, that the node is no longer connected; no answer is fine too."""
    from flwr.proto.fleet_pb2 import DeactivateNodeRequest

    with fleet(link, root.read_bytes(), key) as client, suppress(httpx.HTTPError):
        client.DeactivateNode(DeactivateNodeRequest(node_id=number))


def fleet(link: str, root: bytes | None, key: Path) -> FleetHttpClient:
    """A client for what nodes may do, in the name of the node with this key."""
    private = cast(EllipticCurvePrivateKey, load_ssh_private_key(key.read_bytes(), password=None))
    version = RuntimeVersionHttpInterceptor(component_name="SuperNode")
    signature = NodeAuthHttpInterceptor(private, private.public_key())
    return FleetHttpClient.from_server_address(link, root is None, root, [version, signature])
