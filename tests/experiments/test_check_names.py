"""Is a setting that names something checked, whichever room it belongs to?"""

import importlib
from collections import Counter

import pytest

from unalike.core.catalog import KINDS
from unalike.core.settings import Settings
from unalike.errors import ConfigError
from unalike.experiments.check_names import check_names, check_settings
from unalike.experiments.config import ABOUT, Experiment

NAMED = {name: known.kind for name, known in ABOUT.items() if known.kind is not None}


def test_every_kind_that_a_setting_names_is_listed():
    assert set(NAMED.values()) <= set(KINDS)
    check_settings(Experiment().model_dump())


@pytest.mark.parametrize("setting", NAMED)
def test_a_name_that_does_not_exist_is_refused(setting):
    with pytest.raises(ConfigError, match=r"unknown .*'no-such-thing'"):
        check_names({setting: "no-such-thing:3"})


def test_a_setting_is_defined_once_in_the_room_of_its_group():
    owners = Counter(name for room in Experiment.__bases__ for name in room.model_fields)
    assert set(owners.values()) == {1}
    assert set(owners) == set(Experiment.model_fields)


def test_validators_of_two_rooms_do_not_hide_each_other():
    named = Counter(name for room in Experiment.__bases__ for name in vars(room) if name.startswith("_"))
    own = {name for room in Experiment.__bases__ for name in room.__pydantic_decorators__.field_validators}
    assert {named[name] for name in own} == {1}


def test_settings_of_a_room_import_no_compute_library():
    for room in Experiment.__bases__:
        assert issubclass(room, Settings)
        module = importlib.import_module(room.__module__)
        assert module.__name__.endswith(".settings")
