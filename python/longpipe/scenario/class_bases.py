"""Congestion controls on which classes of the user are based."""

import json
from typing import Final

from longpipe.controls.class_imports import FIELD
from longpipe.controls.control import Control
from longpipe.errors import ScenarioError, nearest
from longpipe.scenario import Scenario
from longpipe.scenario.control_kinds import BUILT_IN
from longpipe.scenario.remedies import of_control

# Profile of a base.
_PROFILE: Final = "linux-6"


def check_base(cls: type[Control], name: str) -> None:
    """Raises ScenarioError, which contains the name of the class, for a base that does not exist or needs ECN."""
    if cls.base is None:
        return
    # A class cannot request ECN for its connection.
    need_ecn = [kind for kind in BUILT_IN if "ecn" in of_control(kind, _PROFILE)]
    bases = [kind for kind in BUILT_IN if kind not in need_ecn]
    if cls.base in need_ecn:
        raise ScenarioError(f"{FIELD}: {name}; base {cls.base!r}, which needs ECN; accepts {', '.join(bases)}")
    if cls.base == "reno":
        raise ScenarioError(f"{FIELD}: {name}; base 'reno'; needs 'linux-reno', Reno of Linux")
    if cls.base not in bases:
        raise ScenarioError(f"{FIELD}: {name}; base {cls.base!r}; {nearest(str(cls.base), bases)}")


def base_settings(cls: type[Control], name: str) -> str | None:
    """Returns the TCP settings, in the core's form, of a connection whose controller is the base of a class.

    Raises ScenarioError for a base that `check_base` rejects.
    """
    if cls.base is None:
        return None
    check_base(cls, name)
    fields = {"framing": "ip", "switch.buffer": "100 packets", "tcp.profile": _PROFILE, "tcp.congestion": cls.base}
    return json.dumps(Scenario().with_(**fields).resolved["flows"][0]["tcp"])
