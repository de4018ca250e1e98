"""Sizes of buffers: cells at an ATM switch, packets or bytes at an IP router."""

from collections.abc import Mapping
from typing import Any, Literal

from longpipe.aal5 import CELL_BYTES

Framing = Literal["aal5", "ip"]
BufferUnit = Literal["cells", "packets", "bytes"]


def bytes_of(buffer: Mapping[str, Any], packet_bytes: int) -> int:
    """Returns the size [bytes] of a resolved buffer that is filled with packets of this length [bytes]."""
    return int(buffer["limit"]) * {"cells": CELL_BYTES, "packets": packet_bytes, "bytes": 1}[buffer["unit"]]
