"""Names of a factor's levels in legends."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Final

from longpipe.design.factor import Factor, Level, label_of, short

# Fields that name the module, class, stack or program of a table, and fields that contain its parameters.
_NAMING: Final = ("file", "class", "stack", "command")
_OWN: Final = ("parameters", "settings")
# Fields that are not compared between tables with equal names: these fields, and those that follow from them.
_NOT_COMPARED: Final = ("kind", "digest", *_NAMING, *_OWN)


def legend_names(factor: Factor) -> dict[Level, str]:
    """Returns the text of each level for a legend.

    A table of a module, class, stack or file is named by the file's stem, the class or the stack, followed by the
    table's own parameters and by other fields in which equal names differ: "tcp_mine beta=700". Levels with a label of
    their own keep it.
    """
    # The table of each level, None for a level that is no table or has a label of its own.
    tables = {label: _table(label, changes) for label, changes in factor.levels.items()}
    names = {label: str(label) if table is None else _name(table) for label, table in tables.items()}
    texts = {}
    for label, table in tables.items():
        same_name = [
            other for other_label, other in tables.items() if other is not None and names[other_label] == names[label]
        ]
        texts[label] = names[label] if table is None else " ".join([names[label], *_fields(table, same_name)])
    return texts if len(set(texts.values())) == len(texts) else {label: str(label) for label in factor.levels}


def common_names(factor: Factor) -> dict[Level, str] | None:
    """Returns the common name of each level, such as "CUBIC" and "FQ-CoDel"; None if a level has none.

    Only kinds of congestion controls, loss recoveries and queue policies have common names.
    """
    # Imported here because the models take a tenth of a second to load.
    from longpipe.scenario.base import models_by_kind
    from longpipe.scenario.congestion import Congestion
    from longpipe.scenario.policies import Policy
    from longpipe.scenario.recovery import Recovery

    unions = {"tcp.congestion": Congestion, "tcp.recovery": Recovery, "switch.policy": Policy}
    names: dict[Level, str] = {}
    for level, changes in factor.levels.items():
        [(field, value), *other_changes] = changes.items()
        if other_changes or field not in unions or value != level:
            return None
        model = models_by_kind(unions[field]).get(str(value))
        if model is None or not model.label:
            return None
        names[level] = model.label
    return names if len(set(names.values())) == len(names) else None


def _table(label: Level, changes: Mapping[str, object]) -> Mapping[str, object] | None:
    """Returns the only value of a level if it is a table with a name and an automatic label, or None."""
    values = list(changes.values())
    if len(values) != 1 or not isinstance(values[0], Mapping) or not any(values[0].get(field) for field in _NAMING):
        return None
    automatic = str(label_of(next(iter(changes)), values[0]))
    return values[0] if str(label).split(" ")[0] == automatic else None


def _name(table: Mapping[str, object]) -> str:
    """Returns the stem of a table's file, or the name of its class or stack."""
    named = next(str(table[field]) for field in _NAMING if table.get(field))
    if table.get("class"):
        return named.rpartition(":")[2]
    return PurePath(named).stem if table.get("file") else named


def _fields(table: Mapping[str, object], same_name: Sequence[Mapping[str, object]]) -> list[str]:
    """Returns a table's own parameters, and the other fields in which tables with its name differ, as "beta=700"."""
    entries = [entry for field in _OWN if isinstance(values := table.get(field), Mapping) for entry in values.items()]
    inherited = [
        (name, value)
        for name, value in table.items()
        if name not in _NOT_COMPARED and any(other.get(name) != value for other in same_name)
    ]
    return [f"{name}={short(value)}" for name, value in (*entries, *inherited)]
