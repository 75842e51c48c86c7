"""Model selection in a record: which rows chose the model, or the end of training?"""

from __future__ import annotations

from collections.abc import Mapping

TEST_ROWS = "patience on test rows"
"""The event that says which rows decided when to stop."""
ENDED_BY_TEST_ROWS = (
    "test rows decided when to stop, so that their scores are optimistic; set rows apart for it with "
    "--validation-fraction 0.1."
)


def best_in_words(meta: Mapping[str, str]) -> str | None:
    """Which model was the best, by which rows, as a run's record has it.

    >>> best_in_words({"best": "test_accuracy 0.9 in round 3"})
    'test accuracy 0.9 in round 3 (chosen on test rows)'
    >>> best_in_words({"best": "validation_loss 0.2 in round 5"})
    'validation loss 0.2 in round 5'
    """
    best = meta.get("best")
    if best is None:
        return None
    return best.replace("_", " ", 1) + (" (chosen on test rows)" if best.startswith("test_") else "")
