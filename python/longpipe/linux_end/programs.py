"""Identifies and checks the user's programs that Linux runs at the ends of flows."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from longpipe.errors import ScenarioError, in_one_line
from longpipe.own_stacks import find_program

# Directories in which programs are searched for if the user has no PATH.
_SEARCH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def digest_of(command: Sequence[str], serve: Sequence[str] | None) -> str:
    """Returns the digest of a flow's programs. If one is missing, raises a ScenarioError that names the field."""
    digest = hashlib.sha256(b"longpipe guest\n")
    programs = {"command": command} if serve is None else {"command": command, "serve": serve}
    for name, words in programs.items():
        try:
            digest.update(f"{name} {find_program(words, None)}\n".encode())
        except ScenarioError as error:
            raise ScenarioError(f"{name}: {error}") from None
    return digest.hexdigest()


def check(settings: Mapping[str, str]) -> None:
    """Raises ScenarioError if the programs in a stack's settings are missing, or do not match their digest."""
    command = json.loads(settings["command"])
    try:
        digest = digest_of(command, json.loads(settings["serve"]) if "serve" in settings else None)
    except ScenarioError as error:
        raise ScenarioError(f"traffic.{error}") from None
    if digest != settings["digest"]:
        needs = "needs the files as they were when the scenario was checked"
        raise ScenarioError(f"traffic.command: {in_one_line(' '.join(command))} has changed; {needs}")


def environment() -> tuple[Path, str, Path]:
    """Returns the working directory, the PATH and the Python interpreter for programs in the guest."""
    return Path.cwd(), os.environ.get("PATH") or _SEARCH, Path(sys.executable)
