"""The subject of an attack: base scenario, control, reference, fields to change and defects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from longpipe.attack.defect import Defect
from longpipe.attack.varied import Setting, Varied, changes
from longpipe.errors import ScenarioError, nearest
from longpipe.fairness.controls import Sender
from longpipe.scenario import Scenario
from longpipe.scenario.network import Dumbbell
from longpipe.scenario.overrides import is_within, overridden
from longpipe.scenario.stack import Stack
from longpipe.scenario.traffic import Traffic

# Number of checks: replications independent of the search, of which all but MISSES have to show the defect, because a
# defect may depend on chance: a real stack's connection dies in 80 % of all runs over a path. Candidates whose defect
# shows in 90 % of all runs pass with probability 3/4, in 60 % of all runs with 1/22; with 5 checks that all must show
# it, the latter would be 1/13.
CHECKS: Final = 10
MISSES: Final = 1
# Number of checks that run together, because few seeds suffice to reject most candidates.
CHECKS_AT_ONCE: Final = 5


@dataclass(frozen=True)
class Target:
    """Control and reference in a base scenario, the fields that may change, and the defects to find.

    `written` contains the base scenario's fields as written in its file, `fixed` those changed by --set. The control
    drives the flows of the group `group`, or all flows. The search uses the seed `first_seed`, the checks of candidates
    the next CHECKS seeds, and the numbers of the answer the `seeds` seeds after those.
    """

    base: Scenario
    written: Mapping[str, Any]
    control: Sender
    reference: Sender
    varied: tuple[Varied, ...]
    defects: tuple[Defect, ...]
    fixed: Mapping[str, object] = field(default_factory=dict)
    group: str | None = None
    seeds: int = 10
    first_seed: int = 1
    _scenarios: dict[str, tuple[Scenario, Scenario]] = field(default_factory=dict, repr=False, compare=False)

    def check(self) -> None:
        """Raises ScenarioError for what cannot be run or measured in the base scenario."""
        fields = [varied.field for varied in self.varied]
        for name in fields:
            if fields.count(name) > 1:
                raise ScenarioError(f"--may: {name!r} occurs {fields.count(name)} times; needs each once")
        senders = self._of_sender(self.control).keys() | self._of_sender(self.reference).keys()
        for name in fields:
            if name in senders:
                raise ScenarioError(f"--may: {name!r} is set by --control and --reference; needs another field")
        for name in self.fixed:
            # The settings of a stack's traffic are kept.
            if any(is_within(name, of_sender) for of_sender in senders if "traffic" not in of_sender):
                raise ScenarioError(f"--set: {name!r} is set by --control and --reference; needs another field")
        scenarios = self.pair({})
        if scenarios[0].digest() == scenarios[1].digest():
            raise ScenarioError(f"--reference: {self.reference.name!r} is the control; needs another one")
        for defect in self.defects:
            defect.check(*scenarios)
        for varied in self.varied:
            self._check_values(varied)

    def _check_values(self, varied: Varied) -> None:
        """Raises ScenarioError if the field has no effect, or if no level or neither end of the ranges is valid."""
        if ignored := overridden(self.base, varied.field):
            raise ScenarioError(f"--may: {ignored}")
        ends: list[tuple[float, ...]] = [(float(i),) for i in range(len(varied.levels))]
        if not ends:
            ends = [tuple(span.at(position) for span in varied.ranges) for position in (0.0, 1.0)]
        problems = []
        for numbers in ends:
            try:
                self.pair({varied.field: numbers})
            except ScenarioError as error:
                problems.append(error.problems[0])
        if len(problems) == len(ends):
            raise ScenarioError(f"--may: {problems[0]}")

    @property
    def search_seeds(self) -> range:
        """Seeds of the search."""
        return range(self.first_seed, self.first_seed + 1)

    @property
    def check_seeds(self) -> tuple[range, ...]:
        """Seeds with which a candidate, or the reset of a field, is confirmed, in groups that run concurrently."""
        first = self.first_seed + 1
        return tuple(range(first + at, first + at + CHECKS_AT_ONCE) for at in range(0, CHECKS, CHECKS_AT_ONCE))

    @property
    def answer_seeds(self) -> range:
        """Seeds of the runs from which the numbers of the answer are computed."""
        return range(self.first_seed + 1 + CHECKS, self.first_seed + 1 + CHECKS + self.seeds)

    def changes(self, setting: Setting, sender: Sender) -> dict[str, object]:
        """Returns the fields of a setting and a sender that differ from the base scenario."""
        return {**changes(self.varied, setting), **self._of_sender(sender)}

    def pair(self, setting: Setting) -> tuple[Scenario, Scenario]:
        """Returns the scenarios of control and reference; raises ScenarioError if the setting is invalid."""
        key = repr(sorted(setting.items()))
        if key not in self._scenarios:
            control, reference = (
                self.base.with_(**self.changes(setting, sender)) for sender in (self.control, self.reference)
            )
            self._scenarios[key] = control, reference
        return self._scenarios[key]

    def _of_sender(self, sender: Sender) -> dict[str, object]:
        """Returns the fields that make a sender drive the tested flows."""
        prefix = self._prefix()
        fields: dict[str, object] = {}
        for name, value in sender.fields.items():
            if name == "traffic":
                fields[f"{prefix}traffic"] = {**self._kept(), **value}
            else:
                fields |= {f"{prefix}{name}.{part}": content for part, content in value.items()}
        if "traffic" not in sender.fields and isinstance(self._traffic(), Stack):
            size = self._kept().get("size")
            fields[f"{prefix}traffic"] = {"kind": "greedy"} if size is None else {"kind": "transfer", "size": size}
        return fields

    def _prefix(self) -> str:
        """Returns the prefix of the fields of the tested flows."""
        groups = self._groups()
        names = [group.name for group in groups]
        if self.group is None:
            if len(groups) > 1:
                raise ScenarioError(f"--group: absent; needs the group that the control drives, {' or '.join(names)}")
            return "network.group.0." if groups else ""
        if self.group not in names:
            raise ScenarioError(f"--group: {self.group!r}; {nearest(self.group, names)}")
        return f"network.group.{names.index(self.group)}."

    def _groups(self) -> tuple[Any, ...]:
        network = self.base.network
        return (network.group or ()) if isinstance(network, Dumbbell) else ()

    def _traffic(self) -> Traffic:
        """Returns the traffic of the tested flows in the base scenario."""
        groups = [group for group in self._groups() if self.group in (None, group.name)]
        return (groups[0].traffic if groups else None) or self.base.traffic

    def _kept(self) -> dict[str, object]:
        """Returns the settings of the tested flows' traffic that are kept if a stack replaces the traffic.

        For a stack, these are all settings except its name and control; for other traffic, the size of its file, if
        any.
        """
        traffic = self._traffic()
        if isinstance(traffic, Stack):
            return traffic.model_dump(exclude={"kind", "stack", "congestion"}, exclude_defaults=True)
        size = getattr(traffic, "size", None)
        return {} if size is None else {"size": size}
