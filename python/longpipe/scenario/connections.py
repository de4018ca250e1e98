"""Settings of TCP connections, as crates/scenario reads them and merges those of flows with the scenario's."""

from collections.abc import Collection
from functools import cache
from typing import Any, Final

import orjson

from longpipe._core import Facts
from longpipe.scenario.base import accepted
from longpipe.scenario.congestion import Aimd, Vegas
from longpipe.scenario.core import core_fields, core_rows
from longpipe.scenario.identity_cache import by_identity
from longpipe.scenario.module import Module, core_module
from longpipe.scenario.own_class import Python, core_class
from longpipe.scenario.profile_options import RULES
from longpipe.scenario.tcp import Tcp
from longpipe.scenario.variant import CHOSEN, Variant
from longpipe.scenario.vbr import OnOff
from longpipe.units import SIZE

LARGEST_WINDOW_BYTES: Final = SIZE.parse(accepted(Tcp, "receiver_window").high)
# Fields from which the core computes others.
_COMPUTED: Final = frozenset({"profile", "receiver_window", "window_scale", "congestion"})


@cache
def facts() -> Facts:
    """Returns what the models state about connections and VBR, for the core."""
    stated = {
        "fields": [constraint.field for constraint in Tcp.constraints],
        "rules": [(constraint.condition, constraint.message) for constraint in Tcp.constraints],
        "options": RULES,
        "most_pause": accepted(OnOff, "period").high,
    }
    return Facts(orjson.dumps(stated).decode())


@by_identity
def whole(tcp: Tcp) -> orjson.Fragment:
    """Returns all fields of a connection as JSON."""
    return _written(tcp, Tcp.model_fields, ())


@by_identity
def own(tcp: Tcp) -> orjson.Fragment:
    """Returns the fields that a flow, a group or a proxy sets as JSON."""
    return _written(tcp, tcp.model_fields_set, tcp.model_fields_set)


def _written(tcp: Tcp, names: Collection[str], own_names: Collection[str]) -> orjson.Fragment:
    """Returns fields as the scenario has them, those for the core, names of own fields and options, and problems."""
    rows = core_rows(tcp, [name for name in names if name not in _COMPUTED])
    if "congestion" in names:
        rows += [("congestion", key, value) for key, value in _control(tcp.congestion).items()]
    options = sorted(tcp.congestion.model_fields_set - {"kind"})
    fields = {name: getattr(tcp, name) for name in names}
    written = (fields, rows, sorted(own_names), options, list(tcp.timer.problems()))
    return orjson.Fragment(orjson.dumps(written, default=vars))


def _control(control: Variant) -> dict[str, Any]:
    """Returns a congestion control, and the options of AIMD and Vegas, which have fields of their own in the core."""
    aimd = control if isinstance(control, Aimd) else Aimd.unchecked()
    vegas = control if isinstance(control, Vegas) else Vegas.unchecked()
    chosen = (
        CHOSEN.convert(core_fields(control))
        if not isinstance(control, Module | Python)
        else (core_module(control) if isinstance(control, Module) else core_class(control))
    )
    options = core_fields(vegas, without=("kind",))
    return {"congestion": chosen, "byte_counting": aimd.byte_counting, "vegas": options}
