"""Registers the real protocol stacks of a scenario in the core: of longpipe_stacks, Linux, and the user's own."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.scenario.stack import LINUX, own_stacks_of, programs_of, stacks_of

PACKAGE: Final = "longpipe_stacks"
OBJECT: Final = "liblongpipe_stacks.so"
# Program that sends with quinn over UDP sockets: crates/stacks/transfer.
TRANSFER: Final = "quinn-transfer"
_GET: Final = "`pip install ./crates/stacks` or `make stacks` in a clone of longpipe"


def installed(name: str = OBJECT) -> Path | None:
    """Returns the object with the stacks, or another file of the package; None if the package is not installed."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / name).is_file():
            return path
    return None


def transfer() -> Path:
    """Returns the program that sends in real time. Raises ScenarioError if it is not installed."""
    if (path := installed(TRANSFER)) is None:
        raise ScenarioError(f"{TRANSFER}: not installed; needs {_GET}")
    return path


def _load_linux(version: str, programs: list[dict[str, str]]) -> None:
    """Registers the kernel, and checks the programs it runs against their flows' settings."""
    from longpipe import linux_end

    linux_end.register(version)
    if programs:
        from longpipe.linux_end.programs import check

        for settings in programs:
            check(settings)


def load(resolved: Mapping[str, Any]) -> None:
    """Loads the stacks that a resolved scenario uses. Raises ScenarioError if they are missing."""
    if own := own_stacks_of(resolved):
        from longpipe import own_stacks

        for digest in own:
            own_stacks.register(digest)
    wanted = stacks_of(resolved)
    if kernels := [version for name, version in wanted if name == LINUX]:
        _load_linux(kernels[0], programs_of(resolved))
    if not (wanted := [stack for stack in wanted if stack[0] != LINUX]):
        return
    name, version = wanted[0]
    if (path := installed()) is None:
        raise ScenarioError(f"traffic.stack: {name} is not installed; needs {_GET}")
    try:
        has = _core.register_stacks(path)
    except _core.ScenarioError as error:
        raise ScenarioError(f"traffic.stack: {error}; needs {_GET}") from None
    for name, version in wanted:
        if f"{name} {version}" not in has.split(", "):
            raise ScenarioError(f"traffic.stack: {name} {version}; {PACKAGE} has {has}: needs {_GET}")
