"""The privacy report card: three metrics, kept together.

    utility              how good the model is on rows that it has not seen
    training leakage     how well a member of the training set is recognized
    reference leakage    how well a member of the reference set is, which a defense or a choice has used

A defense can look better by leaking the reference set instead, so no two of the three are enough. What was
measured, what was declared and what follows from both are kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...typing import Document, Fields
from .leakage import Leakage
from .statistics import Rate, advantage


@dataclass(frozen=True)
class ReportCard:
    """What an audit found."""

    utility_name: str
    utility: Rate
    training: Leakage
    reference: Leakage | None = None
    declared: Mapping[str, float] = field(default_factory=dict)
    """What was not measured here: `epsilon` (by the accountant, for a whole client) and `delta`,
    `row_epsilon` and `reference_epsilon` (for a row of either set), and `reference_sensitivity`, what a
    reference row's privacy is worth against a training row's."""
    facts: Fields = field(default_factory=dict)
    """How the audit was made."""
    notes: tuple[str, ...] = ()

    @property
    def combined(self) -> dict[str, float]:
        """What follows from measured and declared values together."""
        answer: dict[str, float] = {}
        if "epsilon" in self.declared:
            answer["epsilon_at_least"] = self.training.epsilon.epsilon
            answer["epsilon_at_most"] = self.declared["epsilon"]
        for part, name in ((self.training, "row_epsilon"), (self.reference, "reference_epsilon")):
            if part is not None and name in self.declared:
                answer[f"{name}_at_least"] = part.epsilon.epsilon
                answer[f"{name}_at_most"] = self.declared[name]
        if self.reference is not None:
            weight = self.declared.get("reference_sensitivity", 1.0)
            own, other = (advantage(part.accuracy).value for part in (self.training, self.reference))
            answer["weighted_advantage"] = (own + weight * other) / (1 + weight)
        return answer

    def as_dict(self) -> Document:
        """For machines."""
        return {
            "sentence": summarize(self),
            "measured": {
                "utility": {"metric": self.utility_name, **self.utility.as_dict()},
                "training_leakage": self.training.as_dict(),
                "reference_leakage": None if self.reference is None else self.reference.as_dict(),
            },
            "declared": dict(self.declared),
            "combined": self.combined,
            "facts": dict(self.facts),
            "notes": list(self.notes),
        }

    def rows(self) -> list[dict[str, str]]:
        """The three metrics, a line each."""
        lines = [{"metric": f"utility ({self.utility_name})", "measured": show_utility(self), "attack": "–"}]
        for part in (self.training, self.reference):
            if part is not None:
                lines.append(
                    {
                        "metric": f"{part.what} leakage",
                        "measured": str(part.accuracy),
                        "attack": part.strongest,
                    }
                )
        if self.reference is None:
            lines.append({"metric": "reference leakage", "measured": "no reference set", "attack": "–"})
        return lines


def summarize(card: ReportCard) -> str:
    """The report card in one sentence."""
    parts = [_format_part(part) for part in (card.training, card.reference) if part is not None]
    most = card.training.outlier
    who = "" if most is None else f"; client {most.name} leaks most ({most.accuracy})"
    useful = f"{card.utility_name.capitalize()} is {show_utility(card)}"
    return f"{useful} on unseen rows; {', and '.join(parts)}{who}."


def _format_part(part: Leakage) -> str:
    what, rate = f"{part.what} rows", part.accuracy
    if not part.leaks:
        return f"no attack tells {what} from others for certain (the best, {part.strongest}: {rate})"
    return f"{what} are told from others in {rate} of cases by {part.strongest}, where guessing is 50 %"


def show_utility(card: ReportCard) -> str:
    """An accuracy in per cent, or a loss, with its interval."""
    if card.utility_name == "accuracy":
        return str(card.utility)
    return f"{card.utility.value:.4g} [{card.utility.low:.4g}, {card.utility.high:.4g}]"
