"""A folder has one writer."""

import pytest

from unalike.errors import RunError
from unalike.runs import locked


def test_a_folder_can_be_held_once(tmp_path):
    with locked(tmp_path), pytest.raises(RunError, match="in use by process"), locked(tmp_path):
        pass


def test_it_can_be_held_again_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        assert (tmp_path / "lock").exists()


def test_a_missing_folder_cannot_be_held(tmp_path):
    with pytest.raises(RunError, match="cannot lock"), locked(tmp_path / "none"):
        pass
