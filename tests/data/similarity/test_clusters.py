"""Does the similarity graph find the groups that it was made of?"""

import numpy as np
import pytest

from unalike.data.similarity.clusters import count_groups, spectral_groups
from unalike.data.similarity.graph import spectrum
from unalike.errors import ConfigError


def blocks(labels, within=8.0, across=1.0, noise=0.3, seed=0):
    same = np.equal.outer(labels, labels)
    spread = np.random.default_rng(seed).uniform(-noise, noise, same.shape)
    weights = np.where(same, within, across) + spread + spread.T
    np.fill_diagonal(weights, 0)
    return weights


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_blocks_are_found_without_being_told_how_many(groups):
    labels = np.arange(40) % groups
    assert spectral_groups(spectrum(blocks(labels))).tolist() == labels.tolist()


def test_alike_clients_are_one_group():
    assert spectral_groups(spectrum(blocks(np.zeros(20)))).tolist() == [0] * 20
    assert count_groups(np.zeros(1)) == 1


def test_as_many_groups_as_asked_for_or_an_error():
    found = spectrum(blocks(np.arange(12) % 4))
    assert len(np.unique(spectral_groups(found, 2))) == 2
    with pytest.raises(ConfigError, match="1 to 12"):
        spectral_groups(found, 13)
