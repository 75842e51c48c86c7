"""Data files: CSV, NPZ, LEAF JSON, Parquet and GML, sound ones that are damaged or strange in one place."""

from __future__ import annotations

import base64
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_experiments import without_pages
from harness import main
from values import TEXTS, any_number, mutate
from verdicts import Answer, type_in

CELLS = [
    "",
    "NA",
    "?",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "=1+1",
    "2024-02-30",
    "1,5",
    '"',
    "x" * 3000,
    "\x00",
    "٣",
]
KINDS = ("csv", "csv", "npz", "leaf", "roles", "parquet", "gml")


class Fuzzer:
    """Draws and tries data files."""

    def draw(self, rng: random.Random) -> Any:
        """A kind of file, its bytes, and the command."""
        kind = rng.choice(KINDS)
        content = MAKERS[kind](rng)
        if rng.random() < 0.3:
            content = mutate(rng, content)
        return {
            **{
                "kind": kind,
                "content": base64.b64encode(content).decode(),
                "use": rng.choice(["inspect", "run"]),
            },
            "by_client": rng.random() < 0.7,
        }

    def attempt(self, given: dict[str, Any]) -> Answer | None:
        """Look at the file, or train on it."""
        kind, content = given["kind"], base64.b64decode(given["content"])
        if kind == "gml":
            Path("map.gml").write_bytes(content)
            return type_in(["network", "design", "--underlay", "map.gml", "--design", "ring", "--json"])
        more = []
        if kind in ("leaf", "roles"):
            data = "femnist" if kind == "leaf" else "leaf_shakespeare"
            Path(data, "train").mkdir(parents=True)
            Path(data, "train", "all.json").write_bytes(content)
            os.environ["UNALIKE_DATA"] = str(Path.cwd())
        elif kind == "npz" or not given["by_client"]:
            Path("sites").mkdir()
            for name in "ab":
                Path("sites", f"{name}.{kind}").write_bytes(content)
            data = "folder:sites"
        else:
            Path(f"all.{kind}").write_bytes(content)
            data, more = f"all.{kind}", ["--client-column", "site"]
        if given["use"] == "inspect":
            return type_in(["inspect", data, *more, "--json"])
        with without_pages():
            return type_in(
                ["run", "--data", data, *more, "--model", "linear", "--rounds", "1", "--out", "run", "--json"]
            )


def _csv(rng: random.Random) -> bytes:
    lines = [["site", "age", "town", "seen", "y"]]
    for i in range(rng.choice([0, 1, 2, 20, 20, 60, 60])):
        day = f"2024-01-{1 + i % 28:02}"
        lines.append([f"s{i % 3}", str(20 + i), rng.choice("abc"), day, rng.choice(["ill", "well"])])
    for _ in range(rng.randint(0, 3)):
        row = rng.choice(lines)
        if row:
            row[rng.randrange(len(row))] = rng.choice([*CELLS, *TEXTS])
    if rng.random() < 0.1:
        rng.choice(lines).append(rng.choice(CELLS))
    glue = rng.choice([*[","] * 9, ";", "\t"])
    encoding = rng.choice([*["utf-8"] * 9, "utf-8-sig", "utf-16", "latin-1"])
    return rng.choice(["\n", "\r\n"]).join(glue.join(row) for row in lines).encode(encoding, "replace")


def _npz(rng: random.Random) -> bytes:
    draw = np.random.default_rng(rng.randrange(2**32))
    rows = rng.choice([0, 1, 2, 30, 30, 30])
    shape = rng.choice([*[(rows, 3)] * 5, (rows,), (rows, 2, 2, 1), (rows, 0), ()])
    x = draw.normal(size=shape).astype(rng.choice([np.float32, np.float64, np.int64, np.complex64]))
    y: Any = draw.integers(0, 2, size=rng.choice([rows, rows, rows, rows + 1]))
    if rng.random() < 0.3 and x.size and x.dtype.kind == "f":
        x.flat[0] = rng.choice([np.nan, np.inf, 1e38])
    if rng.random() < 0.3:
        y = y.astype(rng.choice([np.float64, "U5", np.int8, np.uint64]))
    buffer = io.BytesIO()
    arrays = {"x": x, "y": y, rng.choice(["columns", "z", "x2"]): np.array(["a", "b", "c"])}
    np.savez(buffer, **{name: arrays[name] for name in arrays if rng.random() < 0.95})
    return buffer.getvalue()


