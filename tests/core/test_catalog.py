"""Can everything be named that is there, and nothing else?"""

import importlib

from unalike.core.catalog import KINDS, check_name, explain


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
