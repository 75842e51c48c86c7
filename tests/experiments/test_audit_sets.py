"""Are reference rows those that the method has used, and no training rows?"""

import numpy as np
import pytest

from unalike.algorithms import WERM, FedAvg
from unalike.algorithms.shared.wrapper import AlgorithmWrapper
from unalike.errors import ConfigError, DataError
from unalike.experiments.audit_sets import audit_sets, own_fraction
from unalike.testing import example_federation


def test_own_reference_rows_and_training_rows_are_all_rows_and_share_none():
    federation = example_federation(3)
    found = audit_sets(federation, 0.5)
    sizes = found.federation.train.sizes + found.reference.sizes
    assert sizes.tolist() == federation.train.sizes.tolist()
    first = federation.train.x[: found.federation.train.sizes[0]]
    assert np.array_equal(found.federation.train.x[: len(first)], first)


def test_words_choose_other_rows():
    federation = example_federation(3).with_split(0.2, 0.2)
    assert audit_sets(federation, 0.5, "none").reference is None
    assert audit_sets(federation, 0.5, "validation").reference is federation.validation
    assert audit_sets(federation, 0.0).reference is federation.validation
    assert audit_sets(example_federation(3), 0.0).reference is None
    with pytest.raises(DataError, match="reference set is empty"):
        audit_sets(federation, 0.0, "own")
    with pytest.raises(ConfigError, match="did you mean 'validation'"):
        audit_sets(federation, 0.0, "validatoin")


def test_a_method_says_how_many_reference_rows_it_has_also_inside_another():
    assert own_fraction(FedAvg()) == 0
    assert own_fraction(AlgorithmWrapper(inner=WERM(reference_fraction=0.3))) == 0.3
