"""Facts that the core declares about the kinds of a scenario's parts."""

import json
from typing import Any, ClassVar, Final

from longpipe import _core
from longpipe.scenario.base import Model

# Facts about kinds of traffic: fields of the struct `Facts` in crates/network/src/traffic/parameters.rs. The facts
# about kinds of other parts are in their generated models.
FACTS: Final[dict[str, dict[str, dict[str, Any]]]] = json.loads(_core.kind_facts())


class Declared(Model):
    """A kind of a part; the facts that the core declares about it become attributes of the class."""

    part: ClassVar[str]
    # Kind in the core, if it differs from that of the model.
    core_kind: ClassVar[str | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        kind = cls.model_fields["kind"].default if "kind" in cls.model_fields else None
        if isinstance(kind, str):
            for name, fact in FACTS[cls.part].get(cls.core_kind or kind, {}).items():
                setattr(cls, name, fact)
