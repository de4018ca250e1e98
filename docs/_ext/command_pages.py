"""Generates a page with every command and option, with Typer's own generator."""

import re
import subprocess
import sys
from typing import Final

# Bold and italic text, as Typer writes Rich's markup.
STYLED: Final = re.compile(r'<span style="font-(?:weight|style): (?P<style>bold|italic)">(?P<text>.*?)</span>')
# The list of a group's commands. It is removed, because Typer truncates the summaries and the commands have sections.
SUMMARIES: Final = re.compile(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n")


def pages() -> dict[str, str]:
    """Returns the page by file name."""
    docs = ["utils", "docs", "--name", "longpipe", "--title", "Commands"]
    command = [sys.executable, "-m", "typer", "longpipe.cli", *docs]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own program
    text = SUMMARIES.sub("", STYLED.sub(lambda found: f"**{found['text']}**", text))
    return {"commands.md": text}
