"""Unlearning certificate: the guarantee, and its assumptions.

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
from typing import NamedTuple

from ...runs import flatten
from ...runs.atomic import write_bytes
from ...typing import Document, PyTree
from .oracle import RULES
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
    """`proven`, `conditional` on what is assumed and cannot be checked, or `heuristic`."""
    guarantee: str
    assumptions: tuple[Assumption, ...]
    rounds_retrained: int
    digest_before: str | None
    digest: str
    remains: tuple[str, ...]

    def as_dict(self) -> Document:
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
            "noise": f"sigma {self.sigma:g}, {self.calibration} calibration (delta {self.true_delta:.4g})",
            "ledger": f"{self.ledger}: {MODES[self.ledger]}",
            "rule": f"{self.rule}: {RULES[self.rule]}",
            "composition": self.composition,
            "rounds retrained": f"{self.rounds_retrained}",
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
    remains: Sequence[str] = (),
) -> Certificate:
    """The certificate of a request whose model is `digest`, under these assumptions on the training, with
    what `remains` somewhere, and who must protect it."""
    budget = request.budget
    theorem = Assumption(
        f"the {budget.calibration} calibration is a theorem at epsilon {budget.epsilon:g}",
        budget.certified,
        "" if budget.certified else f"its noise gives delta {budget.true_delta:.4g}, not {budget.delta:g}",
    )
    every = (*assumptions, *([] if request.fresh else [theorem]))
    label = label_of(every)
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
        label=label,
        guarantee=guarantee(request, label),
        assumptions=every,
        rounds_retrained=rounds_retrained,
        digest_before=request.digest_before,
        digest=digest,
        remains=tuple(remains),
    )


def label_of(assumptions: Sequence[Assumption]) -> str:
    """`proven` if all hold, `heuristic` if one does not, `conditional` if some can only be assumed.

    >>> label_of([Assumption("losses are convex", True), Assumption("the same draws", None)])
    'conditional'
    """
    if any(one.holds is False for one in assumptions):
        return "heuristic"
    return "conditional" if any(one.holds is None for one in assumptions) else "proven"


def guarantee(request: Request, label: str) -> str:
    """What is promised, in one sentence."""
    budget, whom = request.budget, "them together" if request.rule == "group" else "each of them alone"
    if request.fresh:
        terms = "(0, 0)-unlearning of them together: the model was trained anew, on the others only"
        return _label_terms(terms, label) + "."
    spent = (request.noises * budget.epsilon, request.noises * budget.delta)
    terms = f"({spent[0]:g}, {spent[1]:g})-unlearning of {whom}"
    never = all(psi == 0 for psi in request.sensitivities)
    nothing = " They never contributed to the model from which it was trained." if never else ""
    return _label_terms(terms, label) + "." + nothing


def _label_terms(terms: str, label: str) -> str:
    words = {
        "proven": terms,
        "conditional": f"{terms}, given what is assumed below",
        "heuristic": f"heuristic, not certified: {terms} if all assumptions held",
    }
    return words[label]


def composition(request: Request) -> str:
    """What several noises on the way add up to for one client."""
    noises, budget = request.noises, request.budget
    if request.fresh:
        return "no noise is needed: training started with a new model"
    if noises == 1:
        return f"one noise hides everything, at ({budget.epsilon:g}, {budget.delta:g})"
    return (
        f"basic, of {noises} noises at ({budget.epsilon:g}, {budget.delta:g}): a client is in as many "
        "trainings on the way to this model, and each is hidden by its own noise; --rule path needs one only"
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
