"""Do weights cost nothing if and only if they are the importances?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.asynchrony.bias_terms import lasting_bias, step_bias
from unalike.theory.asynchrony.objective import Surrogate

P = np.array([0.2, 0.3, 0.5])
GAPS = np.array([1.0, 0.5, 2.0])


@pytest.mark.parametrize("length", [0.1, 1.0, 7.0])
def test_the_right_weights_cost_nothing_however_long_steps_are(length):
    assert step_bias(P, [length * P], GAPS).total == pytest.approx(0, abs=1e-15)
    assert lasting_bias(Surrogate(P, length * P), GAPS) == 0


def test_if_everyone_may_be_heard_only_chi_square_costs():
    weights = np.array([0.5, 0.3, 0.2])
    found = step_bias(P, [weights, weights], GAPS)
    assert found.unheard == 0
    assert found.misrepresented == pytest.approx(Surrogate(P, weights).chi_square() * (weights @ GAPS))
    assert found.misrepresented == pytest.approx(lasting_bias(Surrogate(P, weights), GAPS))


def test_a_step_without_clients_leaves_out_everyone():
    assert step_bias(P, [np.zeros(3)], GAPS) == (0.0, pytest.approx(P @ GAPS))


def test_clients_that_take_turns_are_right_in_the_long_run_and_wrong_in_every_step():
    turns = np.diag(P)
    assert lasting_bias(Surrogate(P, turns.mean(axis=0)), GAPS) == pytest.approx(0, abs=1e-12)
    assert step_bias(P, turns, GAPS).unheard > 0


@pytest.mark.parametrize("wrong", [{"expected": P}, {"gaps": -GAPS}, {"gaps": GAPS[:2]}])
def test_shapes_and_signs_are_checked(wrong):
    with pytest.raises(ConfigError, match="gap of at least 0"):
        step_bias(P, wrong.get("expected", [P]), wrong.get("gaps", GAPS))
