"""Names that are read from source text are those that are registered."""

import importlib

import pytest

import unalike.deploy.engine  # noqa: F401 - registers itself
import unalike_studies  # noqa: F401 - studies register themselves
from unalike.core.catalogue import KINDS, SETTINGS, _written, check_name, check_settings, explain
from unalike.errors import ConfigError
from unalike.experiments.config import Experiment

for room in ("algorithms", "data", "engine", "models", "participation", "timing", "topology"):
    importlib.import_module(f"unalike.{room}")


def registry(kind):
    where = KINDS[kind]
    return getattr(importlib.import_module(where.home), where.registry)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_what_is_registered(kind):
    registered = registry(kind).explain()
    assert _written(KINDS[kind]) == registered
    assert KINDS[kind].word == registry(kind).kind


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


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_name_that_does_not_exist_is_refused(setting):
    with pytest.raises(ConfigError, match=r"unknown .*'no-such-thing'"):
        check_settings({setting: "no-such-thing:3"})
