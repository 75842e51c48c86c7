"""What is guaranteed of a model that has forgotten a client, and under which assumptions?  (Certificate.)

    P(model in S) <= exp(epsilon) P(model without the client in S) + delta,   and the other way round

for every set S of models, where the second model is what the same noise and retraining would have made of a
training without the client. It is proven where the ledger bounds what the client did (convex losses, short
steps, the same draws) and the calibration is a theorem; otherwise it is a heuristic, and is called one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...runs import flatten
from ...runs.atomic import write_bytes
from ...typing import PyTree
from .oracle import RULES, Node
from .requests import Request
from .sensitivity import MODES


class Assumption(NamedTuple):
    """What the guarantee rests on, and whether that holds here: True, False, or None if it is assumed."""

    what: str
    holds: bool | None
    why: str = ""


@dataclass(frozen=True)
class Certificate:
    """What is said of one request. Where training started again is not in it: that depends on the client's
    rows, and the guarantee is about the model only."""

    request: int
    asked_at: str
    forgotten: tuple[str, ...]
    forgotten_in_all: int
    epsilon: float
    delta: float
    sigma: float
    calibration: str
    true_delta: float
    ledger: str
    rule: str
    composition: str
    sensitivities: dict[str, float]
    largest_sensitivity: float
    label: str
    """`proven` or `heuristic`."""
    guarantee: str
    assumptions: tuple[Assumption, ...]
    rounds_retrained: int
    rounds_kept: int
    digest_before: str | None
    digest: str
    remains: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"assumptions": [a._asdict() for a in self.assumptions]}

    def save(self, path: Path) -> None:
        """Write it as JSON, at once or not at all."""
        write_bytes(path, json.dumps(self.as_dict(), indent=2).encode())

    def rows(self) -> list[dict[str, str]]:
        """For people: one row per statement."""
        forgotten = ", ".join(f"{name} ({psi:.4g})" for name, psi in self.sensitivities.items())
        rows = {
            "guarantee": self.guarantee,
            "label": self.label,
            "forgotten (sensitivity)": forgotten,
            "largest sensitivity": f"{self.largest_sensitivity:.6g}",
            "noise": f"sigma {self.sigma:g}, {self.calibration} calibration, true delta {self.true_delta:.4g}",
            "ledger": f"{self.ledger}: {MODES[self.ledger]}",
            "rule": f"{self.rule}: {RULES[self.rule]}",
            "composition": self.composition,
            "rounds": f"{self.rounds_retrained} retrained, {self.rounds_kept} kept",
            "digest of the model": self.digest,
        }
        table = [{"what": name, "says": words} for name, words in rows.items()]
        verdicts = {True: "holds", False: "DOES NOT HOLD", None: "assumed"}
        table += [
            {"what": f"assumes ({verdicts[a.holds]})", "says": a.what + (f": {a.why}" if a.why else "")}
            for a in self.assumptions
        ]
        return table + [{"what": "remains", "says": words} for words in self.remains]


def certify(
    request: Request,
    forgotten_in_all: int,
    assumptions: Sequence[Assumption],
    digest: str,
    rounds_retrained: int,
) -> Certificate:
    """The certificate of a request whose model is `digest`, under these assumptions on the training."""
    budget = request.budget
    theorem = Assumption(
        f"the {budget.calibration} calibration is a theorem at epsilon {budget.epsilon:g}",
        budget.certified,
        "" if budget.certified else f"its noise gives delta {budget.true_delta:.4g}, not {budget.delta:g}",
    )
    every = (*assumptions, theorem)
    proven = all(one.holds is not False for one in every)
    return Certificate(
        request=request.number,
        asked_at=request.asked_at,
        forgotten=request.names,
        forgotten_in_all=forgotten_in_all,
        epsilon=budget.epsilon,
        delta=budget.delta,
        sigma=budget.sigma,
        calibration=budget.calibration,
        true_delta=budget.true_delta,
        ledger=request.mode,
        rule=request.rule,
        composition=composition(request),
        sensitivities=dict(zip(request.names, request.sensitivities, strict=True)),
        largest_sensitivity=budget.largest_sensitivity,
        label="proven" if proven else "heuristic",
        guarantee=guarantee(request, proven),
        assumptions=every,
        rounds_retrained=rounds_retrained,
        rounds_kept=sum(node.round for node in request.nodes),
        digest_before=request.digest_before,
        digest=digest,
        remains=what_remains(request.nodes),
    )


def guarantee(request: Request, proven: bool) -> str:
    """What is promised, in one sentence."""
    budget, whom = request.budget, "them together" if request.rule == "group" else "each of them alone"
    terms = f"({budget.epsilon:g}, {budget.delta:g})-unlearning of {whom}"
    never = all(psi == 0 for psi in request.sensitivities)
    nothing = " They never contributed to the model from which it was trained." if never else ""
    return (terms if proven else f"heuristic, not certified: {terms} if the assumptions held") + "." + nothing


def composition(request: Request) -> str:
    """What several noises on the way add up to for one client."""
    branches, budget = len(request.nodes), request.budget
    if branches == 1 or request.rule == "path":
        return f"the last noise alone gives ({budget.epsilon:g}, {budget.delta:g})"
    return (
        f"{branches} branches are on the way to this model, each hidden by its own noise; added up, a client "
        f"that was in all of them has at most ({branches * budget.epsilon:g}, "
        f"{branches * budget.delta:g}) by basic composition (choose --rule path for one noise)"
    )


def what_remains(nodes: Sequence[Node]) -> tuple[str, ...]:
    """What is still on the disk, and who must protect it."""
    models = sum(node.round + 1 for node in nodes)
    return (
        f"up to {models} earlier models without noise, in which forgotten clients are up to their "
        "sensitivity; later requests need them: encrypt and restrict them, never release them",
        "the record of earlier rounds (who took part, metrics of single clients) and what clients, backups "
        "and receivers of earlier models hold; their owners must erase it",
    )


def model_digest(tree: PyTree) -> str:
    """A digest of every number of a model, by name.

    >>> import numpy as np
    >>> model_digest({"w": np.zeros(2)}) == model_digest({"w": np.zeros(2)})
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(flatten(tree).items()):
        digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()
