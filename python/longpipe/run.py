"""One run of one scenario."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from longpipe import _core
from longpipe.captures import CaptureError, core_places, problems, reports, unwritable
from longpipe.errors import RunError, ScenarioError
from longpipe.memory import limit_bytes, shown
from longpipe.result import Result
from longpipe.scenario import LARGEST_SEED, Scenario


def simulate(
    scenario: Scenario | str | Path,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
    *,
    captures: Mapping[str, str | Path] | None = None,
    memory: str | None = None,
) -> Result:
    """Runs a scenario, or that of a TOML file, in this thread. Equal input gives equal bits on all machines.

    `progress` is called regularly with the fraction of simulated time that has passed [0, 1]. `captures` writes
    packets to pcapng files: `{"host:source1": "a.pcapng", "link:switch1->switch2": "trunk.pcapng"}`.

    Raises ScenarioError for invalid input; CaptureError, which holds the result, if a disk is full; RunError for a
    defect of longpipe, and for a run that would exceed `memory` ("4 GB"; by default four fifths of the available
    memory); and KeyboardInterrupt on Ctrl-C.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise ScenarioError(f"seed: {seed!r}; needs a whole number from 0 to {LARGEST_SEED}")
    if not isinstance(scenario, Scenario):
        scenario = Scenario.from_toml(scenario)
    captures = captures or {}
    places = core_places(scenario.resolved, captures) if captures else []
    try:
        columns = _core.run(scenario.resolved_json(), seed, progress, places, limit_bytes(memory))
    except _core.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    except _core.DefectError as error:
        run = f"scenario {scenario.digest()} and seed {seed}"
        raise RunError(f"{error}; a defect of longpipe, please report it with {run}") from None
    except _core.MemoryLimitError as error:
        needed, limit = map(shown, error.args)
        raise RunError(
            f"memory: {limit} are not enough, the run would take {needed} next; "
            "needs smaller windows or buffers, fewer flows, traces or workers, a shorter duration, or a larger --memory"
        ) from None
    except OSError as error:
        raise unwritable(captures, error) from None
    result = Result.from_columns(scenario, seed, columns)
    if captures:
        result = replace(result, captures=reports(captures, columns["captures"]))
        if lines := problems(result.captures):
            raise CaptureError(result, lines)
    return result
