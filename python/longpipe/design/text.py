"""Designs as JSON text, and differences between two designs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_jsonable_python

from longpipe.design.design import Design
from longpipe.design.factor import Factor, Level
from longpipe.design.fraction import Fraction
from longpipe.scenario import Scenario
from longpipe.scenario.defaults import fields_of_store

# Maximum length of a value in a difference, and number of equal characters that precede the part that differs.
_SHOWN: Final = 60
_CONTEXT: Final = 10
# Value of a field that is missing.
_ABSENT: Final = object()
# Field that identifies the content of a file, a class or a program.
_DIGEST: Final = "digest"


def to_json(design: Design) -> str:
    """Returns the design as JSON text, which `from_json` reads."""
    fraction = design.fraction
    content = {
        "base": json.loads(design.base.to_json()),
        "factors": [{"name": f.name, "levels": [[k, _plain(v)] for k, v in f.levels.items()]} for f in design.factors],
        "points": design.points,
        "replications": design.replications,
        "first_seed": design.first_seed,
        "common": design.common,
        "blocks": design.blocks,
        "generators": None if fraction is None else fraction.generators,
        "confounded": design.confounded,
        **({"measures": design.measures} if design.measures else {}),
        _DIGEST: design.base.digest(),
    }
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def base_of(text: str) -> tuple[dict[str, Any], str | None]:
    """Returns the base's fields and digest in a design that `to_json` wrote; earlier versions wrote no digest."""
    content = json.loads(text)
    return content["base"], content.get(_DIGEST)


def from_json(text: str, base: Scenario | None = None) -> Design:
    """Reads a design that `to_json` wrote, or one with another base; raises ScenarioError if a field is unknown."""
    content = json.loads(text)
    factors = tuple(Factor(f["name"], dict(f["levels"])) for f in content["factors"])
    generators = content["generators"]
    names = tuple(factor.name for factor in factors)
    return Design(
        base=Scenario(**fields_of_store(content["base"])) if base is None else base,
        factors=factors,
        points=tuple(tuple(point) for point in content["points"]),
        replications=content["replications"],
        first_seed=content["first_seed"],
        common=content["common"],
        blocks=None if content["blocks"] is None else tuple(content["blocks"]),
        fraction=None if generators is None else Fraction(names, tuple(generators)),
        confounded=tuple(content["confounded"]),
        measures=tuple(content.get("measures", ())),
    )


def differences(old: Design, new: Design) -> list[str]:
    """Returns a line for each difference of `new` that would lose runs of `old`; none if it only adds runs.

    Changes of files, classes and programs under the same name are not differences.

    More replications, more levels and more points of the same factors only add runs, as long as these leave the seeds
    of the others alone.
    """
    lines = [*_of_fields(old.base, new.base), *_of_factors(old, new)]
    lines += [
        f"{name}: {getattr(new, name)!r}; was {getattr(old, name)!r}"
        for name in ("first_seed", "common", "confounded")
        if getattr(old, name) != getattr(new, name)
    ]
    generators = [() if design.fraction is None else design.fraction.generators for design in (old, new)]
    if generators[0] != generators[1]:
        lines.append(f"generators: {', '.join(generators[1]) or 'none'}; was {', '.join(generators[0]) or 'none'}")
    if new.replications < old.replications:
        lines.append(f"replications: {new.replications}; was {old.replications}, and can only increase")
    if not lines:
        seeds = [{(run.levels, run.replication): run.seed for run in design.runs()} for design in (old, new)]
        lost = seeds[0].items() - seeds[1].items()
        gone = [key for key, _ in lost if key not in seeds[1]]
        if gone:
            lines.append(f"points: without {_point(old, gone[0][0])}; was there")
        elif lost:
            lines.append("points: if each run has its own seed, more points change the seeds of earlier ones")
    return lines


def _of_fields(old: Scenario, new: Scenario) -> Iterator[str]:
    # The name of a scenario does not affect the identity of its runs.
    fields = [{**json.loads(scenario.to_json()), "name": ""} for scenario in (old, new)]
    for name, was, now in _differing(fields[0], fields[1]):
        yield f"{name}: {_changed(was, now)}"


def _of_factors(old: Design, new: Design) -> Iterator[str]:
    """Yields a line per difference between the factors and levels of two designs."""
    factors = [{factor.name: factor.levels for factor in design.factors} for design in (old, new)]
    if list(factors[0]) != list(factors[1]):
        yield f"factors: {', '.join(factors[1])}; was {', '.join(factors[0])}"
        return
    for name, levels in factors[0].items():
        for level, changes in levels.items():
            if level not in factors[1][name]:
                yield f"{name}: without level {level!r}; was there"
                continue
            for field, was, now in _differing(_plain(changes), _plain(factors[1][name][level])):
                yield f"{name}: {level!r} has {field} = {_changed(was, now)}"


def _point(design: Design, levels: tuple[Level, ...]) -> str:
    return ", ".join(f"{factor.name}={level}" for factor, level in zip(design.factors, levels, strict=True))


def _plain(changes: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON value
    # A field that a level clears is kept as null.
    return {
        field: None if value is None else to_jsonable_python(value, by_alias=True, exclude_none=True)
        for field, value in changes.items()
    }


def _differing(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - any JSON value
    """Yields the path and both values of each field that differs, `_ABSENT` for a missing one.

    Lists of the same length are compared element by element. Digests are skipped, because they follow from the content
    of files, classes and programs.
    """
    if old == new:
        return
    within = f"{path}." if path else ""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (part, other) in enumerate(zip(old, new, strict=True)):
            yield from _differing(part, other, f"{within}{i}")
    elif _has_fields(old, new) or _has_fields(new, old):
        tables = [side if isinstance(side, dict) else {} for side in (old, new)]
        for name in dict.fromkeys((*tables[0], *tables[1])):
            if name.rpartition(".")[2] != _DIGEST:
                part, other = (table.get(name, _ABSENT) for table in tables)
                yield from _differing(part, other, f"{within}{name}")
    else:
        yield path, old, new


def _has_fields(first: object, second: object) -> bool:
    return isinstance(first, dict) and bool(first) and (second is _ABSENT or isinstance(second, dict))


def _changed(old: Any, new: Any) -> str:  # noqa: ANN401 - any JSON value
    """Returns both values, of long texts the parts that differ, and of long lists of different lengths the lengths."""
    texts = ["nothing" if value is _ABSENT else "none" if value is None else repr(value) for value in (new, old)]
    if max(map(len, texts)) > _SHOWN:
        if isinstance(old, list) and isinstance(new, list):
            texts = [f"{len(value)} elements" for value in (new, old)]
        elif (start := _first_difference(*texts) - _CONTEXT) > 0:
            texts = [f"...{text[start:]}" for text in texts]
    now, was = (text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..." for text in texts)
    return f"{now}; was {was}"


def _first_difference(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((i for i, (own, other) in enumerate(pairs) if own != other), min(len(first), len(second)))
