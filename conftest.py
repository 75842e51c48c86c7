"""How are tests compiled?

Tests compile hundreds of small programs and run each a few times: compiling must be quick, not running. But
what is said of bits holds for programs as users compile them, so files that speak of bits are run apart:
`make test` runs pytest twice, the second time with UNALIKE_EXACT=1, which takes these files only.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

EXACT = (
    "tests/algorithms/test_fedem.py",
    "tests/engine/local/test_stale_block.py",
    "tests/training/test_asynchronous_training.py",
)
EXACTLY = bool(os.environ.get("UNALIKE_EXACT"))
QUICKLY = ["--xla_backend_optimization_level=0"]
if version("jaxlib").startswith("0.10."):  # a flag that XLA does not know ends the process
    QUICKLY.append("--xla_cpu_use_fusion_emitters=false")
if not EXACTLY:
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *QUICKLY]).strip()

WITHOUT = {"flwr": "src/unalike/deploy/*", "ray": "src/unalike/engine/ray/*"}
"""Modules that cannot be imported without an extra."""
collect_ignore_glob = [files for extra, files in WITHOUT.items() if importlib.util.find_spec(extra) is None]


ROOM = 1_200
"""Megabytes that a test process may take before it forgets what it has compiled."""


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    """Thousands of small programs would take gigabytes: after a file of tests, they are forgotten.

    Only then: most tests compile the same few programs, and to trace them again takes a second.
    """
    from unalike.engine import programs  # not at the top, where JAX has no flags yet

    programs.TOGETHER = sys.maxsize
    yield
    status = Path("/proc/self/statm")
    if status.exists() and int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > ROOM << 20:
        programs.forget_programs(-1)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Every file is run in one way, unless it is asked for by name."""
    if collection_path.is_dir() or collection_path.name == "conftest.py":
        return None
    exact = collection_path.relative_to(Path(__file__).parent).as_posix() in EXACT
    return True if exact != EXACTLY else None
