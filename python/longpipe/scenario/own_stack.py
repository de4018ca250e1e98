"""A protocol stack of the user at both ends of a flow: a program, or a shared object for `longpipe_end.h`."""

import re
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from longpipe.errors import ScenarioError
from longpipe.scenario.base import CommandLine, PathMtu
from longpipe.scenario.digests import is_as_stored, is_optional, keep_digest
from longpipe.scenario.own_control import Value, core_values
from longpipe.scenario.source import Source
from longpipe.scenario.stack import requests_of, stack_tcp_of
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.web import Web
from longpipe.units import SIZE, TIME

# A size, and a time, with a unit.
_SIZE: Final = re.compile(r"[0-9]+ ?(?:[kKMG]i?)?B")
_TIME: Final = re.compile(r"[0-9]+(?:\.[0-9]+)? ?(?:s|ms|us|µs|ns|ps)")
# Units at the end of a setting's name, with their numbers of picoseconds.
_NAMED_UNITS: Final = {"_s": 10**12, "_ms": 10**9, "_us": 10**6, "_ns": 10**3, "_ps": 1}


class OwnStack(Source):
    """A protocol stack of your own at both ends: a program, or a shared object for longpipe_end.h."""

    core_kind: ClassVar[str | None] = "stack"
    in_lab: ClassVar[bool] = False
    kind: Literal["own-stack"] = "own-stack"
    command: CommandLine | None = Field(
        default=None,
        description="A program and its arguments, as 'python mine.py'; it runs once for each end, and speaks the "
        "protocol of docs/own-stacks.md over its standard input and output",
    )
    file: str | None = Field(
        default=None, min_length=1, max_length=4096, description="A shared object, instead of a command"
    )
    stack: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Name of the stack, required for a shared object with several; the file's name if absent",
    )
    settings: dict[str, Value] = Field(
        default_factory=dict,
        max_length=64,
        description="Settings for the stack by name, as {window = 20}; it gets sizes, as '16 MiB', in bytes, and times "
        "in the unit of the name, as {timeout_s = '20 ms'}",
    )
    web: Web | None = Field(
        default=None,
        description="A web client at the receiver, whose requests the stack gets as its setting web; {} is the default "
        "client",
    )
    version: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Version of the stack, which then identifies its runs instead of the content of its files",
    )
    longest_packet: PathMtu = Field(
        default="1480 B", description="Largest IP packet that the stack may send, including 28 bytes of headers [bytes]"
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="SHA-256 of the object, or of the command and its files; computed if absent, otherwise compared",
    )

    @model_validator(mode="after")
    def _found(self) -> Self:
        if (self.command is None) == (self.file is None):
            raise ValueError("command: needs either a command or a file")
        if self.web is not None and "web" in self.settings:
            raise ValueError("settings.web: needs to be absent, because the field web supplies it")
        if self.digest is not None and is_as_stored():
            return self
        try:
            digest = self._find()
        except ScenarioError as error:
            if not is_optional(self.digest, error):
                raise ValueError(f"{'command' if self.file is None else 'file'}: {error}") from None
            return self
        keep_digest(self, digest, noun="stack")
        return self

    def _find(self) -> str:
        from longpipe import own_stacks

        if self.file is not None:
            return own_stacks.find_object(self.file, self.version)
        return own_stacks.find_program(self.command or (), self.version)

    def __hash__(self) -> int:
        """Hashes the identity, because settings cannot be hashed."""
        return hash((self.kind, self.digest))

    @property
    def name(self) -> str:
        """Returns the name under which results show the stack."""
        if self.stack is not None:
            return self.stack
        if self.file is not None:
            return Path(self.file).stem
        words = self.command or ("",)
        # The stack `python mine.py` is named after its script.
        scripts = [word for word in words[1:2] if Path(word).suffix]
        return Path(scripts[0] if scripts else words[0]).stem

    def __getstate__(self) -> dict[Any, Any]:
        """Returns the fields and what another process needs in order to find the stack."""
        from longpipe import own_stacks

        return {**super().__getstate__(), "carried": own_stacks.carried(self.digest or "")}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        carried = state.pop("carried")
        super().__setstate__(state)
        if carried is not None and self.digest is not None:
            from longpipe import own_stacks

            own_stacks.remember(self.digest, carried)

    def core(self) -> dict[str, Any]:
        """Converts a stack for the core, which passes the settings on as text."""
        return {
            "kind": self.core_kind,
            "stack": self.name,
            "version": self.digest,
            "settings": core_values({name: _in_unit(name, value) for name, value in self.settings.items()}),
            **requests_of(self.web),
        }


def _in_unit(name: str, value: Value) -> Value:
    """Returns a size with a unit as its number of bytes, and a time as its number of the unit that ends the name.

    Any other value is returned unchanged.
    """
    if not isinstance(value, str):
        return value
    if _SIZE.fullmatch(value):
        return SIZE.parse(value)
    named = next((unit for unit in _NAMED_UNITS if name.endswith(unit)), None)
    if named is None or not _TIME.fullmatch(value):
        return value
    whole, rest = divmod(TIME.parse(value), scale := _NAMED_UNITS[named])
    return whole if rest == 0 else whole + rest / scale


def own_stack_tcp(stack: OwnStack) -> Tcp:
    """Returns TCP fields for a flow with a stack; they only determine the length of its packets."""
    return stack_tcp_of(SIZE.parse(stack.longest_packet), None)
