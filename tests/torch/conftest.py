"""These tests type commands, too, and PyTorch takes one core."""

from ..cli.conftest import no_reports, program_built_once, unalike

__all__ = ["no_reports", "program_built_once", "unalike"]
