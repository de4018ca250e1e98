"""Data about longpipe that is built into the lab; `lab/describe.py` in the sources prints it."""

from collections.abc import Mapping, Sequence
from typing import Any

from longpipe import _core
from longpipe.aal5 import CELL_BITS, CELL_BYTES, CELL_PAYLOAD_BYTES, OVERHEAD_BYTES
from longpipe.controls.facts import INTERFACE
from longpipe.errors.alternatives import CALLED, ITS_WINDOW, NAMES, RENO, homes
from longpipe.ip import HEADER_BYTES, TIMESTAMP_BYTES
from longpipe.lab import beyond
from longpipe.lab.exercises import exercises
from longpipe.lab.fields import models
from longpipe.scenario import BUFFER_OF_CELLS
from longpipe.scenario.base import kinds_that
from longpipe.scenario.datagrams import HEADERS
from longpipe.scenario.defaults import defaults_as_json
from longpipe.scenario.jitter import tables
from longpipe.scenario.profile_options import FORMER, RULES
from longpipe.scenario.profiles import PROFILES
from longpipe.scenario.traffic import Traffic
from longpipe.scenario.variant import FLAT
from longpipe.verdicts.limits import MEANINGS


def description(presets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns JSON-compatible data: models, units, constants, texts and the given presets."""
    return {
        "version": _core.__version__,
        "engine": _core.__engine__,
        "models": models(),
        "numbers": {
            "cell_bits": CELL_BITS,
            "cell_bytes": CELL_BYTES,
            "cell_payload_bytes": CELL_PAYLOAD_BYTES,
            "overhead_bytes": OVERHEAD_BYTES,
            "header_bytes": HEADER_BYTES,
            "timestamp_bytes": TIMESTAMP_BYTES,
            "datagram_header_bytes": HEADERS,
        },
        "buffer_of_cells": BUFFER_OF_CELLS,
        **defaults_as_json(),
        "datagrams": list(kinds_that(Traffic, lambda model: model.transport == "datagrams")),
        "module_interface": INTERFACE,
        "first_kinds": sorted(FLAT),
        "former": FORMER,
        "absent": {"names": {name: list(words) for name, words in NAMES.items()}, "called": CALLED},
        "homes": [{"field": field, "what": what, "names": list(names)} for field, what, names in homes()],
        "reno": {"kind": RENO, "window": ITS_WINDOW},
        "profiles": PROFILES,
        "rules": RULES,
        "distributions": tables(),
        "limits": dict(MEANINGS),
        "beyond": dict(beyond.OF_NETWORK),
        "presets": list(presets),
        "exercises": [exercise.of_page() for exercise in exercises()],
    }
