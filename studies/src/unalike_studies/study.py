"""A claim: a published number, what was measured here, and whether it holds.

A study is a function that returns :class:`Claim` objects, each with three values:

published    what a document prints, with its place there: a table, a figure, an equation, a section
expected     what must come out here, derived from a formula or agreed on before measuring
measured     what came out, with its spread over seeds

and whether the claim holds. A hard claim that does not hold fails the study; a soft one is reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from unalike.core.registry import Registry
from unalike.errors import ConfigError, unknown

from .trainings import Trainings

Value = float | str | None


@dataclass(frozen=True)
class Claim:
    """One line of a study."""

    id: str
    claim: str
    published: Value
    expected: Value
    measured: Value
    holds: bool
    hard: bool = True
    spread: float | None = None
    """Half the range of the measured values over seeds, or None for a single exact computation."""
    note: str = ""
    place: str = ""
    """Where the published value stands, such as "Table 4.3"; there is none without it."""
    derivation: str = ""
    """Where the expected value comes from, if that is not the published one."""

    def __post_init__(self) -> None:
        if self.published is not None and not names_place(self.place):
            raise ValueError(f"{self.id}: a published value names its place in the document.")

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        values = ("id", "claim", "published", "place", "expected", "derivation", "measured", "spread")
        return {name: getattr(self, name) for name in (*values, "hard", "holds", "note")}

    def readable(self) -> dict[str, str]:
        """For people."""
        verdict = "holds" if self.holds else "does not hold"
        measured = _text(self.measured) + (f" ± {self.spread:.2g}" if self.spread is not None else "")
        return {
            "id": self.id,
            "claim": self.claim + (f" ({self.note})" if self.note else ""),
            "published": _with(_text(self.published), self.place),
            "expected": _with(_text(self.expected), self.derivation),
            "measured": measured,
            "verdict": verdict if self.hard else f"soft: {verdict}",
        }


_PLACE = re.compile(
    r"\b(?:Table|Figure|section|appendix|equation|Theorem|Lemma|Corollary|Remark|page)s? \(?(?:[A-Z]\b|\d)"
)


def names_place(text: str) -> bool:
    """Whether a text says where in a document something stands.

    >>> names_place("Table C.1, sensor 2"), names_place("equation (2.6)"), names_place("the pilot")
    (True, True, False)
    """
    return re.search(_PLACE, text) is not None


Study = Callable[[bool], list[Claim]]
study_registry: Registry[list[Claim]] = Registry("study", "studies")


def run_study(name: str, quick: bool = False) -> list[Claim]:
    """Run a study by name; `quick` uses fewer seeds and smaller problems."""
    return study_registry[name](quick=quick)


# At the published effort --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effort:
    """How much of what was published is repeated, and where finished trainings are kept."""

    trainings: Trainings = field(default_factory=Trainings)
    runs: int | None = None
    """As many as were published when not given."""
    share: float = 1.0
    """Of the published rounds, or of the published time."""

    def runs_of(self, published: int) -> tuple[int, str]:
        """How many runs there are, and a note that says if these are fewer than were published."""
        return fewer(self.runs, published)

    def length_of(self, published: int, unit: str) -> tuple[int, str]:
        """How long a training is, at least one `unit`, and a note that says what was published.

        >>> Effort(share=0.01).length_of(200, "rounds"), Effort().length_of(200, "rounds")
        ((2, '2 rounds where 200 were published'), (200, '200 rounds as published'))
        """
        length = max(1, round(self.share * published))
        if length == published:
            return length, f"{published:,} {unit} as published"
        return length, f"{length:,} {unit} where {published:,} were published"


Published = Callable[[Effort], Iterator[Claim]]
_published_parts: dict[str, dict[str, Published]] = {}


def at_published_effort(study: str, id: str) -> Callable[[Published], Published]:
    """Register claims that take hours, under their study and the id they settle."""

    def add(claims: Published) -> Published:
        _published_parts.setdefault(study, {})[id] = claims
        return claims

    return add


def run_published(name: str, only: str | None = None, effort: Effort | None = None) -> Iterator[Claim]:
    """The claims of a study that the plain study scales down, one by one as they are settled; `only` those
    of one id, with less `effort` than was published if given."""
    parts, effort = parts_of(name), effort or Effort()
    if not parts:
        raise ConfigError(_no_more_effort(name))
    if only is not None and only not in parts:
        raise unknown("claim at the published effort", only, parts)
    if effort.runs is not None and effort.runs < 1:
        raise ConfigError(f"runs must be at least 1, but is {effort.runs}.")
    if not 0 < effort.share <= 1:
        raise ConfigError(f"the share must be above 0 and at most 1, but is {effort.share:g}.")
    chosen = list(parts.values()) if only is None else [parts[only]]
    return (claim for part in chosen for claim in part(effort))


def parts_of(name: str) -> dict[str, Published]:
    """What a study has at the published effort, by id; nothing for what is no study."""
    _import(name)
    return _published_parts.get(name, {}) if name in study_registry else {}


def _import(name: str) -> None:
    """What a study says of itself is known once its module is imported."""
    if name in study_registry:
        study_registry[name]


def places_in(study: str, document: str) -> None:
    """Name the document that a study's places (sections, tables, ...) are those of."""
    _documents[study] = document


