"""Members, non-members and reference rows of an audit.

    own          reference rows that the method learns from beside its training rows, as WERM does
    validation   rows that were kept to choose a model by
    none         no reference rows

A method with reference rows of its own finds them last among each client's training rows; they are no
training rows then, and are attacked by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from ..algorithms import Algorithm
from ..data import Federation, Split
from ..data.reference_rows import split_reference
from ..errors import DataError, unknown

OWN, VALIDATION, NONE = REFERENCES = ("own", "validation", "none")
"""Words for reference rows."""


class AuditSets(NamedTuple):
    """What is attacked."""

    federation: Federation
    """Its training rows are the members, its test rows the non-members."""
    reference: Split | None


def own_fraction(algorithm: Algorithm) -> float:
    """The part of training rows that a method takes for reference rows; 0 where it knows of none."""
    inner = getattr(algorithm, "inner", None)
    return own_fraction(inner) if inner is not None else getattr(algorithm, "reference_fraction", 0.0)


def audit_sets(federation: Federation, fraction: float, reference: Split | str | None = None) -> AuditSets:
    """Members and reference rows of a run whose method has that fraction of reference rows of its own.
    `reference` are other rows, or a word for them; by default the method's own, else validation rows, if
    there are any.

    >>> from unalike.testing import example_federation
    >>> found = audit_sets(example_federation(2), 0.5)
    >>> found.federation.train.sizes.tolist(), found.reference.sizes.tolist()
    ([3, 4], [3, 5])
    """
    training, own = split_reference(federation, fraction) if fraction else (federation, None)
    if isinstance(reference, Split):
        return AuditSets(training, reference)
    if reference not in (None, *REFERENCES):
        raise unknown("reference rows", reference, REFERENCES)
    if reference == NONE:
        return AuditSets(training, None)
    if reference == OWN and own is None:
        raise DataError("the reference set is empty: the method has no reference rows of its own.")
    if own is not None and reference != VALIDATION:
        return AuditSets(training, own.train)
    some = reference == VALIDATION or len(federation.validation.y)
    return AuditSets(training, federation.validation if some else None)
