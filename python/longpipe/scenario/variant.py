"""Kinds of loss recovery and congestion control, each with its own parameters."""

import json
from typing import Any, ClassVar, Final

from longpipe import _core
from longpipe.scenario.base import Becomes, Model

# Facts that the core's congestion controls and loss recoveries declare, by their kind: fields of `Facts` in
# crates/tcp/src/variant.rs.
CONTROLS: Final[dict[str, dict[str, Any]]] = json.loads(_core.variant_facts())["congestion"]
RECOVERIES: Final[dict[str, dict[str, Any]]] = json.loads(_core.variant_facts())["recovery"]


class Variant(Model):
    """A kind of loss recovery or congestion control with its parameters; such an object equals its name."""

    # Whether a congestion control grows until a buffer overflows, and then reduces its window.
    fills_buffers: ClassVar[bool] = True
    kind: str

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if facts := CONTROLS.get(cls.model_fields["kind"].default):
            cls.draws, cls.fills_buffers = facts["draws"], facts["fills_buffers"]

    def __eq__(self, other: object) -> bool:
        return self.kind == other if isinstance(other, str) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self.kind)


# The first kinds are resolved to their name and the options of all these kinds, because the digests of stored runs
# depend on this form. Later kinds are resolved to tables.
FIRST: Final = frozenset({"aimd", "newreno", "reno", "sack", "tahoe", "vanilla", "vegas"})
# Congestion controls with their own pacing rate, which need a report of each loss; and the recovery that provides these
# reports.
MODELS: Final = frozenset(kind for kind, facts in CONTROLS.items() if facts["is_model"])
(RECOVERY_OF_MODELS,) = (kind for kind, facts in RECOVERIES.items() if facts["detects_each_loss"])


def _name_or_table(table: dict[str, Any]) -> str | dict[str, Any]:
    return table["kind"] if table["kind"] in FIRST or len(table) == 1 else table


CHOSEN: Final = Becomes("", _name_or_table)
