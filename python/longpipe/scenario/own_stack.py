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
from longpipe.scenario.stack import stack_tcp_of
from longpipe.scenario.tcp import Tcp
from longpipe.units import SIZE

# A size with a unit.
_SIZE: Final = re.compile(r"[0-9]+ ?(?:[kKMG]i?)?B")


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
        description="Settings for the stack by name, as {window = 20}; the stack gets a size, as '16 MiB', in bytes",
    )
    version: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Version of a command, which then identifies its runs instead of the files that it names",
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
        if self.version is not None and self.command is None:
            raise ValueError("version: needs a command; the digest of a file is its version")
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
            return own_stacks.find_object(self.file)
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
            "settings": core_values({name: _in_bytes(value) for name, value in self.settings.items()}),
        }


def _in_bytes(value: Value) -> Value:
    """Returns a size with a unit, such as "16 MiB", as its number of bytes, and any other value unchanged."""
    return SIZE.parse(value) if isinstance(value, str) and _SIZE.fullmatch(value) else value


def own_stack_tcp(stack: OwnStack) -> Tcp:
    """Returns TCP fields for a flow with a stack; they only determine the length of its packets."""
    return stack_tcp_of(SIZE.parse(stack.longest_packet), None)
