"""Extrapolation with borrowed strength: simulated engines and C-MAPSS FD001."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.core.random import generator
from unalike.typing import Float64s

from ..study import Claim, at_least, in_order
from .data import DEGREE, TABLE_3_4, engine_like, turbofan
from .races import race

TABLE = "Table 3.4"
REASON = (
    "neither scale is published; no reading of the protocol that was tried (time in cycles or in lives; "
    "responses scaled by training rows, by range or by engine; cut by time or at random; zero or random "
    "start) has this order"
)


def engine_claims(quick: bool) -> Iterator[Claim]:
    """LM10 on simulated engines; LM13, table 3.4, where its file is."""
    yield from simulated_claims(quick)
    yield from turbofan_claims(quick)


def simulated_claims(quick: bool) -> Iterator[Claim]:
    """LM10: settings are chosen on validation rows only; more seeds than the gate's ten where there is
    time."""
    seeds, more = 10, 10 if quick else 40
    longer = [race(engine_like(seed), 60, _random_start(60, seed)) for seed in range(more)]
    races = longer[:seeds]
    wins = sum(found["HM1"] < found["Separate"] for found in races)
    means = {name: float(np.mean([found[name] for found in longer])) for name in races[0]}
    note = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
    words = f"simulated engines: seeds of {seeds} in which HM1 beats separate fits"
    yield at_least("LM10", words, [float(wins)], 0.8 * seeds, note=note)
    share = float(np.mean([found["HM1"] < found["Separate"] for found in longer]))
    words = f"simulated engines: share of {more} seeds in which HM1 beats separate fits"
    yield at_least("LM10", words, [share], 0.8, hard=False)
    for rival in ("FedAvg", "Dis-Ridge"):
        ratio = means[rival] / means["Separate"]
        yield at_least("LM10", f"simulated engines: error of {rival} over separate fits", [ratio], 1.2)
    if not quick:
        yield from zero_start_claims(seeds)
    wins = sum(found["HM1"] < found["Ditto"] for found in races)
    words = f"simulated engines: seeds of {seeds} in which HM1 beats Ditto"
    yield at_least("LM10", words, [float(wins)], 0.5 * seeds, hard=False)


def zero_start_claims(seeds: int) -> Iterator[Claim]:
    """LM10 where all begin at zero, which algorithm 3.1 does not."""
    from_zero = [race(engine_like(seed), 60, np.zeros((60, DEGREE + 1))) for seed in range(seeds)]
    wins = sum(found["HM1"] < found["Separate"] for found in from_zero)
    words = f"simulated engines, all from zero: seeds of {seeds} in which HM1 beats separate fits"
    yield at_least("LM10", words, [float(wins)], 0.8 * seeds, hard=False)


def turbofan_claims(quick: bool) -> Iterator[Claim]:
    """Table 3.4: order and ratios, where the file is and there is time."""
    for sensor, published in TABLE_3_4.items():
        if quick or (design := turbofan(sensor, 0)) is None:
            return
        found = race(design, 100, _random_start(len(design), 0))
        note = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
        order = [found[name] for name in ("HM1", "Ditto", "Separate", "FedAvg")]
        words = f"turbofan, sensor {sensor}: errors of HM1, Ditto, separate fits, FedAvg"
        yield in_order(
            "LM13", words, order, published=_words(published), place=TABLE, hard=False, note=REASON
        )
        ratio, said = found["HM1"] / found["Separate"], f"{published['HM1']} against {published['Separate']}"
        words = f"turbofan, sensor {sensor}: error of HM1 over separate fits"
        holds = 0.85 <= ratio <= 1.0
        yield Claim("LM13", words, said, "0.85 to 1", ratio, holds, hard=False, note=note, place=TABLE)
        ratio = found["FedAvg"] / found["Separate"]
        words = f"turbofan, sensor {sensor}: error of FedAvg over separate fits"
        said = f"{published['FedAvg']} against {published['Separate']}"
        yield at_least("LM13", words, [ratio], 1.0, published=said, place=TABLE, hard=False)


def _words(published: dict[str, float]) -> str:
    return ", ".join(f"{published[name]:.3f}" for name in ("HM1", "Ditto", "Separate", "FedAvg"))


def _random_start(devices: int, seed: int) -> Float64s:
    """As algorithm 3.1 begins: independent standard normal coefficients."""
    return generator(seed, "random start").normal(size=(devices, DEGREE + 1))