def _leaf(rng: random.Random) -> bytes:
    users = [f"u{i}" for i in range(rng.choice([0, 1, 3]))]
    images = [[(i + j) % 7 / 7 for j in range(784)] for i in range(6)]
    data: dict[str, Any] = {user: {"x": images, "y": [i % 2 for i in range(6)]} for user in users}
    return _damaged_leaf(rng, users, data)


def _roles(rng: random.Random) -> bytes:
    users = [f"u{i}" for i in range(rng.choice([0, 1, 3]))]
    data: dict[str, Any] = {user: {"x": ["to be", "o be "] * 3, "y": [" ", "o"] * 3} for user in users}
    return _damaged_leaf(rng, users, data)


def _damaged_leaf(rng: random.Random, users: list[str], data: dict[str, Any]) -> bytes:
    document: dict[str, Any] = {"users": users, "num_samples": [6] * len(users), "user_data": data}
    odd: list[Any] = [
        None,
        [],
        {},
        "x",
        [[1.0], [1.0, 2.0]],
        [["a"]],
        ["ill", "well"],
        [1e400],
        [[[[]]]],
        True,
    ]
    odd += [any_number(rng), {"x": 1}, [[float("nan"), 0.0]] * 6, [0.5] * 6, [2**70] * 6, [[]] * 6]
    for _ in range(rng.randint(0, 2)):
        place = rng.choice([document, data, *(mine for mine in data.values() if isinstance(mine, dict))])
        key = rng.choice([*place, "new"])
        place[key] = rng.choice(odd)
    return json.dumps(document).encode()


def _parquet(rng: random.Random) -> bytes:
    import pyarrow
    import pyarrow.parquet

    rows = rng.choice([0, 1, 20, 20, 20])
    columns: dict[str, Any] = {
        **{"site": [f"s{i % 2}" for i in range(rows)], "age": [20.0 + i for i in range(rows)]},
        **{"sex": ["fm"[i % 2] for i in range(rows)], "y": [i % 2 for i in range(rows)]},
    }
    odd: list[Any] = [
        [None] * rows,
        [[1, 2]] * rows,
        [{"a": 1}] * rows,
        [b"\xff"] * rows,
        [float("nan")] * rows,
    ]
    odd += [["=1"] * rows, [2**60] * rows, [True] * rows, [float("inf")] * rows]
    for _ in range(rng.randint(0, 2)):
        columns[rng.choice([*columns, "new", "", "a,b"])] = rng.choice(odd)
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _gml(rng: random.Random) -> bytes:
    count = rng.choice([0, 1, 2, 5, 5, 8])
    cells: list[Any] = [0, 1, 2, -1, 99, "x", 1e308, "nan", 2**70, ""]
    lines = []
    for i in range(count):
        lines += ["node [", f"id {i}", f'label "n{i}"', f"Latitude {40 + i}", f"Longitude {-3 + 2 * i}", "]"]
    for i in range(count if count > 1 else 0):
        lines += ["edge [", f"source {i}", f"target {(i + 1) % count}", "]"]
    for _ in range(rng.randint(0, 3)):
        if lines:
            place = rng.randrange(len(lines))
            words = lines[place].split(" ")
            words[rng.randrange(len(words))] = str(rng.choice(cells))
            lines[place] = " ".join(words)
    return "\n".join(["graph [", *lines, "]"]).encode()


MAKERS = {"csv": _csv, "npz": _npz, "leaf": _leaf, "roles": _roles, "parquet": _parquet, "gml": _gml}

if __name__ == "__main__":
    main("fuzz_data")
