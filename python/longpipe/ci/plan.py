"""What a regression test runs: the file longpipe.toml, the standing scenarios, and those of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest
from longpipe.fairness.controls import Sender
from longpipe.inputs import load_toml
from longpipe.scenario import Dumbbell, Group, Scenario
from longpipe.units import SIZE

FILE: Final = Path("longpipe.toml")
# Name of the group of flows that the tested sender drives.
SUBJECT: Final = "subject"
SEEDS: Final = 8
MARGIN: Final = 0.1
_STANDING: Final = Path(__file__).parent / "standing"
# Names of the standing scenarios.
STANDING: Final = tuple(sorted(path.stem for path in _STANDING.glob("*.toml")))
_FIELDS: Final = ("sender", "baseline", "seeds", "margin", "standing", "scenarios")


@dataclass(frozen=True)
class RegressionPlan:
    """A regression test: the tested sender, the scenarios by name, the seeds, and the tolerated change.

    `margin` is the relative change up to which a measure counts as unchanged, as a fraction. `baseline` is the file
    with the measures to compare with.
    """

    sender: str
    scenarios: Mapping[str, Scenario]
    baseline: Path
    seeds: int = SEEDS
    margin: float = MARGIN

    @classmethod
    def read(cls, file: Path) -> RegressionPlan:
        """Reads longpipe.toml; paths in it are relative to its folder. Raises ScenarioError for bad content."""
        content = load_toml(file)
        for name in content:
            if name not in _FIELDS:
                raise ScenarioError(f"{file}: {name}: unknown field; {nearest(name, _FIELDS)}")
        reader = _Reader(file, content)
        sender = reader.text("sender", required=True)
        standing = reader.names("standing", STANDING)
        own_scenarios = reader.paths("scenarios")
        if repeated_names := sorted(own_scenarios.keys() & set(standing)):
            raise ScenarioError(
                f"{file}: scenarios.{repeated_names[0]}: is the name of a standing scenario; needs another name"
            )
        scenarios = {name: _scenario(_STANDING / f"{name}.toml") for name in standing}
        scenarios |= {name: _scenario(path) for name, path in own_scenarios.items()}
        if not scenarios:
            raise ScenarioError(f"{file}: standing: []; needs a scenario, there or in scenarios")
        return cls(
            sender,
            scenarios,
            file.parent / reader.text("baseline", "longpipe-baseline.json"),
            reader.whole("seeds", SEEDS, 2, 1000),
            reader.share("margin", MARGIN),
        )


@dataclass(frozen=True)
class _Reader:
    """Reads the fields of a file, and names the field and the value in errors."""

    file: Path
    content: Mapping[str, Any] = field(repr=False)

    def _bad(self, name: str, needs: str) -> ScenarioError:
        return ScenarioError(f"{self.file}: {name}: {self.content.get(name)!r}; needs {needs}")

    def text(self, name: str, default: str = "", *, required: bool = False) -> str:
        value = self.content.get(name, default)
        if required and name not in self.content:
            raise ScenarioError(f"{self.file}: {name}: missing; needs a sender, such as stack:quinn-cubic")
        if not isinstance(value, str) or not value:
            raise self._bad(name, "text")
        return value

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        value = self.content.get(name, default)
        if type(value) is not int or not low <= value <= high:
            raise self._bad(name, f"a whole number from {low} to {high}")
        return value

    def share(self, name: str, default: float) -> float:
        value = self.content.get(name, default)
        if type(value) not in (int, float) or not 0 < value < 1:
            raise self._bad(name, "a fraction between 0 and 1, such as 0.1")
        return float(value)

    def names(self, name: str, accepted: tuple[str, ...]) -> tuple[str, ...]:
        value = self.content.get(name, list(accepted))
        if not isinstance(value, list) or any(not isinstance(entry, str) for entry in value):
            raise self._bad(name, f"a list of names: {', '.join(accepted)}")
        for entry in value:
            if entry not in accepted:
                raise ScenarioError(f"{self.file}: {name}: {entry!r}; {nearest(entry, accepted)}")
        return tuple(dict.fromkeys(value))

    def paths(self, name: str) -> dict[str, Path]:
        value = self.content.get(name, {})
        if not isinstance(value, dict) or any(not isinstance(path, str) for path in value.values()):
            raise self._bad(name, "a table of files by name, such as { mine = 'mine.toml' }")
        return {key: self.file.parent / path for key, path in value.items()}


def _scenario(path: Path) -> Scenario:
    """Returns the scenario of a file. Raises ScenarioError if no group of its flows has the name of the subject."""
    scenario = Scenario.from_toml(path)
    if all(group.name != SUBJECT for group in _groups(scenario)):
        raise ScenarioError(f"{path}: network.group: no group named {SUBJECT!r}; needs the flows of the tested sender")
    return scenario.with_(**{"traces.delay": True})


def _groups(scenario: Scenario) -> Sequence[Group]:
    return (scenario.network.group if isinstance(scenario.network, Dumbbell) else None) or ()


def subject_flows(scenario: Scenario) -> frozenset[str]:
    """Returns the names of the subject's flows."""
    return frozenset(name for group in _groups(scenario) if group.name == SUBJECT for name in group.flows)


def with_sender(scenario: Scenario, sender: Sender) -> Scenario:
    """Returns the scenario with the subject's flows driven by a sender, which transfers as much as the file says."""
    place = [group.name for group in _groups(scenario)].index(SUBJECT)
    group = f"network.group.{place}"
    changes: dict[str, Any] = {f"{group}.{name}": value for name, value in sender.fields.items()}
    if f"{group}.traffic" in changes:
        changes[f"{group}.traffic"] = _sized(changes[f"{group}.traffic"], size_bytes(scenario))
    return scenario.with_(**changes)


def size_bytes(scenario: Scenario) -> int | None:
    """Returns the size of the subject's transfers [bytes]; None if they have no end."""
    subject = next(group for group in _groups(scenario) if group.name == SUBJECT)
    size = getattr(subject.traffic, "size", None)
    return None if size is None else SIZE.parse(size)


def _sized(traffic: Mapping[str, Any], size: int | None) -> dict[str, Any]:
    """Returns a stack's traffic with the size of the subject's transfer; a stack without a size sends to the end."""
    if size is None:
        return dict(traffic)
    if traffic["kind"] == "own-stack":
        return {**traffic, "settings": {**traffic.get("settings", {}), "size": size}}
    return {**traffic, "size": SIZE.format(size)}
