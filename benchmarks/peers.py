"""Unalike and its peers side by side: the same problems, the same batches, one after another on this machine.

    python benchmarks/peers.py [--quick] [--only logistic,mlp] [--peers pfl,fedjax] [--out FILE.json]

Needs only the standard library. Every peer gets its own virtual environment, made once, and runs as a process
of its own; a peer that cannot be installed, fails or takes too long is reported, and the others go on.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE / ".peers"
ADAPTERS = HERE / "peers"
sys.path.insert(0, str(ADAPTERS))

from catalog import FLUTE_REMARK, PROBLEMS, Problem, select  # noqa: E402
from environments import PEERS, InstallError, ensure, installed_version, last_line  # noqa: E402

OURS, OURS_TORCH = "unalike", "unalike-torch"
HERE_TOO = (OURS, OURS_TORCH)
"""What runs in the environment of this program; `unalike-torch` needs PyTorch there (make torch-test)."""
NAMES = [*HERE_TOO, *PEERS]
COLUMNS = ("peer", "version", "s/round", "x ours", "peak MB", "accuracy", "loss", "remark")

Result = dict[str, Any]


def main() -> None:
    """Run what the command line asks for, print a table per problem and keep everything as JSON."""
    options = read_options()
    report = {"machine": machine(), "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "quick": options.quick}
    pythons, failures = interpreters(options.peers)
    report["environments"] = environments(pythons, failures)
    report["problems"] = {}
    for problem in options.only:
        path = problem_file(problem)
        results = run_problem(problem, path, options, pythons, failures)
        report["problems"][problem.name] = {"hyper": problem.hyper(), "results": results}
        if problem.name == "lr-mnist-flute":
            report["problems"][problem.name]["published"] = FLUTE_REMARK
        save(options.out, report)
        print(table(problem, results), flush=True)
    print(f"everything is in {options.out}")


def read_options() -> argparse.Namespace:
    """Read the command line; lists are given with commas."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: does everything still run?")
    parser.add_argument("--only", default="", help="words; problems whose name contains one of them")
    parser.add_argument("--peers", default=",".join(NAMES), help=f"which of {', '.join(NAMES)}")
    parser.add_argument("--rounds", type=int, help="timed rounds, instead of each problem's own number")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one peer on one problem")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "peers.json")
    options = parser.parse_args()
    options.only = select(words(options.only))
    options.peers = [name for name in NAMES if name in words(options.peers)]
    if not options.only or not options.peers:
        parser.error(f"nothing to run; problems are {', '.join(PROBLEMS)}; peers are {', '.join(NAMES)}")
    return options


def words(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "cpu": models[0] if models else platform.processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def interpreters(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The interpreter of every peer that could be installed, and the error of every one that could not."""
    pythons: dict[str, str] = {}
    failures: dict[str, str] = {}
    for name in names:
        try:
            pythons[name] = sys.executable if name in HERE_TOO else str(ensure(ROOT, PEERS[name]))
        except (InstallError, OSError) as error:
            failures[name] = f"not installed: {error}"
    return pythons, failures


def environments(pythons: dict[str, str], failures: dict[str, str]) -> dict[str, str]:
    """For the report: every peer's version, or why it has none."""
    installed = {name: installed_version(ROOT, PEERS[name]) for name in pythons if name not in HERE_TOO}
    return installed | failures


def problem_file(problem: Problem) -> Path:
    """The problem's file, written first if it is not there yet."""
    has_numpy = importlib.util.find_spec("numpy") is not None
    python = sys.executable if has_numpy else str(ensure(ROOT, PEERS["torch"]))
    folder = ROOT / "problems"
    subprocess.run([python, str(HERE / "problems.py"), "--out", str(folder), problem.name], check=True)
    return folder / f"{problem.name}.npz"


def run_problem(
    problem: Problem,
    path: Path,
    options: argparse.Namespace,
    pythons: dict[str, str],
    failures: dict[str, str],
) -> list[Result]:
    """One result per peer, measured one after another."""
    rounds = options.rounds or (problem.quick_rounds if options.quick else problem.rounds)
    results: list[Result] = []
    for name in options.peers:
        if name in failures:
            results.append({"peer": name, "error": failures[name]})
            continue
        print(f"{problem.name}: {name} ...", file=sys.stderr, flush=True)
        results.append(run_peer(name, pythons[name], path, rounds, problem.warmup, options.timeout))
    return results


def run_peer(name: str, python: str, path: Path, rounds: int, warmup: int, timeout: float) -> Result:
    """Run one adapter in a process of its own and read what it wrote."""
    adapter = ADAPTERS / f"run_{name}.py"
    if not adapter.exists():
        return {"peer": name, "error": "no adapter"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "result.json")
        command = [python, str(adapter), str(path), "--rounds", str(rounds), "--warmup", str(warmup)]
        error = run_limited([*command, "--out", str(out)], Path(folder, "log.txt"), timeout)
        if error or not out.exists():
            return {"peer": name, "error": error or "wrote no result"}
        return json.loads(out.read_text())


def run_limited(command: list[str], log: Path, timeout: float) -> str:
    """Run a command within a time limit; the error in one line, or nothing."""
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"timed out after {timeout:.0f} s"
        finally:
            end_group(process)
    return last_line(log.read_text(errors="replace")) if code else ""


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process that was started here, with whatever it has left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def save(path: Path, report: dict[str, Any]) -> None:
    """Write the report as it stands, so that a later failure loses nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")


def table(problem: Problem, results: list[Result]) -> str:
    """A plain-text table of one problem."""
    ours = median_of(next((r for r in results if r["peer"] == OURS), {}))
    rows = [COLUMNS, *(row(result, ours) for result in results)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(aligned(cells, widths)).rstrip() for cells in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    notes = [FLUTE_REMARK, ""] if problem.name == "lr-mnist-flute" else [""]
    return "\n".join(["", title(problem, results), "", *lines, *notes])


def title(problem: Problem, results: list[Result]) -> str:
    """One line that says what was run."""
    data = next((result["data"] for result in results if "data" in result), "generated")
    return (
        f"{problem.name}: {problem.clients} clients, {problem.cohort} per round, {problem.steps} steps of "
        f"{problem.batch} rows, lr {problem.lr} ({data})"
    )


def aligned(cells: tuple[str, ...], widths: list[int]) -> list[str]:
    """Cells padded to their column: words to the left, numbers to the right."""
    left = {0, 1, len(COLUMNS) - 1}
    pairs = enumerate(zip(cells, widths, strict=True))
    return [cell.ljust(width) if column in left else cell.rjust(width) for column, (cell, width) in pairs]


def median_of(result: Result) -> float | None:
    """Median seconds per round; nothing for a peer that did not finish."""
    return statistics.median(result["seconds_per_round"]) if result.get("seconds_per_round") else None


def row(result: Result, ours: float | None) -> tuple[str, ...]:
    """One line of the table."""
    seconds = median_of(result)
    if seconds is None:
        return (result["peer"], "", "", "", "", "", "", result.get("error", "no rounds"))
    return (
        result["peer"],
        result["version"],
        f"{seconds:.4f}",
        f"{seconds / ours:.2f}" if ours else "-",
        f"{result['peak_rss_mb']:.0f}",
        f"{result['final_accuracy']:.4f}",
        f"{result['final_loss']:.4f}",
        remark(result),
    )


def remark(result: Result) -> str:
    """What a reader should know about a result."""
    own_order = "" if result.get("same_batches", True) else "its own batch order"
    return "; ".join(part for part in (own_order, result.get("remark", "")) if part)


if __name__ == "__main__":
    main()
