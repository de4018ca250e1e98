"""Fills in the field `digest`, by which a scenario identifies programs, stacks and controllers of the user."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal

from longpipe.errors import ScenarioError
from longpipe.scenario.base import Model
from longpipe.scenario.identity_cache import by_identity
from longpipe.user_code.trust import UntrustedCodeError

# How the digest in the fields of a scenario is treated if the digest of the object may differ: "compare" raises an
# error, "keep" does not look for the object, "renew" replaces the digest in the fields.
Rule = Literal["compare", "keep", "renew"]
_rule: Final[ContextVar[Rule]] = ContextVar("rule", default="compare")

# Fields that name what the field `digest` beside them identifies.
_HOLDERS: Final = ("class", "file", "command")


def as_stored() -> AbstractContextManager[None]:
    """Creates scenarios from the fields of a store: keeps their digests, and reads no file until it is needed."""
    return _with_rule("keep")


def renewed() -> AbstractContextManager[None]:
    """Creates scenarios whose digests are those of the present files and classes, whatever their fields contain."""
    return _with_rule("renew")


@contextmanager
def _with_rule(rule: Rule) -> Iterator[None]:
    token = _rule.set(rule)
    try:
        yield
    finally:
        _rule.reset(token)


def is_as_stored() -> bool:
    """Returns whether scenarios are created by `as_stored`."""
    return _rule.get() == "keep"


def is_renewed() -> bool:
    """Returns whether scenarios are created by `renewed`."""
    return _rule.get() == "renew"


def is_optional(digest: str | None, error: ScenarioError) -> bool:
    """Returns whether a scenario exists without an object that was not found, because its results can be read.

    Runs cannot be repeated without the object, so the content of code that is not trusted is required by `renewed`.
    """
    return digest is not None and not (is_renewed() and isinstance(error, UntrustedCodeError))


def keep_digest(part: Model, digest: str, *, noun: str, holder: str = "it") -> None:
    """Fills in the field `digest` of a part of a scenario. Raises ValueError if the field has another value.

    In the message, `noun` is the kind of object that the digest identifies, and `holder` is the name of the object.
    """
    given: str | None = part.__dict__["digest"]
    if given not in (None, digest) and not is_renewed():
        needs = f"needs the unchanged {noun}, or no digest; {holder} has {digest[:12]}... now"
        raise ValueError(f"digest: {given[:12]}...; {needs}")
    # Models are frozen, so that an assignment would fail.
    part.__dict__["digest"] = digest
    part.model_fields_set.add("digest")


@by_identity
def has_digest(part: Model) -> bool:
    """Returns whether a part names files or classes, which may have changed since it was validated."""
    return _contains_digest(part)


def _contains_digest(value: object) -> bool:
    if isinstance(value, Model):
        return value.__dict__.get("digest") is not None or any(map(_contains_digest, value.__dict__.values()))
    if isinstance(value, list | tuple):
        return any(map(_contains_digest, value))
    return isinstance(value, Mapping) and any(map(_contains_digest, value.values()))


def identified(part: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any part of a scenario's fields
    """Yields the names of controllers, stacks and programs in the fields of a scenario, with their digests."""
    for _, table in _with_digest(part):
        holder = next((table[name] for name in _HOLDERS if table.get(name)), "it")
        yield holder if isinstance(holder, str) else " ".join(holder), table["digest"]


def field_of(digest: str, part: Any) -> str | None:  # noqa: ANN401 - as above
    """Returns the name of the first field of a scenario that contains a digest; None if there is none."""
    return next((where for where, table in _with_digest(part) if table["digest"] == digest), None)


def _with_digest(part: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 - as above
    """Yields the names and values of the fields that contain a digest; `where` is the name of the part."""
    if isinstance(part, Mapping):
        if isinstance(part.get("digest"), str):
            yield where, part
        for name, item in part.items():
            yield from _with_digest(item, f"{where}.{name}".lstrip("."))
    elif isinstance(part, list | tuple):
        for i, item in enumerate(part):
            yield from _with_digest(item, f"{where}[{i}]")
