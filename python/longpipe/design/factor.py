"""Factors: scenario fields to vary, and the levels they take."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from longpipe.errors import ScenarioError

Level = str | int | float | bool
Changes = Mapping[str, object]


@dataclass(frozen=True)
class Factor:
    """A factor: its name (a column of results), and for each level the dotted scenario fields that it sets.

    Levels are in the order of tables and figures; in two-level designs the first is -1, the second +1. A factor with a
    single level names a setting that does not vary. Classes among the values become tables that name them, and
    numbers of NumPy become numbers of Python, so that a store can keep the factor. Raises ScenarioError for a factor
    without a name or a level.
    """

    name: str
    levels: Mapping[Level, Changes]

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ScenarioError("factors: a factor has no name; needs a text")
        if self.name in RESERVED:
            raise ScenarioError(f"factors: {self.name!r} is a column of every design; needs another name")
        if not self.levels:
            raise ScenarioError(f"{self.name}: no levels; needs at least 1")
        levels = {_number(label): _plain(changes) for label, changes in self.levels.items()}
        object.__setattr__(self, "levels", levels)

    @classmethod
    def over(cls, field: str, levels: Iterable[object] | Mapping[Level, object], name: str | None = None) -> "Factor":
        """Returns a factor over values of one field, or a mapping from labels to values; the field is the default name.

        A value without a label is its own label. The label of a class is its name, and the label of a table, as in
        {"kind": "epd", "threshold": 0.9}, is its kind; tables of equal kind also show the fields in which they differ:
        "red min=5 max=15". A table without a kind shows all its fields, as in "at=switch1 buffer=8 MB"; None is "none".
        """
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise ScenarioError(f"{field}: levels {levels!r}; needs a list of them, as in [{levels!r}]")
        if isinstance(levels, Mapping):
            labeled = dict(levels)
        else:
            values = [value if isinstance(value, type) else _plain(value) for value in levels]
            labeled = by_label(field, zip(labels_of(field, values), values, strict=True))
        return cls(name or field, {label: {field: value} for label, value in labeled.items()})


# Columns of a design's frame in addition to those of its factors.
RESERVED = ("point", "block", "replication", "seed")


def by_label(field: str, levels: Iterable[tuple[Level, object]]) -> dict[Level, object]:
    """Returns the values of levels by their labels. Raises ScenarioError if a label occurs twice."""
    values_by_label: dict[Level, object] = {}
    for label, value in levels:
        if label in values_by_label:
            raise ScenarioError(f"{field}: level {label!r} occurs twice; needs unique labels")
        values_by_label[label] = value
    return values_by_label


def labels_of(field: str, values: Sequence[object]) -> list[Level]:
    """Returns a label for each value; tables of equal kind are distinguished by the fields in which they differ.

    Raises ScenarioError for values other than those of `label_of`.
    """
    kinds, tables = [label_of(field, value) for value in values], [_table(value) for value in values]
    labels: list[Level] = []
    for kind, table, value in zip(kinds, tables, values, strict=True):
        alike = [other for other, its in zip(tables, kinds, strict=True) if its == kind]
        differing = {
            name: content for name, content in table.items() if any(other.get(name) != content for other in alike)
        }
        labels.append(f"{kind} {_fields(differing)}" if differing and _kind(value) else kind)
    return labels


def _fields(table: Mapping[str, object]) -> str:
    return " ".join(_field(name, value) for name, value in table.items())


def _field(name: str, value: object) -> str:
    """Returns a field with its value; each field of a table has the table's name in front, as in "tcp.mss=512 B"."""
    if not isinstance(value, Mapping):
        return f"{name}={short(value)}"
    return " ".join(_field(f"{name}.{inner}", of_inner) for inner, of_inner in value.items())


def short(value: object) -> str:
    """Returns the text of a value; numbers have at most six digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _table(value: object) -> dict[str, object]:
    """Returns the fields of a table other than `kind`; empty for a plain value."""
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
    if not isinstance(value, Mapping):
        return {}
    # A digest identifies the class that the table also names.
    return {str(name): content for name, content in value.items() if name not in ("kind", "digest")}


def _number(value: Any) -> Any:  # noqa: ANN401 - any value of a field
    """Converts a number of NumPy to one of Python."""
    is_scalar = getattr(value, "shape", None) == () and hasattr(value, "item")
    return value.item() if is_scalar else value


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a field
    """Replaces classes by tables that name them, and numbers of NumPy by numbers of Python, also in tables and lists.

    Raises ScenarioError for a class that is not a congestion control.
    """
    if isinstance(value, type):
        # Imported on demand, because it loads packages that only classes need.
        from longpipe.controls.classes import load

        known_class = load(value)
        return {"kind": "python", "class": known_class.name, "digest": known_class.digest}
    if isinstance(value, Mapping):
        if isinstance(value.get("class"), type):
            value = {**value, **_plain(value["class"])}
        return {name: _plain(element) for name, element in value.items()}
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else _number(value)


def label_of(field: str, value: object) -> Level:
    """Returns the label of a value: of a table, its kind, or its fields if it has no kind.

    Raises ScenarioError for values other than texts, numbers, classes, tables and None.
    """
    if value is None:
        return "none"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, str | int | float | bool):
        return value
    if label := _kind(value) or _fields(_table(value)):
        return label
    raise ScenarioError(
        f"{field}: level {value!r} has no name; needs one, as in NAME={value} on the command line, or a mapping from "
        "labels to values in Python"
    )


def _kind(value: object) -> str | None:
    """Returns the kind of a table, or None."""
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return kind if isinstance(value, Mapping | BaseModel) and isinstance(kind, str) else None
