"""Restart nodes of SIFU: from which model may training start again without a client?

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
_ROUNDING = 1 + 1e-12


class Node(NamedTuple):
    """A model: after `round` rounds of a branch."""

    branch: int
    round: int


def select_restart(
    sensitivities: Mapping[int, Float64s],
    nodes: Sequence[Node],
    limit: float,
    path: bool = False,
    limits: Sequence[float] | None = None,
) -> Node:
    """The model to start again from, with everything admissible kept.

    `sensitivities` has a table (rounds + 1, whoever must stay below the limit) for every branch on the way.
    `limit` is what the noise of this request hides, `limits` what the noise that was drawn at each node hides
    (the same where not given): a node counts with its own noise only. With `path`, what earlier branches hold
    counts too, and the noise of this request must hide all of it.

    >>> tables = {0: 0.2 * np.arange(11)[:, None]}
    >>> select_restart(tables, [], limit=1.0)
    Node(branch=0, round=5)
    """
    newest = max(sensitivities)
    branch, cap = newest, len(sensitivities[newest]) - 1
    carried = np.zeros(sensitivities[newest].shape[1])
    own = [limit] * len(nodes) if path or limits is None else limits
    for node, hidden in zip(nodes, own, strict=True):
        held = sensitivities[node.branch][node.round]
        if not (carried + held <= hidden).all():  # also where something is not a number
            branch, cap = node.branch, node.round
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


def check_path(nodes: Sequence[Node]) -> None:
    """Raise unless branches increase along the way."""
    branches = [node.branch for node in nodes]
    if branches != sorted(set(branches)) or any(node.round < 0 for node in nodes):
        raise UnalikeError(f"the way to the present model is not one: {list(nodes)}.")


def noise_on_path(nodes: Sequence[Node], sigmas: Mapping[int, float], newest: float) -> tuple[float, ...]:
    """The deviation of the noise that was drawn at every node of the way: that of the request whose branch
    starts there, by its number, and `newest` at the last.

    >>> noise_on_path([Node(0, 5), Node(1, 4)], {1: 0.1, 2: 7.0}, 0.3)
    (0.1, 0.3)
    """
    started = [node.branch for node in nodes[1:]]
    return (*(sigmas[branch] for branch in started), *([newest] if nodes else []))


def is_hidden(held: Float64s, sigmas: Sequence[float], ratio: float, path: bool = False) -> bool:
    """Whether what nodes hold of a client (or of a group) is hidden by the noises drawn there, each of which
    hides `ratio` times its deviation. By the rule path one noise, not before the last node that holds
    something, must hide all; otherwise each node's own noise what the node holds.

    >>> held = np.array([0.5, 0.5, 0.0])
    >>> is_hidden(held, [1, 1, 1], 0.6), is_hidden(held, [1, 1, 1], 0.6, path=True)
    (True, False)
    >>> is_hidden(held, [1, 2, 1], 0.6, path=True), is_hidden(held, [1, 0.5, 9], 0.6)
    (True, False)
    """
    there = np.flatnonzero(~(held <= 0))
    if not len(there):
        return True
    if path:
        return bool(held.sum() <= ratio * max(sigmas[there[-1] :]) * _ROUNDING)
    return bool((held <= ratio * np.asarray(sigmas) * _ROUNDING).all())
