"""Claims on the free-rider monitor.

F17: who is suspected where all are fair, and how soon free-riders are; F18: the free-rider that repeats the
model's last change, whom only the test of replays and a challenge find. Clients hold shards of a few digits,
or the same rows shuffled over all of them; pixels are 0 to 1, or raw ones with which plain SGD jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from unalike.algorithms import Algorithm, FedAvg
from unalike.core.random import generator
from unalike.data import Federation
from unalike.data.federation import Split
from unalike.training.run import Run
from unalike.training.train import train
from unalike.trust.behaviors import SimulatedAttack
from unalike.trust.monitor import Monitor, MonitorState, Verdict
from unalike.trust.monitor.challenge import challenge
from unalike.trust.monitor.decisions import raise_flags
from unalike.typing import Float64s, State

from ..study import Claim, at_least, at_most
from .data import HONEST, Shards, shards, with_free_riders
from .races import Race

WINDOW = 5
DISGUISES = tuple(f"decay,{gamma:g},{m}" for gamma in (0.5, 1, 2) for m in (1, 3))
RAW = {"rate": 0.001, "scale": 255.0}


def monitor_claims(quick: bool) -> list[Claim]:
    """F17 and F18."""
    data = shards(quick)
    seeds, rounds = (1, 20) if quick else (5, 60)
    return [*fair_claims(data, seeds, rounds), *caught_claims(data, seeds), *replay_claims(data)]


def fair_claims(data: Shards, seeds: int, rounds: int) -> Iterator[Claim]:
    """False positives come first."""
    for words, options in (("pixels 0 to 1", {}), ("raw pixels", RAW)):
        worst: list[float] = []
        seen: list[float] = []
        for seed in range(seeds):
            race = Race(data, FedAvg, draw=seed, **options)
            for clients in (race.honest, shuffle_rows(race.honest, seed)):
                run, book = run_with_monitor(race, clients, race.method, rounds)
                worst.append(float(worst_verdict(run)))
                seen.append(float(np.nanmin(book.evidence().consecutive)))
        claim = f"{data.name}, {words}, all fair: the worst verdict (1 is watched), shards and shuffled rows"
        note = f"{rounds} rounds; least mean cosine of a client's consecutive updates {min(seen):.2f}"
        yield at_most("F17", claim, worst, float(Verdict.WATCH), note=note)


def caught_claims(data: Shards, seeds: int) -> Iterator[Claim]:
    """Plain free-riders are seen at once, disguised ones after a window; how well signals tell both apart."""
    books = [
        run_with_free_rider(Race(data, FedAvg, draw=seed), kind, WINDOW)[1]
        for seed in range(seeds)
        for kind in DISGUISES
    ]
    for signal, words in (
        ("consecutive", "cosine of consecutive updates"),
        ("normal", "distance to a Normal"),
    ):
        means = np.array([getattr(book.evidence(), signal) for book in books])
        area = roc_area(means[:, :HONEST].ravel(), means[:, HONEST])
        claim = f"{data.name}: area under the ROC curve of the mean {words}, {means.size} clients"
        yield at_least("F17", claim, [area], 0.99)
    for words, kinds, limit in (("plain", ("plain",), 1), ("disguised", DISGUISES, WINDOW)):
        found = []
        for seed in range(seeds):
            race = Race(data, FedAvg, draw=seed)
            found += [caught_in(*run_with_free_rider(race, kind, WINDOW + 1)) for kind in kinds]
        claim = f"{data.name}: rounds until a {words} free-rider counts for nothing"
        note = "gamma 0.5, 1, 2; m 1, 3" if len(kinds) > 1 else ""
        yield at_most("F17", claim, found, float(limit), note=note)


def replay_claims(data: Shards) -> Iterator[Claim]:
    """Shown both ways: by its own signals a replay looks like training."""
    race = Race(data, FedAvg)
    _, book = run_with_free_rider(race, "replay", 2 * WINDOW)
    flags = raise_flags(book.evidence(), book.window, int(book.layers.sum()))
    raised = [name for name, who in flags.items() if who[HONEST]]
    others = [name for name in raised if name != "replayed"]
    claim = f"{data.name}: flags of a free-rider that replays the model's last change"
    for test, expected, found in (
        ("without the test of replays", [], others),
        ("with it", ["replayed"], raised),
    ):
        measured, wanted = (", ".join(names) or "none" for names in (found, expected))
        yield Claim("F18", f"{claim}, {test}", None, wanted, measured, found == expected)
    yield from challenge_claims(race)


def challenge_claims(race: Race) -> Iterator[Claim]:
    """Asked at a model and near it, who trains is pulled back, and who replays goes on."""
    before, model = (
        run_with_monitor(race, race.honest, race.method, rounds)[0].message for rounds in (9, 10)
    )
    asked: dict[str, tuple[Callable[[Any], Any], bool]] = {
        "who trains": (partial(train_upload, race), True),
        "who replays": (lambda start: replay_upload(start, before), False),
    }
    for words, (ask, fresh) in asked.items():
        answer = challenge(ask, model, jax.random.key(0))
        claim = f"{race.data.name}: a challenge, {words}: pull back by the data"
        expected = "well above 0" if fresh else "not above 0"
        yield Claim("F18", claim, None, expected, round(answer.pull, 3), answer.fresh is fresh)


def train_upload(race: Race, model: Any) -> Any:
    """What the first client sends when it starts from a model."""
    alone = race.honest.subset(np.array([0]))
    state = State({**race.method.init(race.data.task, jax.random.key(0)), "params": model})
    return train(
        alone, race.data.task, race.method, rounds=1, initial=state, seed=1, evaluate_every=0
    ).message


def replay_upload(model: Any, before: Any) -> Any:
    """The model and its own last change once more."""
    return jax.tree.map(lambda now, old: now + (now - old), model, before)


def run_with_free_rider(race: Race, kind: str, rounds: int) -> tuple[Run, MonitorState]:
    """A training with one free-rider, the last client, and what the monitor knows of it."""
    federation = with_free_riders(race.honest, 1)
    attack = SimulatedAttack.of(f"free-rider:{kind}", "1", federation)
    return run_with_monitor(race, attack.federation(federation), attack.algorithm(race.method), rounds)


def run_with_monitor(
    race: Race, federation: Federation, method: Algorithm, rounds: int
) -> tuple[Run, MonitorState]:
    """Train under a monitor."""
    monitor = Monitor(MonitorState(len(federation)), window=WINDOW)
    run = train(
        federation,
        race.data.task,
        method,
        rounds=rounds,
        initial=race.start(race.draw),
        seed=race.draw,
        aggregator=monitor,
        evaluate_every=0,
    )
    return run, monitor.book


def worst_verdict(run: Run) -> int:
    """The worst that was ever said of a client."""
    words = {"client watched": 1, "client quarantined": 2, "client excluded": 3}
    return max([words.get(event["kind"], 0) for event in run.events()], default=0)


def caught_in(run: Run, book: MonitorState) -> float:
    """The round after which the free-rider was in quarantine or excluded; infinite if it never was."""
    known = ("client quarantined", "client excluded")
    rounds = [e["round"] for e in run.events() if e["kind"] in known and e["client"] == HONEST]
    return float(min(rounds, default=np.inf))


def roc_area(fair: Float64s, riding: Float64s) -> float:
    """The share of pairs in which a fair client has the larger value, ties by half.

    >>> roc_area(np.array([0.9, 0.5]), np.array([0.1, 0.5]))
    0.875
    """
    apart = fair[:, None] - riding[None, :]
    return float(((apart > 0) + 0.5 * (apart == 0)).mean())


def shuffle_rows(federation: Federation, seed: int) -> Federation:
    """The same clients with training rows of all of them."""
    part = federation.train
    order = generator(seed, "shuffled").permutation(len(part.y))
    return replace(federation, train=Split(part.x[order], part.y[order], part.offsets))
