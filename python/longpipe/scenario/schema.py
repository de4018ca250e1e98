"""The version of what a scenario may hold."""

import hashlib
import json
from typing import Any, Final

from longpipe import _core
from longpipe.scenario import Scenario

# Words for people, which change no scenario.
_WORDS: Final = frozenset({"description", "title"})


def schema_version() -> str:
    """Version of the package and hash of all fields, their types, limits and defaults [12 hex digits].

    Where it is equal the same TOML file is the same scenario.
    """
    schema = _silent(Scenario.model_json_schema(by_alias=True))
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"))
    return f"{_core.__version__}+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _silent(schema: Any, *, names: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """The schema without words; `names` where its keys are names of fields, of which one may be called title."""
    if isinstance(schema, list):
        return [_silent(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if names or key not in _WORDS}
    return {key: _silent(value, names=not names and key in ("properties", "$defs")) for key, value in kept.items()}
