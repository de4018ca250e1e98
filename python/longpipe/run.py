"""One run of one scenario."""

from collections.abc import Callable

from longpipe import _core
from longpipe.errors import ScenarioError
from longpipe.result import Result
from longpipe.scenario import Scenario

LARGEST_SEED = 2**64 - 1


def simulate(scenario: Scenario, seed: int = 1, progress: Callable[[float], None] | None = None) -> Result:
    """Runs a scenario in this thread; the same scenario and seed give the same bits on every machine.

    `progress` is called now and then with the fraction of simulated time that has passed [0, 1]. Raises ScenarioError
    for input that can't be run, and KeyboardInterrupt on Ctrl-C.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise ScenarioError(f"seed: {seed!r}; needs a whole number from 0 to {LARGEST_SEED}")
    try:
        columns = _core.run(scenario.resolved_json(), seed, progress)
    except _core.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    return Result.from_columns(scenario, seed, columns)
