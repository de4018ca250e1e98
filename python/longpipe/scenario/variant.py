"""Parts of a connection of which there are several kinds, each with parameters of its own."""

from typing import Any, Final

from longpipe.scenario.base import Becomes, Model


class Variant(Model):
    """One kind of loss recovery or congestion control, with its parameters; it equals its bare name."""

    kind: str

    def __eq__(self, other: object) -> bool:
        return self.kind == other if isinstance(other, str) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self.kind)


# The first kinds are resolved by name, beside the options of all of them, chosen or not: the digests of stored runs
# depend on it. A later kind is a table and nothing else.
FIRST: Final = frozenset({"aimd", "newreno", "reno", "sack", "tahoe", "vanilla", "vegas"})
# Controls with a rate of their own, which have to know of each loss, and the recovery that tells them.
MODELS: Final = frozenset({"bbr", "bbr3"})
RECOVERY_OF_MODELS: Final = "rack"


def _name_or_table(table: dict[str, Any]) -> str | dict[str, Any]:
    return table["kind"] if table["kind"] in FIRST or len(table) == 1 else table


CHOSEN: Final = Becomes("", _name_or_table)
