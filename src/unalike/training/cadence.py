"""Cadence of evaluations and checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

ENDLESS = 2**62
"""Rounds of a run that only the clock ends."""


@dataclass(frozen=True)
class Cadence:
    """When a run looks at itself and saves itself (in rounds; 0 means only at the end).

    >>> cadence = Cadence(rounds=10, evaluate_every=4)
    >>> [done for done in range(1, 11) if cadence.evaluates(done)]
    [4, 8, 10]
    """

    rounds: int
    evaluate_every: int = 0
    checkpoint_every: int = 0
    expected: int = 0
    """How many rounds there will be, as far as that can be known."""

    def evaluates(self, done: int) -> bool:
        """Whether the model is evaluated after `done` rounds."""
        return done == self.rounds or _falls_on(done, self.evaluate_every)

    def saves(self, done: int) -> bool:
        """Whether a checkpoint is written after `done` rounds; that of the end is written with the model."""
        return _falls_on(done, self.checkpoint_every) and done < self.rounds

    def is_due(self, done: int) -> bool:
        """Whether the run looks at itself or saves itself after `done` rounds."""
        return self.evaluates(done) or _falls_on(done, self.checkpoint_every)

    @property
    def often(self) -> int:
        """Rounds without anything due in between, at most."""
        return min([self.rounds, *(n for n in (self.evaluate_every, self.checkpoint_every) if n)])


def make_cadence(
    rounds: int, expected: int, evaluate_every: int | None, checkpoint_every: int | None
) -> Cadence:
    """Evaluate about twenty times and save about ten times, unless it is said otherwise."""
    return Cadence(
        rounds,
        _every(evaluate_every, expected, 20),
        _every(checkpoint_every, expected, 10),
        expected,
    )


def _every(chosen: int | None, rounds: int, times: int) -> int:
    return max(1, rounds // times) if chosen is None else chosen


def _falls_on(round: int, every: int) -> bool:
    return every > 0 and round % every == 0
