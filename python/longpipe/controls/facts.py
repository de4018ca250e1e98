"""Facts that a shared object states about itself, read from its bytes without loading it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# Format of LONGPIPE_FACT in longpipe_control.h.
_FACT: Final = re.compile(rb"\x01longpipe\x01([a-z-]+)=([\x20-\x7e]{1,200})\x00")
# Version of longpipe_control.h that this longpipe loads.
INTERFACE: Final = "1"
# First bytes of a WebAssembly module.
WASM: Final = b"\0asm"


@dataclass(frozen=True)
class Facts:
    """Facts that an object states about itself."""

    # Version of the interface; "" if it states none, because it is not a controller.
    interface: str
    # Digest of the source, which identifies it in stored runs; "" if it was not built by `longpipe cc build`.
    source: str
    # Types of the parameters by name: integer, real or text.
    parameters: Mapping[str, str]


def facts(content: bytes) -> Facts:
    """Returns the facts that an object's bytes contain."""
    values_by_key: dict[str, list[str]] = {}
    for key, value in _FACT.findall(content):
        values_by_key.setdefault(key.decode(), []).append(value.decode())
    first = {key: values[0] for key, values in values_by_key.items()}
    types = dict(text.rpartition(":")[::2] for text in values_by_key.get("parameter", []))
    return Facts(first.get("interface", ""), first.get("source", ""), types)
