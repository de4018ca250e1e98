"""Fills in the field `digest`, by which a scenario identifies programs, stacks and controllers of the user."""

from longpipe.scenario.base import Model


def keep_digest(part: Model, digest: str, *, noun: str, holder: str = "it") -> None:
    """Fills in the field `digest` of a part of a scenario. Raises ValueError if the field has another value.

    In the message, `noun` is the kind of object that the digest identifies, and `holder` is the name of the object.
    """
    given: str | None = part.__dict__["digest"]
    if given not in (None, digest):
        needs = f"needs the unchanged {noun}, or no digest; {holder} has {digest[:12]}... now"
        raise ValueError(f"digest: {given[:12]}...; {needs}")
    # Models are frozen, so that an assignment would fail.
    part.__dict__["digest"] = digest
    part.model_fields_set.add("digest")
