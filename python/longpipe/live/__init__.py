"""Runs real programs over a simulated path in real time; needs Linux and the extra `longpipe[live]`.

For example::

    from longpipe import Scenario
    from longpipe.live import plan, run

    path = plan(Scenario.example("geo"), ("source1", "sink1"))
    done = run(path, {"source1": ["ping", "-c", "3", "sink1"]})
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longpipe.live.carrier import Settings
    from longpipe.live.certificate import Certificate
    from longpipe.live.hosts import Plan, plan
    from longpipe.live.records import Replay, replay
    from longpipe.live.session import LiveRun, run

__all__ = ["Certificate", "LiveRun", "Plan", "Replay", "Settings", "plan", "replay", "run"]

# Hidden from type checkers, which would accept any name otherwise.
if not TYPE_CHECKING:
    from longpipe.system.lazy import lazy_attributes

    # Imported on demand, because the process at each end of a path needs none of these names.
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "Certificate": "longpipe.live.certificate",
            "LiveRun": "longpipe.live.session",
            "Plan": "longpipe.live.hosts",
            "Replay": "longpipe.live.records",
            "Settings": "longpipe.live.carrier",
            "plan": "longpipe.live.hosts",
            "replay": "longpipe.live.records",
            "run": "longpipe.live.session",
        },
    )
    del lazy_attributes
