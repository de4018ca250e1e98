"""The user's code in a bundle: shared objects with controllers or stacks, and pickled classes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, shown
from longpipe.scenario.control_kinds import OWN
from longpipe.scenario.digests import identified
from longpipe.scenario.module import modules_of
from longpipe.scenario.stack import own_stacks_of

if TYPE_CHECKING:
    from longpipe.scenario import Scenario

FOLDER: Final = "controls"
_FIELDS: Final = ("digest", "kind", "name", "file")


@dataclass(frozen=True)
class BundledControl:
    """A controller or a stack: the digest that scenarios contain, the user's name for it, and its content."""

    digest: str
    # "module" for an object with a controller, "python" for a pickled class, "stack" for an object with stacks.
    kind: str
    name: str
    content: bytes

    @property
    def file(self) -> str:
        """Name in the bundle."""
        suffix = "pickle" if self.kind == "python" else "so"
        return f"{FOLDER}/{self.digest}.{suffix}"

    def remember(self) -> None:
        """Registers the controller in this process."""
        if self.kind == "python":
            from longpipe.controls import classes

            classes.remember(self.digest, self.name, self.content)
        elif self.kind == "stack":
            from longpipe import own_stacks

            own_stacks.remember(self.digest, ("object", self.name, self.content))
        else:
            from longpipe.controls import objects

            objects.remember(self.digest, self.name, self.content)


def controls_of(scenarios: Iterable[Scenario]) -> dict[str, BundledControl]:
    """Returns the controllers of scenarios by digest. Raises ScenarioError if this machine lacks one."""
    controls: dict[str, BundledControl] = {}
    for scenario in scenarios:
        for digest in modules_of(scenario.resolved):
            if digest not in controls:
                controls[digest] = _known(digest, scenario)
        for digest in own_stacks_of(scenario.resolved):
            if digest not in controls:
                controls[digest] = _stack(digest, scenario)
    return controls


def _stack(digest: str, scenario: Scenario) -> BundledControl:
    """Returns a user's stack for a bundle. Raises ScenarioError if it is a program, which a bundle cannot contain."""
    from longpipe import own_stacks
    from longpipe.scenario.own_names import name_of_stack

    carried = own_stacks.carried(digest)
    if carried is None or carried[0] != "object":
        name = name_of_stack(digest, scenario)
        raise ScenarioError(
            f"--bundle: {name} is a program, which a bundle cannot contain; needs a stack that is a shared object"
        )
    _, name, content = carried
    if hashlib.sha256(content).hexdigest() != digest:
        raise ScenarioError(f"--bundle: {name} is identified by its version; needs an object without a version")
    return BundledControl(digest, "stack", str(name), bytes(content))


def _known(digest: str, scenario: Scenario) -> BundledControl:
    """Returns a user's controller for a bundle. Raises ScenarioError if it is missing or has changed."""
    from longpipe.controls import classes, objects
    from longpipe.scenario.own_names import name_of_control

    if (pickled := classes.content(digest)) is not None:
        return BundledControl(digest, "python", name_of_control(digest, scenario), pickled)
    content = objects.content(digest)
    if content is None:
        name = next(
            (name for name, identity in identified(scenario.model_dump(by_alias=True)) if identity == digest), "a file"
        )
        raise ScenarioError(
            f"--bundle: {name}: is missing or has changed; needs the one with digest {digest}, or `longpipe study run` "
            f"with the present one"
        )
    return BundledControl(digest, "module", name_of_control(digest, scenario), content)


def files_of(controls: Iterable[BundledControl]) -> Iterator[tuple[str, bytes]]:
    """Yields the files of controllers, and the C sources of those that were compiled from one."""
    from longpipe.controls.sources import read_source

    for control in controls:
        yield control.file, control.content
        path = Path(control.name)
        if control.kind == "module" and path.suffix == ".c" and path.is_file():
            for name, content in sorted(read_source(path).files.items()):
                yield f"{FOLDER}/{control.digest}/{name}", content


def index_of(controls: Iterable[BundledControl]) -> list[dict[str, str]]:
    """Returns the entries of the index."""
    return [
        {"digest": control.digest, "kind": control.kind, "name": control.name, "file": control.file}
        for control in sorted(controls, key=lambda control: control.digest)
    ]


def read_controls(path: Path, rows: Any, files: Mapping[str, bytes]) -> dict[str, BundledControl]:  # noqa: ANN401 - any JSON value
    """Returns the controllers of a bundle by digest. Raises ScenarioError for invalid entries."""
    controls_by_digest = {}
    if not isinstance(rows, list):
        raise ScenarioError(f"{path}: controls: {shown(rows)}; needs a list")
    for row in rows:
        if not isinstance(row, dict) or any(type(row.get(name)) is not str for name in _FIELDS):
            raise ScenarioError(f"{path}: controls: {shown(row)}; needs {', '.join(_FIELDS)}")
        control = BundledControl(row["digest"], row["kind"], row["name"], files.get(row["file"], b""))
        if control.kind not in (*OWN, "stack") or control.file != row["file"] or not control.content:
            raise ScenarioError(
                f"{path}: controls: {shown(row)}; needs a module, a python class or a stack that is in the bundle"
            )
        digest = _digest(control) if control.kind != "python" else control.digest
        if control.digest != digest:
            raise ScenarioError(f"{path}: {control.file}: does not match its name; needs an unchanged bundle")
        controls_by_digest[control.digest] = control
    return controls_by_digest


def _digest(control: BundledControl) -> str:
    from longpipe.controls.facts import facts

    source = facts(control.content).source if control.kind == "module" else None
    return source or hashlib.sha256(control.content).hexdigest()
