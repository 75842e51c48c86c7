"""Can everything be named that is there, and nothing else?"""

import importlib

import pytest

from unalike.core.catalogue import KINDS, SETTINGS, check_name, check_settings, explain
from unalike.errors import ConfigError
from unalike.experiments.build import _NAMED
from unalike.experiments.config import Experiment


def registry(kind):
    return getattr(importlib.import_module(KINDS[kind].home), KINDS[kind].registry)


def test_a_registered_method_of_ones_own_is_known():
    algorithms = registry("algorithms")

    @algorithms.add("my-own")
    def my_own():
        """Mine."""

    try:
        check_name("algorithms", "my-own")
        assert explain("algorithms")["my-own"] == "Mine."
    finally:
        del algorithms._makers["my-own"]


def test_settings_that_hold_names_are_settings():
    assert set(SETTINGS) <= set(Experiment.model_fields)
    check_settings(Experiment().model_dump())


def test_every_setting_that_is_looked_up_by_name_has_its_kind():
    assert {setting: registry(SETTINGS[setting]) for _, setting in _NAMED} == {
        setting: known for known, setting in _NAMED
    }
    assert (SETTINGS["drift_detector"], SETTINGS["sizes"]) == ("drift-detectors", "sizes")


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_name_that_does_not_exist_is_refused(setting):
    with pytest.raises(ConfigError, match=r"unknown .*'no-such-thing'"):
        check_settings({setting: "no-such-thing:3"})
