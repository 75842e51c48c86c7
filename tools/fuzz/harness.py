"""How are fuzzers run?  (Cases in a process that is kept, with limits on time and memory.)

A fuzzer is a module with a class `Fuzzer` that has `draw(rng)`, an input as JSON can hold it, and
`attempt(input)`, which gives it to the program in an empty working folder. The harness draws inputs from a
seed, lets a worker process try them one by one, and judges each: held, or failed with a reason. Failing
inputs are written to a folder, from which `--again FILE` tries one again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from verdicts import CaseError, tree_of

SECONDS = 60.0
"""How long a case may take, beside other work and with compilation."""
MEMORY = 1_500_000_000
"""Bytes of resident memory that a single case may add."""
ADDRESSES = 16_000_000_000
"""Bytes of address space of a worker, of which XLA reserves several without using them."""
PRECIOUS = "not to be touched\n"


def main(name: str) -> None:
    """The command line of a fuzzer."""
    parser = argparse.ArgumentParser(description=f"Fuzz Unalike: {name}.")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same cases")
    parser.add_argument("--count", type=int, default=50, help="how many cases")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="where failing inputs go")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of a case")
    parser.add_argument("--again", type=Path, help="try one failing input again")
    given = parser.parse_args()
    inputs = (
        [json.loads(given.again.read_text())] if given.again else inputs_of(name, given.seed, given.count)
    )
    verdicts = fuzz(name, inputs, given.out, given.seconds, given.seed)
    failed, refused = (sum(one.kind == kind for one in verdicts) for kind in ("failed", "refused"))
    print(
        f"{name}: seed {given.seed}, tried {len(inputs)}, held {len(inputs) - failed} ({refused} refused in "
        f"a sentence), failed {failed}"
    )
    sys.exit(1 if failed else 0)


class Verdict(NamedTuple):
    """How a case ended: `done`, `refused` in a sentence, or `failed`, and then why."""

    kind: str
    why: str = ""


def inputs_of(name: str, seed: int, count: int) -> list[Any]:
    """The cases of a seed."""
    fuzzer = import_module(name).Fuzzer()
    return [fuzzer.draw(random.Random(f"{name} {seed} {number}")) for number in range(count)]


def fuzz(name: str, inputs: list[Any], out: Path, seconds: float = SECONDS, seed: int = 0) -> list[Verdict]:
    """Try all inputs and write each failing one to a file."""
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        worker = Worker(name, Path(scratch))
        try:
            for number, given in enumerate(inputs):
                verdict = worker.try_one(given, seconds)
                verdicts.append(verdict)
                if verdict.kind == "failed":
                    out.mkdir(parents=True, exist_ok=True)
                    place = out / f"{name}-{seed}-{number}.json"
                    place.write_text(json.dumps(given, indent=1))
                    print(f"FAILED {place}: {verdict.why}", flush=True)
        finally:
            worker.stop()
    return verdicts


class Worker:
    """A process that tries cases, started again after a hang or a crash."""

    def __init__(self, name: str, scratch: Path) -> None:
        self._name, self._scratch = name, scratch
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0

    def try_one(self, given: Any, seconds: float) -> Verdict:
        """How a case ends."""
        process = self._process or self._start()
        self._number += 1
        assert process.stdin is not None
        line = json.dumps({"input": given, "folder": str(self._scratch / f"case-{self._number}")})
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return Verdict("failed", "the process was gone before the case")
        return self._verdict(process, seconds)

    def _verdict(self, process: subprocess.Popen[bytes], seconds: float) -> Verdict:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        if not ready:
            self.stop()
            return Verdict("failed", f"hang: no answer within {seconds:g} s")
        answer = process.stdout.readline()
        if not answer:
            code = process.wait()
            self.stop()
            return Verdict("failed", f"crash: the process ended with {code}")
        return Verdict(*json.loads(answer))

    def _start(self) -> subprocess.Popen[bytes]:
        home = self._scratch / "home"
        home.mkdir(exist_ok=True)
        settings = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
        settings |= {
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "MPLBACKEND": "agg",
            "MPLCONFIGDIR": str(home / "mpl"),
        }
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker", self._name, str(self._scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=settings,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], 300)[0] or not self._process.stdout.readline():
            self.stop()
            raise RuntimeError(f"the worker of {self._name} does not start; try it with --worker by hand")
        return self._process

    def stop(self) -> None:
        """End the worker and what it started."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


def work(name: str, scratch: Path) -> None:
    """The worker: a line of JSON in, a line of JSON out."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    jobs, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY)):
        os.dup2(os.open(os.devnull, mode), number)
    shared = scratch / "shared"
    shared.mkdir(exist_ok=True)
    fuzzer = import_module(name).Fuzzer()
    os.chdir(shared)
    getattr(fuzzer, "prepare", lambda folder: None)(shared)
    print(json.dumps("ready"), file=answers, flush=True)
    for line in jobs:
        job = json.loads(line)
        print(json.dumps(judge(fuzzer, job["input"], Path(job["folder"]))), file=answers, flush=True)


def judge(fuzzer: Any, given: Any, folder: Path) -> Verdict:
    """Try one case in a new folder."""
    outside, inside = folder / "outside", folder / "work"
    for place in (outside, inside):
        place.mkdir(parents=True)
    (outside / "precious.txt").write_text(PRECIOUS)
    before, begun, resident = tree_of(outside), time.monotonic(), _resident()
    os.chdir(inside)
    try:
        verdict = Verdict("refused" if getattr(fuzzer.attempt(given), "code", 0) else "done")
    except BaseException as error:
        verdict = _verdict_of(error)
    finally:
        after = tree_of(outside)
        others = sorted(path.name for path in folder.iterdir())
        os.chdir(folder.parent)
        shutil.rmtree(folder, ignore_errors=True)
    if after != before or others != ["outside", "work"]:
        return Verdict("failed", "written outside the output folder")
    grown = _resident() - resident
    if grown > MEMORY:
        return Verdict("failed", f"memory: {grown / 1e9:.1f} GB more after {time.monotonic() - begun:.0f} s")
    return verdict


def _verdict_of(error: BaseException) -> Verdict:
    from unalike.errors import UnalikeError

    if isinstance(error, UnalikeError) and str(error).strip():
        return Verdict("refused")
    if isinstance(error, CaseError):
        return Verdict("failed", str(error))
    places = traceback.extract_tb(error.__traceback__)
    ours = [one for one in places if "unalike" in one.filename] or places
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return Verdict("failed", f"traceback: {type(error).__name__}: {str(error)[:300]} ({where})")


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    work(sys.argv[2], Path(sys.argv[3]))
