"""Clients and a model for tests that compare a method with its naive implementation."""

import pytest

from . import naive


@pytest.fixture(scope="module")
def federation(request):
    """Clients with as many training rows as the module's SIZES say, and test rows if it has TEST."""
    return naive.federation(request.module.SIZES, getattr(request.module, "TEST", None))


@pytest.fixture(scope="module")
def task():
    return naive.task()
