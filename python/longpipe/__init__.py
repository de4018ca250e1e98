"""longpipe: exact simulation of TCP over long, fat pipes of IP packets or ATM cells."""

import sys

if sys.orig_argv[1:3] == ["-m", "longpipe"] or sys.argv[0].rpartition("/")[2] == "longpipe":
    # Until `__main__.main` handles SIGINT, the default action ends the process, so that Ctrl-C during imports prints no
    # traceback. The C module is used because importing `signal` takes longer.
    import _signal  # type: ignore[import-not-found]

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe import pictures, satellites, store
    from longpipe._core import __version__ as __version__
    from longpipe.analysis.anova import Anova, anova
    from longpipe.control import Ack, Control, Event, Grant, Interval, Lost, Sent, compiled
    from longpipe.design import Design, Factor
    from longpipe.errors import RunError, ScenarioError
    from longpipe.result import Result
    from longpipe.result.captures import CaptureError
    from longpipe.run import simulate
    from longpipe.scenario import (
        Dumbbell,
        Flow,
        Graph,
        Group,
        Link,
        Node,
        Scenario,
        Switch,
        Tcp,
        Traces,
        Transfer,
        Web,
    )
    from longpipe.study import Study, run_until

__all__ = [
    "Ack",
    "Anova",
    "CaptureError",
    "Control",
    "Design",
    "Dumbbell",
    "Event",
    "Factor",
    "Flow",
    "Grant",
    "Graph",
    "Group",
    "Interval",
    "Link",
    "Lost",
    "Node",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Study",
    "Switch",
    "Tcp",
    "Traces",
    "Transfer",
    "Web",
    "anova",
    "compiled",
    "pictures",
    "run_until",
    "satellites",
    "simulate",
    "store",
]

# Hidden from type checkers, because they would otherwise accept any name.
if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Imported on demand, so that commands do not wait for modules that they do not use.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "__version__": "longpipe._core",
            "Anova": "longpipe.analysis.anova",
            "CaptureError": "longpipe.result.captures",
            "Design": "longpipe.design",
            "Factor": "longpipe.design",
            "Result": "longpipe.result",
            "RunError": "longpipe.errors",
            "ScenarioError": "longpipe.errors",
            "Study": "longpipe.study",
            "anova": "longpipe.analysis.anova",
            "pictures": "longpipe.pictures",
            "run_until": "longpipe.study",
            "satellites": "longpipe.satellites",
            "simulate": "longpipe.run",
            "store": "longpipe.store",
            **dict.fromkeys(
                ("Ack", "Control", "Event", "Grant", "Interval", "Lost", "Sent", "compiled"), "longpipe.control"
            ),
            **dict.fromkeys(
                (
                    "Dumbbell",
                    "Flow",
                    "Graph",
                    "Group",
                    "Link",
                    "Node",
                    "Scenario",
                    "Switch",
                    "Tcp",
                    "Traces",
                    "Transfer",
                    "Web",
                ),
                "longpipe.scenario",
            ),
        },
    )
    del lazy_attributes
