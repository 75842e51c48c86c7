"""Command lines: every command that ends by itself, with its own options and values of all kinds.

Commands that wait for other machines (`serve`, `join`) or take long (`reproduce`, `benchmark`) are left out.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from fuzz_experiments import COSTLY, LISTS, setting_names, without_pages
from harness import main
from values import TEXTS as ALL_TEXTS
from verdicts import Answer, type_in

LEFT_OUT = ("serve", "join", "reproduce", "benchmark")
TINY = {
    **{"--samples": "60", "--clients": "3", "--model": "linear", "--rounds": "1", "--seeds": "1"},
    **{"--budget": "2", "--algorithms": "fedavg", "--data": "digits", "--out": "out", "--jobs": "1"},
}
"""What keeps a call small; given where a command has the option, unless the option itself is drawn."""
SMALL = (
    *COSTLY,
    "seeds",
    "budget",
    "jobs",
    "draws",
    "trials",
    "repeats",
    "runs",
    "shadows",
    "devices",
    "visits",
    "batches",
)
TEXTS = [text for text in ALL_TEXTS if "outside" not in text]  # paths that a user types may be anywhere
WORDS = [
    "run",
    "rows.csv",
    "digits",
    "gaia",
    "linear: y ~ x",
    "fedavg",
    "dirichlet:0.3",
    "0.5",
    "learning_rate=0.1,1",
]


class Fuzzer:
    """Draws and tries command lines."""

    def __init__(self) -> None:
        self._made = Path()

    def prepare(self, folder: Path) -> None:
        """Train two runs for the commands that need some."""
        self._made = folder
        more = ["--checkpoint-every", "1", "--unlearning", "full", "--rounds", "2", "--json"]
        tiny = [
            word for name in ("--data", "--samples", "--clients", "--model") for word in (name, TINY[name])
        ]
        for name in ("run", "other"):
            if not (folder / name).is_dir():
                with without_pages():
                    type_in(["run", *tiny, *more, "--out", name])

    def draw(self, rng: random.Random) -> Any:
        """The words after `unalike`."""
        path, command = rng.choice(commands())
        options = [one for one in command.params if one.param_type_name == "option" and one.opts]
        chosen = rng.sample(options, min(len(options), rng.randint(0, 4)))
        words = [_argument(rng, one) for one in command.params if one.param_type_name == "argument"]
        names = {name for one in options for name in one.opts}
        drawn = {one.opts[0] for one in chosen}
        for name, value in TINY.items():
            if name in names and name not in drawn:
                words += [name, value]
        for one in chosen:
            words += _option(rng, one)
        if "--json" in names and rng.random() < 0.5:
            words.append("--json")
        if rng.random() < 0.1:
            words.insert(rng.randint(0, len(words)), rng.choice(["--", "-", "--unknown", "", *TEXTS]))
        return [*path, *(word for word in words if "\0" not in word)]

    def attempt(self, given: list[str]) -> Answer | None:
        """Type it in a folder with a small table."""
        rows = "".join(f"{'ab'[i % 2]},{i * 0.1:.1f},{i % 3},{i % 2}\n" for i in range(24))
        Path("rows.csv").write_text("site,x,z,y\n" + rows)
        if "ray" in given or "flower" in given:
            return None
        for name in ("run", "other"):
            shutil.copytree(self._made / name, name)
        with without_pages():
            return type_in(given)


def commands() -> list[tuple[list[str], Any]]:
    """All commands by their words."""
    import typer.main

    from unalike.cli import app

    top, found = typer.main.get_command(app), []
    for name, command in top.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        if name not in LEFT_OUT:
            found += [([name], command)] if not inner else [([name, sub], one) for sub, one in inner.items()]
    return sorted(found, key=lambda one: one[0])


def _argument(rng: random.Random, argument: Any) -> str:
    known = {"data": "digits", "folder": "run", "folders": "run", "runs": "run", "rows": "rows.csv"}
    known |= {"formula": "y ~ x + z", "kind": "algorithms", "file": "--quiet", "study": "nothing"}
    if rng.random() < 0.8:
        return known.get(str(argument.name), "digits")
    return rng.choice([*WORDS, *TEXTS])


def _option(rng: random.Random, option: Any) -> list[str]:
    name, kind = rng.choice(option.opts), str(option.type)
    if option.is_flag:
        return [name]
    if rng.random() < 0.15:
        return [name, rng.choice(TEXTS)]
    if str(option.name) in SMALL:
        return [name, rng.choice(["0", "1", "2", "3", "2", "-1", "99999999999999999999999"])]
    if str(option.name) in LISTS:
        return [name, rng.choice(setting_names(str(option.name))) + rng.choice(["", "", "", ":1", ":0.5,2"])]
    choices = getattr(option.type, "choices", None)
    if choices:
        return [name, str(rng.choice(list(choices)))]
    if "int" in kind.lower():
        return [name, rng.choice(["0", "1", "2", "3", "5", "-1", "1000000"])]
    if "float" in kind.lower():
        return [name, rng.choice(["0", "0.1", "0.5", "1", "2", "-1", "1e-9", "1e30", "nan", "inf"])]
    return [name, rng.choice([*WORDS, "n", "0", "1", "a.csv", "x"])]


if __name__ == "__main__":
    main("fuzz_commands")
