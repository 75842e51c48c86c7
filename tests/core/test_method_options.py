"""Settings that are listed are those that methods take."""

import inspect

import pytest

from unalike.algorithms import algorithm_registry
from unalike.core.method_options import method_options, option_words
from unalike.core.names import FILLED_IN

ELSEWHERE = {"work", "optimizer", "server_optimizer", "features", "paces", "iterate", *FILLED_IN}


@pytest.mark.parametrize("name", list(algorithm_registry))
def test_what_is_read_is_what_is_taken(name):
    parameters = inspect.signature(algorithm_registry[name]).parameters
    plain = {k: p.default for k, p in parameters.items() if isinstance(p.default, int | float | str | None)}
    taken = {k: default for k, default in plain.items() if k not in ELSEWHERE}
    written = {k: "" if v is None else str(v).lower() if v in (True, False) and type(v) is bool else str(v)
               for k, v in taken.items()}  # fmt: skip
    assert method_options()[name] == written


def test_a_method_of_ones_own_is_asked():
    @algorithm_registry.add("my-own")
    def my_own(rate: float = 0.5, times: int = 2, work=object):
        """Mine."""

    try:
        assert option_words(method_options()["my-own"]) == "rate=0.5 times=2"
    finally:
        del algorithm_registry._makers["my-own"]
