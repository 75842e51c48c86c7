"""Sweeps of a defense's parameters: one experiment trained and audited for every value.

    werm.weight=0,0.5,1      the experiment with the method werm, for each weight
    lam=0,3                  an option of the experiment's own method
    rounds=5,20              a setting of the experiment; that of rounds is stopping early
    memguard=0,0.5           a defense of the finished run of the experiment itself

All settings share the same training, reference and other rows. Where some method learns from reference rows,
these are a part of the training rows, and all others train without them: they are then its reference rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..algorithms import algorithm_registry
from ..core.catalog import separate
from ..core.run_files import CONFIG
from ..core.spec import number_or_word
from ..data import Federation, Split
from ..data.reference_rows import shift_reference, split_reference
from ..errors import ConfigError, unknown
from ..privacy.audit.curves import Curve
from ..privacy.audit.membership_inference import check_references
from ..privacy.audit.regimes import Regime
from ..runs import RunFolder
from ..training.run import Run
from ..typing import Document
from .audit import DEFAULT_REFERENCES, audit_run
from .audit_defenses import defense_registry, make_defense
from .build import learns_from_reference, make_algorithm, make_federation, make_task
from .config import Experiment, make_experiment, read_experiment
from .reopen import check_experiment, read_finished_experiment
from .run import check_run, run_experiment
from .variations import SHARED, variant

_FIXED = (*(name for name in SHARED if name not in ("algorithm", "options")), "reference_fraction")
"""Settings that all points share, for they decide which rows there are."""
_FRACTION = 0.5
"""Reference rows among training rows, where a method needs some and nothing else was said."""


class Point(NamedTuple):
    """One setting of a knob."""

    value: str
    experiment: Experiment
    defense: str | None


class Rows(NamedTuple):
    """The rows that all settings share."""

    whole: Federation
    """For methods that find reference rows among their training rows."""
    training: Federation
    reference: Split | str | None


def read_base(path: str | Path, trust_file: bool = False) -> Experiment:
    """The experiment of a run folder, or that of a TOML file, which may be trusted."""
    place = Path(path)
    if not (place / CONFIG).exists() and place.is_file():
        return check_experiment(place, read_experiment(place, trust_file=trust_file))
    with RunFolder.open(place, read_only=True) as opened:
        return read_finished_experiment(opened)


def read_knobs(base: Experiment, words: Sequence[str]) -> dict[str, list[Point]]:
    """The settings of every knob, by the name of its curve.

    >>> found = read_knobs(Experiment(), ["werm.weight=0,1", "rounds=5", "memguard=0.5"])
    >>> {name: [point.value for point in points] for name, points in found.items()}
    {'werm weight': ['0', '1'], 'fedavg rounds': ['5'], 'fedavg memguard': ['0.5']}
    """
    curves: dict[str, list[Point]] = {}
    for one in words:
        knob, given, values = one.partition("=")
        owner, _, name = knob.strip().rpartition(".")
        if not given or not separate(values):
            raise ConfigError(f"{one!r} names no values; write KNOB=VALUES, such as werm.weight=0,0.5,1.")
        method = owner or base.algorithm
        points = curves.setdefault(f"{method} {name}", [])
        known = [point.value for point in points]
        points += [
            _point(base, method, name, value)
            for value in dict.fromkeys(separate(values))
            if value not in known
        ]
    return curves


def _point(base: Experiment, method: str, name: str, value: str) -> Point:
    if method not in algorithm_registry:
        raise unknown("algorithm", method, algorithm_registry)
    experiment = variant(base, method)
    if name in defense_registry:
        make_defense(f"{name}:{value}")
        return Point(value, experiment, f"{name}:{value}")
    setting = name.replace("-", "_")
    if setting in _FIXED:
        raise ConfigError(f"all settings of a sweep share {name}; it cannot be varied.")
    options = [o for o in inspect.signature(algorithm_registry[method]).parameters if o not in _NOT_OPTIONS]
    changed: Document = {setting: number_or_word(value)}
    if setting in options:
        changed = {"options": {**experiment.options, **changed}}
    elif setting not in Experiment.model_fields:
        allowed = [*options, *defense_registry, "rounds", "epochs", "learning_rate", "l2"]
        raise unknown(f"knob of {method}", name, allowed)
    made = make_experiment({**experiment.model_dump(), **changed})
    make_algorithm(made.model_copy(update={"reference_fraction": None}))
    return Point(value, made, None)


_NOT_OPTIONS = ("work", "optimizer", "server_optimizer", "reference_fraction")


def share_rows(
    base: Experiment, curves: dict[str, list[Point]], reference: str | None, shift: float = 0.0
) -> Rows:
    """The rows of all settings; with a `shift`, reference rows are those of another distribution."""
    learners = [
        p.experiment for points in curves.values() for p in points if learns_from_reference(p.experiment)
    ]
    if not learners:
        if shift:
            raise ConfigError(
                "no method of these knobs learns from reference rows, which could be shifted; add one, such "
                "as --vary werm.weight=0.5,1, or leave out the regime shifted."
            )
        whole = make_federation(base)
        return Rows(whole, whole, reference)
    if reference not in (None, "own"):
        raise ConfigError(
            f"{learners[0].algorithm} has reference rows of its own, which all settings share; leave out "
            f"--reference {reference}."
        )
    whole = make_federation(learners[0])
    if shift:
        whole = shift_reference(whole, _fraction(base), shift, base.seed)
    parts = split_reference(whole, _fraction(base))
    return Rows(whole, parts.training, parts.reference.train)


def sweep(
    base: Experiment,
    words: Sequence[str],
    *,
    reference: str | None = None,
    shift: float = 0.0,
    announce: Callable[[str], None] = lambda words: None,
    **audit: Any,
) -> list[Curve]:
    """Train the experiment for every value of every knob, and audit each.

    Args:
        base: the experiment.
        words: knobs and values, such as "werm.weight=0,0.5,1".
        reference: which rows are reference rows, where no method has some of its own.
        shift: noise in reference rows, in standard deviations of every feature; they are attacked no more,
            for attacks would tell the shift.
        announce: is told what is trained.
        **audit: settings of :func:`~unalike.experiments.audit.audit_run`.
    """
    curves = read_knobs(base, words)
    if base.unseen:
        raise ConfigError("all settings of a sweep share the rows of all clients; leave out unseen.")
    check_references(audit.get("references", DEFAULT_REFERENCES))
    rows, trained = share_rows(base, curves, reference, shift), dict[str, Run]()
    task = make_task(base, rows.whole)
    settings = {name: [_with_shared_references(base, p) for p in points] for name, points in curves.items()}
    for points in settings.values():
        for point in points:
            check_run(point.experiment, _federation(rows, point), task)
    cards = []
    for name, points in settings.items():
        found = []
        for point in points:
            announce(f"{name} {point.value}")
            key = point.experiment.model_dump_json()
            if key not in trained:
                trained[key] = run_experiment(
                    point.experiment, federation=_federation(rows, point), task=task
                )
            given = None if learns_from_reference(point.experiment) else rows.reference
            found.append(
                audit_run(trained[key], point.experiment, reference=given, defense=point.defense, **audit)
            )
        if shift:
            found = [replace(card, reference=None) for card in found]
        cards.append(Curve(name, tuple(point.value for point in points), tuple(found)))
    return cards


def sweep_regimes(
    base: Experiment,
    words: Sequence[str],
    regimes: Sequence[Regime],
    **settings: Any,
) -> dict[str, list[Curve]]:
    """The curves of every regime of reference data, by its name; regimes whose reference rows are the same
    share them.

    Args:
        base: the experiment.
        words: knobs and values.
        regimes: see :mod:`unalike.privacy.audit.regimes`.
        **settings: those of :func:`sweep`.
    """
    found: dict[float, list[Curve]] = {}
    for regime in regimes:
        if regime.shift not in found:
            found[regime.shift] = sweep(base, words, shift=regime.shift, **settings)
    return {regime.name: found[regime.shift] for regime in regimes}


def _fraction(base: Experiment) -> float:
    given = base.options.get("reference_fraction", base.reference_fraction)
    return _FRACTION if given is None else float(given)


def _with_shared_references(base: Experiment, point: Point) -> Point:
    """The setting with the reference rows that all share, if its method knows any."""
    fraction = _fraction(base) if learns_from_reference(point.experiment) else None
    return point._replace(experiment=point.experiment.model_copy(update={"reference_fraction": fraction}))


def _federation(rows: Rows, point: Point) -> Federation:
    return rows.whole if learns_from_reference(point.experiment) else rows.training
