"""Do the fuzzers find faults, and do inputs that once failed hold today?"""

import contextlib
import json
import random
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THROUGH_WORKERS = ("formulas",)
"""Tried as `make fuzz` does, in processes with limits; the others in this process, which is quicker."""
FUZZERS = ("experiments", "commands", "data", "folders", "nodes", "formulas")
INPUTS = sorted((Path(__file__).parent / "inputs").glob("fuzz_*.json"))


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Fuzzers are scripts of tools/fuzz."""
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "fuzz"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))


def needs(name):
    for module in {"nodes": ("flwr", "formulaic"), "formulas": ("formulaic",), "data": ("pyarrow",)}.get(
        name, ()
    ):
        pytest.importorskip(module)


def judged(name, given, folder):
    """The verdict on one case, tried in this process."""
    harness, fuzzer = import_module("harness"), import_module(f"fuzz_{name}").Fuzzer()
    shared = folder / "shared"
    shared.mkdir(parents=True)
    with contextlib.chdir(shared):
        getattr(fuzzer, "prepare", lambda folder: None)(shared)
        return harness.judge(fuzzer, given, folder / "case")


@pytest.mark.parametrize("name", FUZZERS)
def test_a_few_cases_of_every_fuzzer_hold(name, tmp_path):
    needs(name)
    harness = import_module("harness")
    inputs = harness.inputs_of(f"fuzz_{name}", 1, 4)
    assert inputs == harness.inputs_of(f"fuzz_{name}", 1, 4)  # same seed, same cases
    assert inputs != harness.inputs_of(f"fuzz_{name}", 2, 4)
    if name in THROUGH_WORKERS:
        verdicts = harness.fuzz(f"fuzz_{name}", inputs, tmp_path)
    else:
        verdicts = [judged(name, given, tmp_path / str(place)) for place, given in enumerate(inputs)]
    assert [one.kind for one in verdicts if one.kind not in ("done", "refused")] == []


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_inputs_that_failed_once_hold(path, tmp_path):
    name = path.stem.split("-")[0].removeprefix("fuzz_")
    needs(name)
    verdict = judged(name, json.loads(path.read_text()), tmp_path)
    assert verdict.kind in ("done", "refused"), verdict.why


class Broken:
    """A program that does what it must not do."""

    def attempt(self, given):
        from verdicts import Answer, check_answer

        exec(given, {"Answer": Answer, "check_answer": check_answer})


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("1 / 0", "traceback: ZeroDivisionError"),
        ("raise SystemExit(3)", "traceback: SystemExit"),
        ("open('../outside/precious.txt', 'w').write('gone')", "written outside"),
        ("open('../new', 'w').write('')", "written outside"),
        ("check_answer(['run'], Answer(0, '', 'Traceback (most recent call last)'))", "traceback printed"),
        ("check_answer(['run'], Answer(2, '', ''))", "without a word"),
        ("check_answer(['run'], Answer(2, '', 'x' * 5000))", "5000 characters"),
        ("check_answer(['run', '--json'], Answer(0, 'NaN', ''))", "no JSON"),
        ("check_answer(['run', '--json'], Answer(0, '{\"test_loss\": \"NaN\"}', ''))", "without a warning"),
        ("check_answer(['run', '--json'], Answer(0, '{\"train_loss\": null}', ''))", "without a warning"),
    ],
)
def test_the_harness_sees_faults(program, why, tmp_path, monkeypatch):
    harness = import_module("harness")
    monkeypatch.chdir(tmp_path)
    verdict = harness.judge(Broken(), program, tmp_path / "case")
    assert verdict.kind == "failed"
    assert why in verdict.why


def test_a_hang_and_a_crash_are_failures_and_the_next_case_is_tried(tmp_path, monkeypatch):
    (tmp_path / "fuzz_broken.py").write_text(
        "import os, time\nclass Fuzzer:\n"
        "    def attempt(self, given):\n"
        "        time.sleep(60) if given == 'hang' else os._exit(9) if given == 'crash' else None\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT / 'src'}")
    verdicts = import_module("harness").fuzz("fuzz_broken", ["hang", "crash", "sound"], tmp_path / "out", 2.0)
    assert [one.kind for one in verdicts] == ["failed", "failed", "done"]
    assert "hang" in verdicts[0].why
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_damage_is_damage():
    values = import_module("values")
    content = bytes(range(200))
    changed = [values.mutate(random.Random(seed), content) for seed in range(50)]
    assert sum(one != content for one in changed) > 45
