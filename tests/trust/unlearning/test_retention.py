"""Which words say what is kept?"""

import pytest

from unalike.errors import UnalikeError
from unalike.trust.unlearning.retention import Retention


def test_words_are_read():
    assert Retention.of("full") == Retention(1, None)
    assert Retention.of("grid:5") == Retention(5, None)
    assert Retention.of("pruned:0.5") == Retention(1, 0.5)


@pytest.mark.parametrize(
    "words", ["all", "grid", "grid:0", "grid:2.5", "pruned", "pruned:-1", "full:3", "grid:1,2"]
)
def test_other_words_are_refused_in_one_sentence(words):
    with pytest.raises(UnalikeError) as refused:
        Retention.of(words)
    assert "\n" not in str(refused.value)
