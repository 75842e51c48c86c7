"""Are public names found, and the name that was meant?"""

import pytest

import unalike


@pytest.mark.parametrize(
    ("wrong", "meant"), [("FedProxx", "FedProx"), ("fedavg", "FedAvg"), ("trian", "train")]
)
def test_a_misspelled_name_is_answered_with_the_nearest(wrong, meant):
    with pytest.raises(AttributeError, match=f"did you mean unalike.{meant}?"):
        getattr(unalike, wrong)


@pytest.mark.parametrize("strange", ["zzzzzz", "__wrapped__"])
def test_a_name_near_to_none_has_no_guess(strange):
    with pytest.raises(AttributeError) as caught:
        getattr(unalike, strange)
    assert "mean" not in str(caught.value)
    assert not hasattr(unalike, strange)


def test_every_public_name_is_found():
    assert all(getattr(unalike, name) is not None for name in unalike.__all__)
