"""How are tests compiled?

Tests compile hundreds of small programs and run each a few times: compiling must be quick, not running. But
what is said of bits holds for programs as users compile them. Tests that speak of bits are marked
`@pytest.mark.exact`, and `make test` runs pytest twice: first everything else, compiled quickly, then, with
UNALIKE_EXACT=1, the marked tests only, compiled as users compile. A test that is asked for by name
(`pytest tests/some/test_file.py::test_name`) is always run, and compiled as users compile.
"""

import gc
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

MARK = "exact"
BY_NAME = "by name"
HOW = os.environ.setdefault("UNALIKE_EXACT", BY_NAME if any("::" in word for word in sys.argv[1:]) else "")
"""Empty: compile quickly. Anything else: as users do. In the environment, where workers of xdist find it."""
QUICKLY = ["--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"]
if version("jaxlib").startswith("0.10."):  # a flag that XLA does not know ends the process
    QUICKLY += ["--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"]
if not HOW:
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *QUICKLY]).strip()

os.environ.setdefault("JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS", "0")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")  # nobody reads where an operation was written
gc.set_threshold(200_000, 50, 100)  # tracing makes many small objects that live on: looking for waste is dear

WITHOUT = {
    "flwr": ("src/unalike/deploy/*", "src/unalike/privacy/secure_aggregation.py"),
    "ray": ("src/unalike/engine/ray/*",),
}
"""Modules that cannot be imported without an extra."""
collect_ignore_glob = [
    files for extra, found in WITHOUT.items() if importlib.util.find_spec(extra) is None for files in found
]


ROOM, MOST_ROOM = 1_450, 1_500
"""Megabytes that a test process may take before it forgets what it has compiled: after a file, and within
one."""


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    """Thousands of small programs would take gigabytes: after a file of tests, they are forgotten.

    Rarely before: most tests of a file compile the same few programs, and to trace them again takes a second.
    """
    from unalike.engine import compilation_cache  # not at the top, where JAX has no flags yet

    compilation_cache.TOGETHER = sys.maxsize
    yield
    forget_above(ROOM)


@pytest.fixture(autouse=True)
def bounded_file() -> Iterator[None]:
    """Files that try every algorithm compile hundreds of programs that no other test needs."""
    yield
    forget_above(MOST_ROOM)


def forget_above(megabytes: int) -> None:
    """Forget what is compiled if the process takes more than that."""
    status = Path("/proc/self/statm")
    if status.exists() and int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > megabytes << 20:
        from unalike.engine import compilation_cache

        compilation_cache.forget_programs(-1)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Files without a marked test need not be imported to find none, unless they are asked for by name."""
    if HOW in ("", BY_NAME) or collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    return None if f"mark.{MARK}" in collection_path.read_text() else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test is run in one way."""
    if HOW == BY_NAME:
        return
    left_out = [item for item in items if (item.get_closest_marker(MARK) is None) == bool(HOW)]
    items[:] = [item for item in items if (item.get_closest_marker(MARK) is None) != bool(HOW)]
    config.hook.pytest_deselected(items=left_out)
    config.stash[LEFT_OUT] = len(left_out)


LEFT_OUT = pytest.StashKey[int]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Whoever runs a file wonders where its tests of bits are."""
    if not HOW and (count := config.stash.get(LEFT_OUT, 0)):
        terminalreporter.write_line(f"left out {count} of bits: UNALIKE_EXACT=1 runs those, and only those")


LOWERED_TOGETHER = 200
"""Programs that are lowered in one context of the compiler."""


@pytest.fixture(scope="session", autouse=True)
def shared_contexts() -> Iterator[None]:
    """JAX makes a context of the compiler for every program, which takes longer than to lower a small one.

    Tests lower thousands of small programs, so that contexts serve many of them, each in one thread. What is
    lowered is the same.
    """
    from jax._src.interpreters import mlir

    make, known = mlir.make_ir_context, threading.local()

    def reuse() -> object:
        uses = getattr(known, "uses", 0)
        if uses % LOWERED_TOGETHER == 0:
            known.context = make()
        known.uses = uses + 1
        return known.context

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlir, "make_ir_context", reuse)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_seal_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run folders of tests are sealed with a key of their own, not with that of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield
