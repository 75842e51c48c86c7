"""Run folders: flipped bytes, truncations and files of another run; then resume, report, predict, runs list.

A folder that was changed is refused by name, or says the same as before.
"""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path
from typing import Any

from fuzz_experiments import without_pages
from harness import main
from values import mutate
from verdicts import Answer, CaseError, type_in

SETTINGS = ["--data", "digits", "--samples", "60", "--clients", "3", "--model", "linear", "--rounds", "4"]
RUNS = {"one": ["--learning-rate", "0.1"], "other": ["--learning-rate", "0.3", "--seed", "1"]}
COMMANDS = ("resume", "report", "predict", "list", "best")
IGNORED = (".lock", "report.html")
"""Files that hold no result."""


class Fuzzer:
    """Draws and tries damaged run folders."""

    def __init__(self) -> None:
        self._made = Path()
        self._sound: dict[str, Any] = {}

    def prepare(self, folder: Path) -> None:
        """Train the runs that are damaged, and remember what each command says of a sound one."""
        import numpy as np

        self._made = folder
        if not (folder / "one").is_dir():
            for name, settings in RUNS.items():
                type_in(["run", *SETTINGS, *settings, "--checkpoint-every", "2", "--out", name, "--json"])
            np.savez("rows.npz", x=np.ones((3, 8, 8, 1), np.float32))
        for command in ("resume", "predict", "list", "best"):
            place = folder / f"sound-{command}"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree("one", place / "run")
            shutil.copy("rows.npz", place)
            with contextlib.chdir(place):
                self._sound[command] = _result(command, _ask(command))

    def draw(self, rng: random.Random) -> Any:
        """What happens to which file (by its place in the list), and which command follows."""
        kind = rng.choice(["mutate", "mutate", "swap", "delete", "empty", "link", "append"])
        return {
            "kind": kind,
            "file": rng.random(),
            "seed": rng.randrange(2**32),
            "command": rng.choice(COMMANDS),
        }

    def attempt(self, given: dict[str, Any]) -> Answer | None:
        """Damage a copy of the run and give the command."""
        shutil.copytree(self._made / "one", "run")
        shutil.copy(self._made / "rows.npz", "rows.npz")
        files = sorted(path for path in Path("run").rglob("*") if path.is_file() and path.name not in IGNORED)
        chosen = files[int(given["file"] * len(files))]
        before = chosen.read_bytes()
        _damage(given["kind"], chosen, self._made / "other" / chosen.relative_to("run"), given["seed"])
        changed = not chosen.is_file() or chosen.is_symlink() or chosen.read_bytes() != before
        answer = _ask(given["command"])
        if changed and answer.code == 0 and given["command"] in self._sound:
            result = _result(given["command"], answer)
            if result is not None and result != self._sound[given["command"]]:
                raise CaseError(
                    f"{chosen} changed ({given['kind']}), and {given['command']} says something else"
                )
        return answer


def _damage(kind: str, path: Path, other: Path, seed: int) -> None:
    content = path.read_bytes()
    if kind == "swap":
        if other.is_file():
            shutil.copy(other, path)
    elif kind == "mutate":
        path.write_bytes(mutate(random.Random(seed), content))
    elif kind == "append":
        path.write_bytes(content + b"\n0")
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
        if kind == "link":
            path.symlink_to("../../outside/precious.txt")


def _ask(command: str) -> Answer:
    rows = ["run", "rows.npz", "--probabilities", "--json"]
    draw = contextlib.nullcontext() if command == "report" else without_pages()
    with draw:
        return type_in(
            {
                "resume": ["resume", "run", "--json"],
                "report": ["report", "run"],
                "predict": ["predict", *rows],
                "best": ["predict", *rows, "--best"],
                "list": ["runs", "list", ".", "--json"],
            }[command]
        )


def _result(command: str, answer: Answer) -> Any:
    """What must not change in silence; None where a list says itself that the run is damaged."""
    document = answer.document
    if command == "list":
        rows = document if isinstance(document, list) else next(iter(document.values()), [])
        ordinary = [row for row in rows if row.get("state") == "finished"]
        return [
            {k: v for k, v in row.items() if k in ("method", "data", "rounds")} for row in ordinary
        ] or None
    if command == "resume" and isinstance(document, dict):  # a damaged checkpoint is skipped, with an event
        return {name: value for name, value in document.items() if name != "events"}
    return document


if __name__ == "__main__":
    main("fuzz_folders")
