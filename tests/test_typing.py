"""A pytree in the role of another is a type error, and costs nothing at run time."""

import importlib.util
from pathlib import Path

import pytest

from unalike import typing as roles

ROLES = ("State", "Message", "Upload", "Memory")
CODE = """
from roles import Memory, Message, State, Upload

def take_state(x: State) -> None: ...
def take_message(x: Message) -> None: ...
def take_upload(x: Upload) -> None: ...
def take_memory(x: Memory) -> None: ...
"""


@pytest.mark.parametrize("role", ROLES)
def test_at_run_time_a_role_is_the_pytree_itself(role):
    tree = {"params": 1}
    assert getattr(roles, role)(tree) is tree


def test_each_pair_of_roles_is_told_apart(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    from mypy import api

    copy, file = tmp_path / "roles.py", tmp_path / "swapped.py"
    copy.write_text(Path(roles.__file__).read_text())
    calls = [f"take_{wanted.lower()}({given}({{}}))" for wanted in ROLES for given in ROLES]
    file.write_text(CODE + "\n".join(calls) + "\n")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nfollow_imports = skip\n")
    said, _, _ = api.run([str(copy), str(file), f"--config-file={config}", f"--cache-dir={tmp_path}"])
    first = len(CODE.splitlines()) + 1
    wrong = {int(line.split(":")[1]) - first for line in said.splitlines() if "arg-type" in line}
    assert wrong == {i for i in range(len(calls)) if i // len(ROLES) != i % len(ROLES)}
