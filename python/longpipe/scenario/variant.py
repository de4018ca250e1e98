"""Kinds of loss recovery and congestion control, each with its own parameters."""

from typing import Any, ClassVar, Final

from longpipe.scenario.base import Becomes
from longpipe.scenario.declared import FACTS, Declared


class Variant(Declared):
    """A kind of loss recovery or congestion control with its parameters; such an object equals its name."""

    kind: str

    def __eq__(self, other: object) -> bool:
        return self.kind == other if isinstance(other, str) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self.kind)


class LossRecovery(Variant):
    """A kind of loss recovery."""

    part: ClassVar[str] = "recovery"
    detects_each_loss: ClassVar[bool]


class Control(Variant):
    """A kind of congestion control."""

    part: ClassVar[str] = "congestion"
    # Facts that the core declares; the user's own controls have these defaults.
    is_model: ClassVar[bool] = False
    measures_delay: ClassVar[bool] = False
    needs_marks: ClassVar[str] = "none"
    fills_buffers: ClassVar[bool] = True
    # Whether the window grows by one segment per RTT and is halved at a loss, as in the model of Mathis et al. (1997).
    is_reno: ClassVar[bool] = False
    # Options that a profile of connections sets unless the scenario does, by profile.
    profile_options: ClassVar[dict[str, dict[str, Any]]] = {}


# The first kinds are resolved to their name and the options of all these kinds, because the digests of stored runs
# depend on this form. Later kinds are resolved to tables.
FIRST: Final = frozenset({"aimd", "newreno", "reno", "sack", "tahoe", "vanilla", "vegas"})
# Congestion controls with their own pacing rate, which need a report of each loss; and the recovery that provides these
# reports.
MODELS: Final = frozenset(kind for kind, facts in FACTS["congestion"].items() if facts["is_model"])
(RECOVERY_OF_MODELS,) = (kind for kind, facts in FACTS["recovery"].items() if facts["detects_each_loss"])


def _name_or_table(table: dict[str, Any]) -> str | dict[str, Any]:
    return table["kind"] if table["kind"] in FIRST or len(table) == 1 else table


CHOSEN: Final = Becomes("", _name_or_table)
