"""From which model may training start again without a client?  (Restart nodes of SIFU.)

    branch zeta    the first on the way to the present model whose node holds too much of the client
    index T        the last of its models before which Psi never exceeded what the noise can hide

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Branch 0 is the first training, branch r the retraining of request r. The way to the present model is
a list of nodes (branch, index), each the model from which a later branch started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...errors import UnalikeError
from ...typing import Float64s

Rule = Literal["max", "group", "path"]
RULES: dict[str, str] = {
    "max": "each client of the request by itself, each branch by itself",
    "group": "all clients of the request together, each branch by itself",
    "path": "each client of the request by itself, added up over all branches on the way",
}
"""What must stay below the limit."""


class Node(NamedTuple):
    """A model: after `round` rounds of a branch."""

    branch: int
    round: int


def select_restart(
    sensitivities: Mapping[int, Float64s], nodes: Sequence[Node], limit: float, path: bool = False
) -> Node:
    """The model to start again from, with everything admissible kept.

    `sensitivities` has a table (rounds + 1, whoever must stay below the limit) for every branch on the way;
    with `path`, what earlier branches hold counts too.

    >>> tables = {0: 0.2 * np.arange(11)[:, None]}
    >>> select_restart(tables, [], limit=1.0)
    Node(branch=0, round=5)
    """
    newest = max(sensitivities)
    branch, cap = newest, len(sensitivities[newest]) - 1
    carried = np.zeros(sensitivities[newest].shape[1])
    for node in nodes:
        held = sensitivities[node.branch][node.round]
        if not (carried + held <= limit).all():  # also where something is not a number
            branch, cap = node.branch, node.round - 1
            break
        carried = carried + held if path else carried
    below = (carried + sensitivities[branch][: cap + 1] <= limit).all(axis=1)
    return Node(branch, int(np.argmin(below)) - 1 if not below.all() else cap)


def extend_path(nodes: Sequence[Node], restart: Node) -> tuple[Node, ...]:
    """The way to the model that is trained from a restart node: what comes after it is gone.

    >>> extend_path([Node(0, 5), Node(1, 8)], Node(1, 4))
    (Node(branch=0, round=5), Node(branch=1, round=4))
    """
    return (*(node for node in nodes if node.branch < restart.branch), restart)


def check_path(nodes: Sequence[Node], held: Mapping[Node, Float64s], limit: float) -> None:
    """Raise unless branches increase along the way and no node holds more of a forgotten client than the
    limit; `held` are the sensitivities of all forgotten clients there."""
    branches = [node.branch for node in nodes]
    if branches != sorted(set(branches)) or any(node.round < 0 for node in nodes):
        raise UnalikeError(f"the way to the present model is not one: {list(nodes)}.")
    for node in nodes:
        if not (held[node] <= limit * (1 + 1e-12)).all():
            raise UnalikeError(f"the model of {node} holds more of a forgotten client than may be left.")
