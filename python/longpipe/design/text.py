"""Designs as JSON text, and differences between two designs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_jsonable_python

from longpipe.design.design import Design
from longpipe.design.factor import Factor, Level
from longpipe.design.fraction import Fraction
from longpipe.scenario import Scenario

# Maximum number of differences that are listed.
_SHOWN: Final = 60
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


def base_of(text: str) -> tuple[str, str | None]:
    """Returns the name and the digest of the base in a design that `to_json` wrote; earlier versions wrote none."""
    content = json.loads(text)
    return content["base"]["name"], content.get(_DIGEST)


def from_json(text: str, base: Scenario | None = None) -> Design:
    """Reads a design that `to_json` wrote, or one with another base; raises ScenarioError if a field is unknown."""
    content = json.loads(text)
    factors = tuple(Factor(f["name"], dict(f["levels"])) for f in content["factors"])
    generators = content["generators"]
    names = tuple(factor.name for factor in factors)
    return Design(
        base=Scenario(**content["base"]) if base is None else base,
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
    fields = [dict(_flat(json.loads(scenario.to_json()))) for scenario in (old, new)]
    for name in dict.fromkeys((*fields[0], *fields[1])):
        was, now = (side.get(name) for side in fields)
        # The name of a scenario does not affect the identity of its runs. A digest differs if a file has changed.
        if was != now and name != "name" and name.rpartition(".")[2] != _DIGEST:
            yield f"{name}: {_cut(now)}; was {_cut(was)}"


def _of_factors(old: Design, new: Design) -> Iterator[str]:
    factors = [{factor.name: factor.levels for factor in design.factors} for design in (old, new)]
    if list(factors[0]) != list(factors[1]):
        yield f"factors: {', '.join(factors[1])}; was {', '.join(factors[0])}"
        return
    for name, levels in factors[0].items():
        for level, changes in levels.items():
            if level not in factors[1][name]:
                yield f"{name}: without level {level!r}; was there"
            elif _without_digests(_plain(changes)) != _without_digests(_plain(factors[1][name][level])):
                yield f"{name}: {level!r} is {_cut(_plain(factors[1][name][level]))}; was {_cut(_plain(changes))}"


def _point(design: Design, levels: tuple[Level, ...]) -> str:
    return ", ".join(f"{factor.name}={level}" for factor, level in zip(design.factors, levels, strict=True))


def _plain(changes: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON value
    # A field that a level clears is kept as null.
    return {
        field: None if value is None else to_jsonable_python(value, by_alias=True, exclude_none=True)
        for field, value in changes.items()
    }


def _without_digests(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {name: _without_digests(part) for name, part in value.items() if name.rpartition(".")[2] != _DIGEST}
    return [_without_digests(part) for part in value] if isinstance(value, list) else value


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _flat(part, f"{path}.{name}" if path else name)
    else:
        yield path, value


def _cut(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
