"""Version of the scenario schema."""

import hashlib
import json
from typing import Any, Final

from longpipe import _core
from longpipe.scenario import Scenario

# Schema keys that contain only texts, which do not affect scenarios.
_WORDS: Final = frozenset({"description", "title"})


def schema_version() -> str:
    """Returns the package version and a hash of all fields, types, limits and defaults [12 hex digits].

    With equal versions, equal TOML files are equal scenarios.
    """
    schema = _silent(Scenario.model_json_schema(by_alias=True))
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"))
    return f"{_core.__version__}+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _silent(schema: Any, *, names: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """Returns the schema without texts; `names` means that its keys are field names, one of which may be "title"."""
    if isinstance(schema, list):
        return [_silent(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if names or key not in _WORDS}
    return {key: _silent(value, names=not names and key in ("properties", "$defs")) for key, value in kept.items()}