_documents: dict[str, str] = {}


def document_of(study: str) -> str:
    """The document in which a study's published values stand; empty where it has none."""
    _import(study)
    return _documents.get(study, "")


def scale_down(study: str, **claims: str) -> None:
    """Say what a study's claims have less of than was published, by id, with `_` for a hyphen."""
    _scaled_down.setdefault(study, {}).update({id.replace("_", "-"): words for id, words in claims.items()})


_scaled_down: dict[str, dict[str, str]] = {}


def still_scaled_down(name: str) -> str:
    """What a study's claims have less of than was published, without those that have a part at the published
    effort; empty if there are none."""
    parts = parts_of(name)
    return "; ".join(f"{id}: {words}" for id, words in _scaled_down.get(name, {}).items() if id not in parts)


def _no_more_effort(name: str) -> str:
    some, cuts = ", ".join(sorted(filter(parts_of, study_registry))), still_scaled_down(name)
    if not cuts:
        return f"{name} scales nothing down: it is the same at any effort. With --full there are {some}."
    return (
        f"{name} has no part at the published effort; with --full there are {some}. What {name} scales down: "
        f"{cuts}."
    )


def fewer(runs: int | None, published: int) -> tuple[int, str]:
    """How many runs there are, and a note that says if these are fewer than were published.

    >>> fewer(None, 10), fewer(2, 10), fewer(1, 10)[1]
    ((10, '10 runs as published'), (2, '2 runs where 10 were published'), '1 run where 10 were published')
    """
    if runs is None or runs == published:
        return published, f"{published} runs as published"
    return runs, f"{runs} run{'s' * (runs > 1)} where {published} were published"


# Kinds of claims ------------------------------------------------------------------------------------------


def at_most(id: str, claim: str, values: Sequence[float], limit: float, **rest: Any) -> Claim:
    """The claim that a measure stays at or below a limit for every seed; `rest` are fields of
    :class:`Claim`."""
    worst = float(np.max(values))
    expected = "0" if limit == 0 else f"<= {limit:g}"
    return Claim(id, claim, _published(rest), expected, worst, worst <= limit, spread=_spread(values), **rest)


def at_least(id: str, claim: str, values: Sequence[float], limit: float, **rest: Any) -> Claim:
    """The claim that a measure stays at or above a limit for every seed; `rest` are fields of
    :class:`Claim`."""
    least = float(np.min(values))
    return Claim(
        id, claim, _published(rest), f">= {limit:g}", least, least >= limit, spread=_spread(values), **rest
    )


def matches(id: str, claim: str, value: float, reference: float, tolerance: float, **rest: Any) -> Claim:
    """The claim that a number comes out, within a tolerance: a published one, if `rest` names its `place`,
    else a derived one, of which `rest` may tell the `derivation`."""
    holds = bool(abs(value - reference) <= tolerance)
    expected = f"{reference:.6g} ± {tolerance:.2g}" if tolerance else f"{reference:.6g}"
    published = reference if rest.get("place") else None
    return Claim(id, claim, published, expected, float(value), holds, **rest)


def average(
    id: str, claim: str, values: Sequence[float], limit: float, *, most: bool = False, **rest: Any
) -> Claim:
    """The claim that a measure's mean over seeds is at least (or at most) a limit."""
    mean = float(np.mean(values))
    holds = mean <= limit if most else mean >= limit
    expected = f"{'<=' if most else '>='} {limit:g}"
    published, spread = _published(rest), _spread(values)
    return Claim(id, claim, published, expected, round(mean, 4), holds, spread=spread, **rest)


def in_order(id: str, claim: str, values: Sequence[float], slack: float = 0.0, **rest: Any) -> Claim:
    """The claim that values do not fall, but for some slack."""
    holds = all(later >= earlier - slack for earlier, later in pairwise(values))
    words = ", ".join(f"{value:.2f}" for value in values)
    expected = "in this order" if not slack else f"in this order, within {slack:g}"
    return Claim(id, claim, _published(rest), expected, words, holds, **rest)


def _published(rest: dict[str, Any]) -> Value:
    return rest.pop("published", None)


def _spread(values: Sequence[float]) -> float | None:
    return float(np.ptp(values)) / 2 if len(values) > 1 else None


def _with(text: str, place: str) -> str:
    return f"{text} ({place})" if text and place else text


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return "0" if value == 0 else f"{value:.6g}" if math.isfinite(value) else str(value)
