"""Does every command line of the README and the docs exist, with all of its options?"""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from unalike.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM = get_command(app)


def command_lines(text):
    """What stands after `unalike` in blocks of shell lines, continued lines joined, comments left out."""
    for block in re.findall(r"```(?:sh|bash|console)?\n(.*?)```", text, re.DOTALL):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            line = line.removeprefix("$ ").strip()
            if line.startswith("unalike "):
                yield line


def inline_commands(text):
    """`unalike command --option ...` within sentences."""
    return [found for found in re.findall(r"`(unalike [^`\n]+)`", text) if "..." not in found]


LINES = sorted(
    {
        line
        for page in PAGES
        for line in (*command_lines(page.read_text()), *inline_commands(page.read_text()))
    }
)


def words_of(line):
    """A line's words before a pipe, a redirection or a comment; None where it is a pattern, not a line."""
    if any(mark in line for mark in ("[", "|", "…")):
        line = re.sub(r"\[[^\]]*\]", "", line.partition(" | ")[0])
        if "|" in line or "…" in line:
            return None
    try:
        return shlex.split(line, comments=True)[1:]
    except ValueError:
        return None


def found_command(words):
    """The command that words name, and the words that are left."""
    command = PROGRAM
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        if words[0] not in command.commands:
            break
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_of_the_docs_exists(line):
    words = words_of(line)
    if not words or words[0].isupper():
        pytest.skip("a pattern of command lines, not one of them")
    command, rest = found_command(words)
    assert command is not PROGRAM or words[0].startswith("-"), f"there is no command {words[0]!r}"
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    known |= {"--help", "--version", "--plugin", *(o for p in PROGRAM.params for o in p.opts)}
    asked = {word.partition("=")[0].rstrip(",;:.)") for word in rest if re.match(r"--[a-z]", word)}
    assert asked <= known, f"there is no {', '.join(sorted(asked - known))}"
