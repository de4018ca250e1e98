"""Imported by the fork server, so that workers share the modules and the models that a run needs.

Models are built when the first scenario is resolved, which takes longer than a short run.
"""

from longpipe.executors import processes as processes
from longpipe.scenario import Scenario

Scenario().resolve()
