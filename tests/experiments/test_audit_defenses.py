"""Do defenses after training change what they should, and nothing else?"""

import numpy as np
import pytest

import unalike
from unalike.data.reference_rows import split_reference
from unalike.errors import ConfigError
from unalike.experiments.audit_defenses import make_defense, with_training_rows
from unalike.experiments.audit_rows import collect_rows, run_outputs
from unalike.experiments.audit_sets import AuditSets
from unalike.testing import example_federation, example_task


@pytest.fixture(scope="module")
def trained():
    training, reference = split_reference(example_federation(4).with_split(0.3), 0.5)
    task = example_task(training)
    run = unalike.train(training, task, unalike.FedAvg(), rounds=2, evaluate_every=0)
    sets = AuditSets(training, reference.train)
    return run, sets, collect_rows(*sets)


def test_without_a_budget_memguard_changes_nothing_and_with_one_no_label(trained):
    run, _, rows = trained
    plain = run_outputs(run, rows)
    assert np.array_equal(make_defense("memguard:0").target_outputs(*trained, 0), plain)
    guarded = make_defense("memguard:2").target_outputs(*trained, 0)
    assert np.array_equal(guarded.argmax(1), plain.argmax(1))
    assert not np.array_equal(guarded, plain)


def test_a_student_is_another_model_of_the_same_shape(trained):
    run, _, rows = trained
    plain = run_outputs(run, rows)
    taught = make_defense("distillation:2").target_outputs(*trained, 0)
    assert taught.shape == plain.shape
    assert not np.allclose(taught, plain)
    assert np.array_equal(make_defense(None).target_outputs(*trained, 0), plain)


def test_clients_without_reference_rows_teach_nobody(trained):
    _, sets, _ = trained
    few = sets.federation.without_rows([1]).train
    assert len(with_training_rows(sets.federation, few)) == 3


def test_nonsense_is_refused(trained):
    run, sets, _ = trained
    rows = collect_rows(sets.federation)
    for words in ("memguard:1", "distillation:1"):
        with pytest.raises(ConfigError, match="of which the run has none"):
            make_defense(words).target_outputs(run, sets, rows, 0)
    with pytest.raises(ConfigError, match="between 0 and 2"):
        make_defense("memguard:3")
    with pytest.raises(ConfigError, match="temperature must be above 0"):
        make_defense("distillation:0")
    with pytest.raises(ConfigError, match="did you mean 'memguard'"):
        make_defense("memgard")
