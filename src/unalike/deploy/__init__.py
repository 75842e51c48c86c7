"""Deployments between organizations: certificates, the server's link, nodes and messages."""

from .client.node import message_app, serve_node
from .transport.certificates import AllowedNode, make_authority, make_node_key, read_allowed
from .transport.flower import check_flower
from .transport.messages import MessageError, WireMessage, arrays_to_tree, tree_to_arrays
from .transport.superlink import SuperLink

__all__ = [
    "AllowedNode",
    "MessageError",
    "SuperLink",
    "WireMessage",
    "arrays_to_tree",
    "check_flower",
    "make_authority",
    "make_node_key",
    "message_app",
    "read_allowed",
    "serve_node",
    "tree_to_arrays",
]
