"""Studies are asked for by the program's real entry point, as its own tests do."""

from tests.cli.conftest import unalike

__all__ = ["unalike"]
