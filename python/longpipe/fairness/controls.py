"""Senders to compare, by name: a control of longpipe, one of the user, or a real stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longpipe.errors import ScenarioError, nearest
from longpipe.errors.alternatives import known as known_name
from longpipe.scenario.control_kinds import BUILT_IN, OWN
from longpipe.scenario.remedies import of_control
from longpipe.scenario.stack import CONTROLS, MEDIA


@dataclass(frozen=True)
class Sender:
    """A sender: its name in tables, and the fields of a group of flows that it sets."""

    name: str
    fields: Mapping[str, Any]

    @classmethod
    def parse(cls, text: str, option: str = "--controls") -> Sender:
        """Parses "cubic", "module:FILE", "python:CLASS", "stack:quinn-bbr", or "package.module:Class".

        "own-stack:FILE:NAME-CONTROL" is the stack NAME of a shared object (.so), a Python program (.py) or another
        program, with X ScenarioError, which names
        `option`, for other text.
        """
        text = text.strip()
        kind, colon, rest = text.partition(":")
        if kind == "stack":
            stack, _, control = rest.partition("-")
            # Media flows send at their own rate, not as fast as possible.
            bulk = {stack_name: controls for stack_name, controls in CONTROLS.items() if stack_name != MEDIA}
            stack_controls = [
                f"stack:{stack_name}-{control}" for stack_name, controls in bulk.items() for control in controls
            ]
            if text not in stack_controls:
                raise ScenarioError(f"{option}: {text!r}; {nearest(text, stack_controls)}")
            return cls(rest, {"traffic": {"kind": "stack", "stack": stack, "congestion": control}})
        if kind == "own-stack":
            return _own_stack(text, rest, option)
        name, value = control_of(f"python:{text}" if colon and kind not in OWN else text, option)
        return cls(name, {"tcp": {"congestion": value, **of_control(value, "linux-6")}})


def _own_stack(text: str, rest: str, option: str) -> Sender:
    """Returns the stack of a shared object or of a program, given as FILE, FILE:NAME or FILE:NAME-CONTROL."""
    file, _, named = rest.partition(":")
    if not file:
        raise ScenarioError(
            f"{option}: {text!r}; needs a shared object or a program, as in own-stack:mine.so, own-stack:mine.py or "
            "own-stack:mine.so:quinn-bbr"
        )
    # The control follows the last hyphen, because names of stacks may contain one: s2n-quic-cubic.
    stack, hyphen, last = named.rpartition("-")
    stack, control = (stack, last) if hyphen else (named, "")
    sources: dict[str, dict[str, Any]] = {".so": {"file": file}, ".py": {"command": ["python", file]}}
    # A program in the working directory, which PATH does not contain.
    program = f"./{file}" if Path(file).parent == Path() and Path(file).is_file() else file
    traffic: dict[str, Any] = {"kind": "own-stack"} | sources.get(Path(file).suffix, {"command": [program]})
    traffic |= {"stack": stack} if stack else {}
    traffic |= {"settings": {"congestion": control}} if control else {}
    return Sender(named or Path(file).stem, {"traffic": traffic})


def control_of(text: str, option: str = "--control") -> tuple[str, Any]:
    """Returns the name and value of a control: "module:FILE", "python:CLASS", or the name of one of longpipe's own.

    For any other text, raises ScenarioError that names `option`.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "module" and rest:
        return Path(rest).stem, {"kind": "module", "file": rest}
    if colon and kind == "python" and rest:
        return rest.rpartition(":")[2], {"kind": "python", "class": rest}
    if text not in BUILT_IN:
        forms = "or 'module:FILE.c', 'module:FILE.so', 'python:FILE.py:CLASS'"
        hint = known_name(text, BUILT_IN) or nearest(text, BUILT_IN)
        raise ScenarioError(f"{option}: {text!r}; {hint}, {forms}")
    return text, text


def senders(text: str) -> tuple[Sender, ...]:
    """Parses a comma-separated list; raises ScenarioError for fewer than two different senders."""
    parsed = [Sender.parse(word) for word in text.split(",") if word.strip()]
    names = [sender.name for sender in parsed]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(f"--controls: {name!r} occurs {names.count(name)} times; needs each once")
    if len(parsed) < 2:
        raise ScenarioError(f"--controls: {text!r}; needs at least two, as in cubic,bbr")
    return tuple(parsed)
