"""A long study: WERM and its rivals with the weights of the authors' program, by regime of reference data.

Kaplan, Xu, Marfoq, Neglia and Santana de Oliveira, "A Cautionary Tale: On the Role of Reference Data in
Empirical Privacy Defenses", 2024: ten draws, 40 passes, WERM with six weights, AdvReg and AdvReg-RT with six
weights of the attacker (squared errors, the whole vector, twenty of its steps for one of the classifier), MMD
regularization, and WERM stopped early. A tenth of Purchase100 are training rows there, and as many reference
rows.
Here there are fewer of either, of Purchase100 where its file is there and of generated baskets else, and a
smaller network. Weights of MMD are ours: theirs belong to another scale of outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from unalike.algorithms import MMD, WERM, AdvReg, AdvRegRT, FedAvg
from unalike.data import Federation
from unalike.data.reference_rows import shift_reference
from unalike.experiments.audit import audit_run
from unalike.models import Task
from unalike.privacy.audit.regimes import SHIFTED
from unalike.training.train import train
from unalike.typing import Float64s, Keywords

from ..study import Claim, Effort, at_published_effort
from ..trainings import Trainings, describe_training
from .audits import MMD_OPTIMIZER, MMD_WORK, MODELS, OPTIMIZER, WORK
from .data import Sizes, has_purchases, purchase_rows, study_rows, study_task
from .regimes import EARLY, IDS, Contest, Setting, compared_claims, metrics

RUNS, PASSES = 10, 40
SIZES = Sizes(5000, 10_000, 100, 256)
WEIGHTS = (0.5, 0.7, 0.9, 0.97, 0.98, 1.0)
LAMS = (1.0, 2.0, 3.0, 6.0, 10.0, 20.0)
MMD_LAMS = (0.3, 1.0, 3.0, 10.0, 30.0)
STOPS = (0.05, 0.1, 0.2, 0.4)
"""Shares of the passes."""
STOPPED = (0.5, 0.9, 1.0)
"""Weights that are stopped early, too."""
SHIFT = 1.0
"""Standard deviations of noise in shifted reference rows."""


class Candidate(NamedTuple):
    """A method, for a share of the passes."""

    method: FedAvg
    share: float = 1.0


def candidates() -> dict[str, list[Candidate]]:
    """All settings, by the name of their curve."""
    shared: Keywords = {"work": WORK, "optimizer": OPTIMIZER}
    weighted = {w: WERM(**shared, weight=w) for w in WEIGHTS}
    strong = partial(AdvReg, **shared, attacker="vector", attacker_steps=20, penalty="square")
    return {
        "WERM": [Candidate(method) for method in weighted.values()],
        "WERM, stopped": [Candidate(weighted[w], s) for w in STOPPED[:-1] for s in STOPS],
        EARLY: [Candidate(weighted[1.0], share) for share in (*STOPS, 1.0)],
        "AdvReg": [Candidate(AdvReg(**shared, lam=lam)) for lam in LAMS],
        "AdvReg with the published attacker": [Candidate(strong(lam=lam)) for lam in LAMS],
        "AdvReg-RT": [Candidate(AdvRegRT(**shared, lam=lam)) for lam in LAMS],
        "MMD": [Candidate(MMD(work=MMD_WORK, optimizer=MMD_OPTIMIZER, lam=lam)) for lam in MMD_LAMS],
    }


OURS = ("WERM", "WERM, stopped", EARLY)
RIVALS = ("AdvReg", "AdvReg with the published attacker", "AdvReg-RT", "MMD", EARLY)


@dataclass(frozen=True)
class Draws:
    """Draws of rows on which every setting is trained and attacked."""

    sizes: Sizes
    runs: int
    passes: int
    trainings: Trainings
    shift: float = 0.0

    def contests(self, curves: Mapping[str, Sequence[Candidate]]) -> Iterator[Contest]:
        """The settings of every draw."""
        self.trainings.expect(self.runs * sum(map(len, curves.values())))
        for seed in range(self.runs):
            rows = purchase_rows if has_purchases() else study_rows
            federation, task = rows(self.sizes, seed), study_task(self.sizes)
            if self.shift:
                federation = shift_reference(federation, 0.5, self.shift, seed)
            found = {
                name: [self.setting(federation, task, one, seed) for one in chosen]
                for name, chosen in curves.items()
            }
            ours = [setting for name in OURS for setting in found[name]]
            yield Contest(ours, {name: found[name] for name in RIVALS})

    def setting(self, federation: Federation, task: Task, candidate: Candidate, seed: int) -> Setting:
        """The three metrics of one setting, trained and attacked if nobody has yet."""
        passes = max(1, round(candidate.share * self.passes))
        decides = {
            **describe_training(federation, task),
            "method": repr(candidate.method),
            "passes": passes,
            "seed": seed,
            "shift": self.shift,
            "models": MODELS,
        }
        found = self.trainings.numbers(
            decides, lambda: self._attack(federation, task, candidate.method, passes, seed)
        )
        return Setting(*found)

    def _attack(self, federation: Federation, task: Task, method: FedAvg, passes: int, seed: int) -> Float64s:
        run = train(federation, task, method, rounds=passes, seed=seed, evaluate_every=0)
        found = metrics(audit_run(run, references=MODELS, seed=seed))
        return np.array(found._replace(reference=50.0) if self.shift else found)


def regime_part(regime: str, effort: Effort) -> Iterator[Claim]:
    """WERM against every rival in one regime."""
    runs, fewer = effort.runs_of(RUNS)
    passes, length = effort.length_of(PASSES, "passes")
    rows = "rows of Purchase100" if has_purchases() else "generated baskets"
    note = f"{SIZES.rows:,} {rows} for 19,732 of Purchase100; {fewer}; {length}"
    draws = Draws(SIZES, runs, passes, effort.trainings, SHIFT if regime == SHIFTED else 0.0)
    contests = list(draws.contests(candidates()))
    yield from curve_claims(regime, contests, note)
    yield from compared_claims(regime, contests, note)


def curve_claims(regime: str, contests: Sequence[Contest], note: str) -> Iterator[Claim]:
    """The curves themselves, which were plotted for some data sets and not printed; reported, not judged."""
    for name in contests[0].rivals:
        means = np.mean([one.rivals[name] for one in contests], 0)
        yield _curve(regime, name, means, note)
    yield _curve(regime, "WERM", np.mean([one.ours for one in contests], 0), note)


def _curve(regime: str, name: str, means: Float64s, note: str) -> Claim:
    told = "; ".join(f"{u:.1f} at {t:.1f}, {r:.1f}" for u, t, r in means)
    words = f"{regime} reference rows: {name}, accuracy at training and reference leakage, by setting"
    return Claim(IDS[regime], words, None, "reported", told, True, hard=False, note=note)


for _regime, _id in IDS.items():
    at_published_effort("privacy", _id)(partial(regime_part, _regime))
