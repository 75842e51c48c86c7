"""Nothing heavy is imported before it is needed, and JAX finds its settings when it is."""

import subprocess
import sys

import pytest

from unalike.core.jax_startup import cache_folder

SLOW = ("jax", "scipy", "sklearn", "matplotlib", "networkx.classes", "optax", "pandas")


def imported(program, *words, code=0):
    """Which slow libraries a Python program has imported when it ends."""
    told = f"import sys\nsys.argv = {['unalike', *words]!r}\n{program}\n"
    tail = f"finally:\n    sys.stderr.write('\\n' + ' '.join(n for n in {SLOW!r} if n in sys.modules))"
    body = "try:\n" + "".join(f"    {line}\n" for line in told.splitlines()) + tail
    ended = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    return ended.stderr.splitlines()[-1].split() if ended.stderr else []


COMMAND = "from unalike.cli import main\nmain()"


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        ("run", "--help"),
        ("network", "design", "--help"),
        ("serve", "--help"),
        ("list", "algorithms"),
        ("reproduce",),
    ],
)
def test_help_and_lists_import_nothing_slow(words):
    assert imported(COMMAND, *words) == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--algorithm", "fedavgg"),
        ("run", "--modell", "mlp"),
        ("run", "no-such-file.toml"),
        ("compare", "--algorithms", "fedavg,fedprocks"),
        ("tune", "--partition", "dirichlett:0.3"),
        ("reproduce", "no-such-study"),
        ("run", "--data", "digitss"),
        ("run", "--data", "./no-such-folder"),
        ("resume", "no-such-run"),
        ("advise", "sampling", "--partition", "dirichlett"),
        ("advise", "timing", "--hardware", "slow"),
        ("network", "design", "--underlay", "gaja"),
        ("network", "compare", "--workload", "femnest"),
        ("list", "algorithmen"),
    ],
)
def test_refusals_of_misspelt_words_import_nothing_slow(words):
    assert imported(COMMAND, *words, code=2) == []


def test_importing_the_package_imports_nothing_slow():
    assert imported("import unalike") == []


@pytest.mark.parametrize("first", ["import unalike\nimport jax", "import jax\nimport unalike"])
def test_every_core_is_a_device_whoever_is_imported_first(first):
    count = "from unalike.core.jax_startup import cores\nassert jax.device_count() == cores(), jax.devices()"
    imported(f"{first}\n{count}\nassert jax.config.jax_compilation_cache_dir.endswith('xla')")


def test_a_number_of_cores_that_was_asked_for_wins(monkeypatch):
    monkeypatch.setenv("UNALIKE_CORES", "1")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "2")
    imported("import unalike, jax\nassert jax.device_count() == 1")


def test_a_run_imports_neither_scikit_learn_nor_networkx():
    program = (
        "import unalike\nf = unalike.load('digits', clients=5)\n"
        "task = unalike.Task.classification(unalike.models.linear(input_shape=(8, 8, 1), outputs=10), 10)\n"
        "unalike.train(f, task, unalike.FedAvg(), rounds=1)"
    )
    assert not {"sklearn", "networkx.classes", "matplotlib"} & set(imported(program))


@pytest.mark.skipif(sys.platform != "linux", reason="other platforms keep caches elsewhere")
def test_programs_and_data_sets_are_kept_where_the_platform_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "unalike"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "unalike"
