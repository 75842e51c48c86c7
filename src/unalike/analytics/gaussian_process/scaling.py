"""Scaling for Gaussian processes: inputs by agreed ranges, outputs per client.

    inputs:    (x - low) / (high - low)         low and high are the same for all: a length must mean the same
    outputs:   (y - mean_k) / sd_k              mean and sd stay with client k

A client whose outputs are all equal divides by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...data import Federation, Split
from ...data.train_test_split import PARTS
from ...errors import ConfigError, DataError
from ...typing import Float64s, Keywords
from ..design import INTERCEPT, Design, flat_features

Domain = tuple[Any, Any] | str
"""The lowest and highest value of every input, or of all of them; as words `0..100`, or `0..100;20..80`."""


@dataclass(frozen=True)
class InputScaling:
    """The box that inputs come from, which becomes the unit cube."""

    low: Float64s
    high: Float64s

    @classmethod
    def of(cls, x: Float64s, domain: Domain | None = None) -> InputScaling:
        """The known `domain`, or the smallest box that holds these rows."""
        if domain is None:
            return cls(x.min(axis=0), x.max(axis=0))
        edges = read_domain(domain) if isinstance(domain, str) else domain
        low, high = (np.asarray(edge, np.float64) for edge in edges)
        if {low.shape, high.shape} - {(), (1,), x.shape[1:]}:
            raise ConfigError(f"the domain must have one range for all {x.shape[1]} inputs or one for each.")
        low, high = (np.broadcast_to(edge, x.shape[1:]) for edge in (low, high))
        if not (high > low).all():
            raise ConfigError("the domain of inputs must have its low edges below its high ones.")
        return cls(low, high)

    @property
    def span(self) -> Float64s:
        """How wide the box is; one for an input that never changes."""
        return np.where(self.high > self.low, self.high - self.low, 1.0)

    def scaled(self, x: Any) -> Float64s:
        """Rows in units of the box."""
        rows = flat_features(np.asarray(x, np.float64))
        if rows.shape[1:] != self.low.shape:
            raise DataError(
                f"rows have {rows.shape[1]} inputs, but the process was fitted with {len(self.low)}."
            )
        if not np.isfinite(rows).all():
            raise DataError("rows to predict have inputs that are missing or infinite; leave these rows out.")
        return (rows - self.low) / self.span


def require_domain(domain: Domain | None) -> Domain:
    """The domain, which must be known where clients keep their rows."""
    if domain is None:
        raise ConfigError(
            "without a known range of inputs, nodes would tell their smallest and largest ones, which are "
            "single rows; set the range of inputs, such as domain=0..100."
        )
    return domain


def read_domain(words: str) -> tuple[list[float], list[float]]:
    """The low and the high edges of such words.

    >>> read_domain("-3..3"), read_domain("0..100;20..80")
    (([-3.0], [3.0]), ([0.0, 20.0], [100.0, 80.0]))
    """
    try:
        edges = [[float(edge) for edge in one.split("..")] for one in words.split(";")]
        return [low for low, _ in edges], [high for _, high in edges]
    except ValueError:
        raise ConfigError(
            f"a range of inputs is written 0..100 (and of several 0..100;20..80), not {words!r}."
        ) from None


class OutputScaling(NamedTuple):
    """A client's mean and standard deviation, which it keeps to itself."""

    mean: float
    sd: float

    @classmethod
    def of(cls, y: Float64s) -> OutputScaling:
        """Of a client's training outputs; of none, those of a standard normal.

        >>> OutputScaling.of(np.array([3.0, 3.0])), OutputScaling.of(np.zeros(0))
        (OutputScaling(mean=3.0, sd=1.0), OutputScaling(mean=0.0, sd=1.0))
        """
        if not len(y):
            return cls(0.0, 1.0)
        sd, mean = float(np.std(y)), float(np.mean(y))
        return cls(mean, sd if sd > 1e-12 * max(1.0, abs(mean)) else 1.0)

    def scaled(self, y: Float64s) -> Float64s:
        """Outputs as the process sees them."""
        return (y - self.mean) / self.sd


class Scaled(NamedTuple):
    """A design in the units of the process, and how it got there."""

    design: Design
    inputs: InputScaling
    outputs: tuple[OutputScaling, ...]


def scale_design(data: Design | Federation, domain: Domain | None, standardize: bool = True) -> Scaled:
    """Rows checked and scaled; a column of ones is left out, and clients count by their rows again."""
    if isinstance(data, Design) and not data.is_here:
        return _scale_remote_design(data, require_domain(domain))
    federation = data.federation if isinstance(data, Design) else data
    _check_rows(federation)
    design = data if isinstance(data, Design) else Design.of(federation, intercept=False)
    keep = _inputs_of(design)
    train = design.federation.train
    inputs = InputScaling.of(train.x[:, keep], domain)
    outputs = tuple(
        OutputScaling.of(train.client(i)[1]) if standardize else OutputScaling(0.0, 1.0)
        for i in range(len(design))
    )
    made = design.federation
    parts: Keywords = {part: _scale_split(getattr(made, part), keep, inputs, outputs) for part in PARTS}
    # A design's clients count equally so that sums are exact; a likelihood's count by their rows.
    counts = None if isinstance(data, Design) else data.given_importance
    federation = replace(made, **parts, given_importance=counts)
    return Scaled(Design(federation, tuple(design.terms[j] for j in keep), design.response), inputs, outputs)


def _scale_remote_design(design: Design, domain: Domain) -> Scaled:
    """Of clients who keep their rows and scale them for themselves; each row here is a zero."""
    keep, far = _inputs_of(design), design.federation
    inputs = InputScaling.of(far.train.x[:, keep], domain)
    parts: Keywords = {part: _narrow_split(getattr(far, part), len(keep)) for part in PARTS}
    federation = replace(far, **parts, given_importance=None)
    return Scaled(Design(federation, tuple(design.terms[j] for j in keep), design.response), inputs, ())


def _narrow_split(split: Split, width: int) -> Split:
    return Split(np.broadcast_to(np.zeros(()), (len(split.y), width)), split.y, split.offsets)


def _inputs_of(design: Design) -> list[int]:
    return [j for j, term in enumerate(design.terms) if term != INTERCEPT]


def _scale_split(
    split: Split, keep: list[int], inputs: InputScaling, outputs: tuple[OutputScaling, ...]
) -> Split:
    mean, sd = (np.array([getattr(own, name) for own in outputs])[split.owners] for name in ("mean", "sd"))
    return Split(inputs.scaled(split.x[:, keep]), (split.y - mean) / sd, split.offsets)


def _check_rows(federation: Federation) -> None:
    """Raise where there is nothing to learn from, or something that is not a number."""
    train = federation.train
    if not len(train.y):
        raise DataError("no client has a training row; a Gaussian process needs at least one.")
    for what, values in (("inputs", train.x), ("outputs", train.y)):
        rows = np.asarray(values, np.float64).reshape(len(values), -1)
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            name = federation.name(int(train.owners[wrong[0]]))
            raise DataError(f"client {name!r} has {what} that are missing or infinite; leave these rows out.")
