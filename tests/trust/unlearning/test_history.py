"""Is everything on the disk that forgetting needs, and is it the same after an interruption?"""

import jax
import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import RunFolder
from unalike.trust.unlearning.history import BranchHistory
from unalike.trust.unlearning.measured_uploads import MeasuredUploads
from unalike.trust.unlearning.retention import Retention

from .federations import federation, train
from .test_measured_uploads import flat


def history(folder, given, retention="full", mode="realized"):
    return BranchHistory(folder, Retention.of(retention), given.importance, mode)


def trained(folder, given, retention="full", rounds=6, **rest):
    kept = history(folder / "branch-0", given, retention)
    run = train(given, rounds, aggregator=MeasuredUploads(), keeper=kept, **rest)
    return kept, run


def test_the_state_of_every_round_is_there(tmp_path):
    given = federation()
    kept, run = trained(tmp_path, given)
    assert kept.rounds() == kept.states() == list(range(7))
    last = kept.state(6, jax.tree.map(np.asarray, run.state))
    np.testing.assert_array_equal(flat(last["params"]), flat(run.message))


def test_the_true_distance_to_a_training_without_a_client_is_below_the_ledger(tmp_path):
    """Logistic regression, full batches, everybody in every round: the case with a proof."""
    from unalike.participation import Full, Remaining

    given = federation()
    kept, run = trained(tmp_path, given, rounds=8)
    psi = kept.ledger().sensitivity("full")
    for c in range(len(given)):
        other = BranchHistory(tmp_path / f"without-{c}", Retention(), given.importance)
        who = Remaining(Full(), [c])
        train(given.without_rows([c]), 8, aggregator=MeasuredUploads(), keeper=other, participation=who)
        for n in range(9):
            mine, theirs = (flat(h.state(n, run.state)["params"]) for h in (kept, other))
            assert np.linalg.norm(mine - theirs) <= psi[n, c] * (1 + 1e-4) + 1e-6


def test_a_grid_keeps_every_norm_and_some_models(tmp_path):
    given = federation()
    full, _ = trained(tmp_path / "a", given)
    grid, _ = trained(tmp_path / "b", given, "grid:4")
    assert grid.states() == [0, 4]
    np.testing.assert_array_equal(full.ledger().deviations, grid.ledger().deviations)


def test_pruned_keeps_the_last_model_before_every_client_crosses(tmp_path):
    given = federation()
    full, _ = trained(tmp_path / "a", given, rounds=12, per_round=3)
    psi = full.ledger().sensitivity("realized")
    limit = float(np.median(psi[-1]) / 2)
    last = {int(np.argmin(psi[:, c] <= limit)) - 1 if (psi[:, c] > limit).any() else 12 for c in range(6)}
    pruned, _ = trained(tmp_path / "b", given, f"pruned:{limit}", rounds=12, per_round=3)
    assert set(pruned.states()) == last | {0, 12}
    np.testing.assert_array_equal(full.ledger().deviations, pruned.ledger().deviations)


@pytest.mark.parametrize("retention", ["full", "grid:3", "pruned:0.05"])
def test_a_resumed_run_has_the_same_ledger_and_models(tmp_path, retention):
    given = federation()
    whole, _ = trained(tmp_path / "whole", given, retention, rounds=9, per_round=3)
    out = tmp_path / "run"
    trained(tmp_path / "parts", given, retention, rounds=7, per_round=3, out=out, checkpoint_every=2)
    folder = RunFolder.open(out)
    folder.checkpoints.rewind(4)  # as if it had been killed after round 7, before the next checkpoint
    folder.close()
    parts, _ = trained(tmp_path / "parts", given, retention, rounds=9, per_round=3, out=out, resume=True)
    assert whole.rounds() == parts.rounds()
    assert whole.states() == parts.states()
    for name in ("deviations", "weights", "importance"):
        np.testing.assert_array_equal(getattr(whole.ledger(), name), getattr(parts.ledger(), name))


def test_what_is_erased_is_gone_and_gaps_are_noticed(tmp_path):
    given = federation()
    kept, _ = trained(tmp_path, given)
    assert kept.erase_after(3) == 3
    assert kept.rounds() == [0, 1, 2, 3]
    kept.path(1).unlink()
    with pytest.raises(RunError, match="gaps"):
        kept.ledger()
