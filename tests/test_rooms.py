"""Who may import whom, is every module on the map, and is every public name what it seems to be?

A room is a folder below src/unalike, or a module beside them. A room imports only rooms that come before it
in ORDER, at the top of a file, inside functions and for types alike.
"""

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import unalike

SOURCE = Path(unalike.__file__).parent
ORDER = (
    *("errors", "typing", "core", "data", "models", "runs", "memorization", "algorithms", "participation"),
    *(
        "timing",
        "topology",
        "aggregation",
        "privacy",
        "trust",
        "engine",
        "training",
        "experiments",
        "analytics",
        "testing",
    ),
    *("theory", "advice", "report", "deploy", "cli", "__main__"),
)
KNOWN: set[tuple[str, str]] = {("training/run.py", "experiments")}
"""Imports that break the order, with the room that they reach up to."""
ROOMS = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
MODULES = [
    path.relative_to(SOURCE).with_suffix("").as_posix()
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name not in ("__init__.py", "__main__.py")
]


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in the file."""
    package, found = ("unalike", *path.relative_to(SOURCE).parent.parts), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{module}.{name.name}" for name in node.names}
    return {name.split(".")[1] for name in found if name.startswith("unalike.")} & ROOMS


def test_every_room_has_its_place_in_the_order():
    assert set(ORDER) == ROOMS - {"__init__"}


def test_a_room_imports_only_rooms_before_it():
    broken = {
        (path.relative_to(SOURCE).as_posix(), other)
        for path in SOURCE.rglob("*.py")
        if (room := path.relative_to(SOURCE).with_suffix("").parts[0]) != "__init__"
        for other in imported_rooms(path)
        if ORDER.index(other) > ORDER.index(room)
    }
    assert broken == KNOWN


def test_the_package_itself_imports_only_what_is_quick():
    assert imported_rooms(SOURCE / "__init__.py") == {"core"}


# The map -------------------------------------------------------------------------------------------------


def mapped() -> dict[str, list[str]]:
    """Modules by room, as the first block of code under "## Rooms" in docs/design.md lists them.

    A line `room/   what it answers` for each, then indented its modules, `sub/ module, module` for a folder
    in it. A room that is one module has a line `room.py   what it answers`.
    """
    page = (SOURCE.parents[1] / "docs" / "design.md").read_text()
    block = re.search(r"^## Rooms\n.*?^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE).group(1)
    rooms: dict[str, list[str]] = {}
    for line in block.splitlines():
        if not line.startswith(" "):
            room, folder = line.split()[0], ""
            rooms[room] = []
            continue
        if not line.startswith(" " * 8):
            folder = (re.match(r" +(\w+/) ", line) or [None, ""])[1]
        rooms[room] += [folder + name.strip() for name in line.replace(folder, "").split(",") if name.strip()]
    return rooms


def test_the_map_shows_every_room_and_every_module_and_nothing_else():
    shown = [
        f"{room}{module}" if room.endswith("/") else room.removesuffix(".py")
        for room, modules in mapped().items()
        for module in (modules if room.endswith("/") else [""])
    ]
    assert sorted(set(MODULES) - set(shown)) == []
    assert sorted(set(shown) - set(MODULES)) == []
    assert len(shown) == len(set(shown))


def test_the_map_has_the_rooms_in_their_order():
    assert [room.removesuffix("/").removesuffix(".py") for room in mapped()] == list(ORDER[:-1])


# Names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", unalike.__all__)
def test_every_public_name_is_there(name):
    assert getattr(unalike, name) is not None


def packages():
    yield "unalike"
    for found in pkgutil.walk_packages([str(SOURCE)], "unalike."):
        if found.ispkg:
            yield found.name


@pytest.mark.parametrize("name", list(packages()))
def test_no_module_is_hidden_by_an_object_of_its_name(name):
    """`unalike.models.losses` is the module, whatever `unalike.models` imports from it."""
    package = importlib.import_module(name)
    for found in pkgutil.iter_modules(package.__path__):
        if found.name != "__main__":
            shown = vars(package).get(found.name)
            assert shown is None or isinstance(shown, ModuleType), f"{name}.{found.name}"
