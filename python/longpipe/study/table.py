"""Finished runs of a study, or of a store, as an Arrow table that describes its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from longpipe.design.level_numbers import numbers_of
from longpipe.measures.defaults import description
from longpipe.measures.measure import unit_of_values

if TYPE_CHECKING:
    from longpipe.design import Factor
    from longpipe.measures.measure import Measure
    from longpipe.study.study import Study

# Suffix of the column that has the levels of a factor as numbers.
_VALUE: Final = "_value"
# Columns that are not measures.
_DESCRIPTIONS: Final = {
    "point": "number of the design point, from 1",
    "block": "block of the design",
    "replication": "number of the replication of the point, from 1",
    "seed": "seed of the random numbers",
    "scenario": "name of the scenario",
    "digest": "SHA-256 of the resolved scenario",
    "finished_at": "time at which the run was finished",
    "seconds": "duration of the simulation",
    "machine": "host that executed the run",
    "engine": "engine number; runs of different engines may differ",
}
_UNITS: Final = {"seconds": "s"}
# Columns whose texts repeat.
_REPEATED: Final = ("scenario", "digest", "machine", "engine")


def table(study: Study) -> pa.Table:
    """Returns a row per finished run of a study: `Study.columns`, and the engine.

    Levels that are text are ordered dictionaries in the order of the design. Those that are numbers with a common unit
    are also in a numeric column NAME_value, whose metadata has the unit.
    """
    columns = study.columns(finished_only=True)
    kept = {name: values for name, values in columns.items() if name not in ("state", "message")}
    kept["engine"] = [study.engine] * len(kept["point"])
    return described(kept, study.design.factors, study.design.asked)


def described(
    columns: Mapping[str, Sequence[Any]], factors: Iterable[Factor] = (), measures: Sequence[Measure] = ()
) -> pa.Table:
    """Returns the columns of runs as a table whose fields have the metadata `unit` and `description`."""
    levels = {factor.name: factor for factor in factors}
    fields: list[pa.Field] = []
    arrays: list[pa.Array] = []

    def add(name: str, values: pa.Array, unit: str, description: str) -> None:
        metadata = {key: text for key, text in (("unit", unit), ("description", description)) if text}
        fields.append(pa.field(name, values.type, metadata=metadata or None))
        arrays.append(values)

    for name, values in columns.items():
        if name in levels:
            labels = list(levels[name].levels)
            set_by = ", ".join(dict.fromkeys(field for level in levels[name].levels.values() for field in level))
            numbers, unit = numbers_of(labels)
            if all(type(label) in (int, float) for label in labels):
                add(name, pa.array(values), unit, f"level of {set_by}")
                continue
            places = {label: place for place, label in enumerate(labels)}
            indices = [places[value] for value in values]
            add(name, _ordered(indices, list(map(str, labels))), "", f"level of {set_by}, as in the design")
            if numbers and (head := name + _VALUE) not in columns:
                add(head, pa.array([numbers[index] for index in indices]), unit, f"level of {set_by}")
        elif name in _DESCRIPTIONS:
            add(name, _array(name, values), _UNITS.get(name, ""), _DESCRIPTIONS[name])
        else:
            measure = next((other_measure for other_measure in measures if other_measure.name == name), None)
            add(
                name,
                pa.array(values),
                unit_of_values(name, measures),
                description(name) if measure is None else str(measure),
            )
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    if name == "finished_at":
        # Times of a store are in UTC.
        return pa.array(values, pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    return pa.array(values, pa.string()).dictionary_encode() if name in _REPEATED else pa.array(values)


def _ordered(indices: Sequence[int], labels: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(labels, pa.string()), ordered=True)
