"""Tuning studies: trials in Optuna's storage, and pruning of hopeless ones.

Trials are numbered. One that was finished is known by its number; one that was interrupted is begun again, as
the same trial: what is drawn depends on the seed, the number and what was finished before, and on nothing
else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..core.extras import import_extra
from ..core.random import generator
from ..errors import RunError
from ..training.fingerprint import fingerprint_changes
from ..typing import Config, Document
from .hyperparameter_candidates import Settings, is_continuous

STUDIES = "trials.sqlite"
FIRST_TRIALS = 4
"""Trials that are never given up, and after which Optuna chooses settings."""
_DONE, _NUMBER, _ASKED = "done", "number", "asked"


@dataclass(frozen=True)
class Trial:
    """One setting of one method, and how well it did on validation rows."""

    method: str
    settings: Settings
    score: float
    mean: float = math.nan
    """The same over clients, each counting the same..."""
    spread: float = math.nan
    """...and its standard deviation."""
    skipped: str = ""
    """Why the method cannot have these settings together; it was not trained."""
    pruned: int = 0
    """The round in which it was given up, because it did worse than most; 0 if it was not."""


class TuningStudy:
    """The trials of one method; with a folder, in a file that survives a crash."""

    def __init__(
        self,
        method: str,
        space: Mapping[str, Sequence[Any]],
        asked: Config,
        *,
        higher: bool = True,
        seed: int = 0,
        folder: Path | None = None,
    ) -> None:
        self._optuna = import_extra("optuna", "tune", "tuning")
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self.method, self._space, self._seed = method, space, seed
        self._study = self._optuna.create_study(
            study_name=method,
            storage=None if folder is None else f"sqlite:///{folder / STUDIES}",
            direction="maximize" if higher else "minimize",
            pruner=self._optuna.pruners.MedianPruner(n_startup_trials=FIRST_TRIALS),
            load_if_exists=True,
        )
        self._check(dict(asked), folder)

    def known(self, number: int, settings: Settings | None) -> Trial | None:
        """A trial that was finished; `settings` are those it should have, where they are known beforehand."""
        for trial in self._study.get_trials(deepcopy=False):
            if trial.user_attrs.get(_NUMBER) == number and _DONE in trial.user_attrs:
                values: Document = {
                    k: math.nan if v is None else v for k, v in trial.user_attrs[_DONE].items()
                }
                found = Trial(method=self.method, settings=dict(trial.params), **values)
                if settings is None or found.settings == settings:
                    return found
        return None

    def begin(self, number: int, settings: Settings | None) -> OpenTrial:
        """A new trial with these settings, or with what the trials so far promise most of."""
        draws = int(generator(self._seed, f"tuning {self.method} {number}").integers(2**31))
        self._study.sampler = self._optuna.samplers.TPESampler(
            seed=draws, n_startup_trials=FIRST_TRIALS, constant_liar=False
        )
        ranges = {
            name: self._distribution(name, (settings or {}).get(name)) for name in settings or self._space
        }
        if settings is not None:
            self._study.enqueue_trial(settings)
        trial = self._study.ask(ranges)
        while settings is not None and trial.params != settings:  # one that a crash has left in the queue
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            trial = self._study.ask(ranges)
        trial.set_user_attr(_NUMBER, number)
        return OpenTrial(self._study, trial, self._optuna)

    def _distribution(self, name: str, value: Any) -> Any:
        """The range of a setting, with room for a value outside it."""
        values = [v for v in (*self._space[name], value) if v is not None]
        if is_continuous(self._space[name]):
            return self._optuna.distributions.FloatDistribution(min(values), max(values), log=min(values) > 0)
        return self._optuna.distributions.CategoricalDistribution(tuple(dict.fromkeys(values)))

    def _check(self, asked: Document, folder: Path | None) -> None:
        """Raise if the trials that are there are of something else."""
        asked, before = json.loads(json.dumps(asked)), self._study.user_attrs.get(_ASKED)
        if before is None:
            self._study.set_user_attr(_ASKED, asked)
            return
        other = [name for name in asked if before.get(name) != asked[name]]
        if other:
            was, now = (f"{other[0]} {words.get(other[0])}" for words in (before, asked))
            what = fingerprint_changes(before, asked) if other[0] in ("data", "code") else None
            raise RunError(
                f"{folder} already holds trials of {self.method} "
                f"{f'from before something changed: {what}' if what else f'with {was}, not {now}'}; choose "
                "another --out, or replace them with --overwrite."
            )


class OpenTrial:
    """A trial that is being trained."""

    def __init__(self, study: Any, trial: Any, optuna: Any) -> None:
        self._study, self._trial, self._state = study, trial, optuna.trial.TrialState

    @property
    def settings(self) -> Settings:
        """What is tried."""
        return dict(self._trial.params)

    def is_hopeless(self, score: float, round: int) -> bool:
        """Whether a trial with this score after so many rounds is worse than the median of those before."""
        if math.isnan(score):
            return False
        self._trial.report(score, round)
        return bool(self._trial.should_prune())

    def end(self, found: Trial) -> Trial:
        """Keep what came of it."""
        numbers = {k: v for k, v in asdict(found).items() if k not in ("method", "settings")}
        kept = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in numbers.items()}
        self._trial.set_user_attr(_DONE, kept)
        if found.pruned:
            self._study.tell(self._trial, state=self._state.PRUNED)
        elif math.isfinite(found.score):
            self._study.tell(self._trial, found.score)
        else:
            self.give_up()
        return found

    def give_up(self) -> None:
        """It was interrupted, skipped, or has diverged."""
        self._study.tell(self._trial, state=self._state.FAIL, skip_if_finished=True)
