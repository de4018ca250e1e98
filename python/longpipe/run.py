"""One run of one scenario."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from longpipe import _core
from longpipe.errors import RunError, ScenarioError, check_kind
from longpipe.notebook import Bar, in_notebook
from longpipe.result import Result
from longpipe.result.captures import CaptureError, core_places, problems, reports, unwritable
from longpipe.scenario import LARGEST_SEED, Scenario
from longpipe.scenario.canonical import canonical_json
from longpipe.scenario.module import modules_of
from longpipe.scenario.stack import own_stacks_of
from longpipe.scenario.warm_up import AUTOMATIC, without_warm_up
from longpipe.scenario.warm_up import FIELD as WARM_UP
from longpipe.stacks import load
from longpipe.system.memory import cores, limit_bytes, shown

# Maximum number of threads of a run.
MOST_THREADS: Final = 256


def simulate(
    scenario: Scenario | str | Path,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
    *,
    captures: Mapping[str, str | Path] | None = None,
    memory: str | None = None,
    threads: int | Literal["auto"] = 1,
) -> Result:
    """Runs a scenario, which is an object or the path of a TOML file.

    Equal inputs result in bit-identical outputs on all machines, with any number of `threads`, except for `events`.
    "auto" uses all cores if an estimate says that this is faster. Some scenarios run on one thread in any case; the
    result's `one_thread` is the reason.

    A scenario with your own controller (`tcp.congestion.kind = "module"` or "python") or your own stack (`traffic.kind
    = "own-stack"`) runs in a separate process, any other one in this thread.

    `progress` is called regularly with the fraction of simulated time that has passed [0, 1]; without it a notebook
    shows a bar. `captures` writes packets to pcapng files:
    `{"host:source1": "a.pcapng", "link:switch1->switch2": "trunk.pcapng"}`.

    Raises ScenarioError for invalid input; CaptureError, which holds the result, if a disk is full; RunError for a
    defect of longpipe, and for a run that would exceed `memory` ("4 GB"; by default four fifths of the available
    memory); and KeyboardInterrupt on Ctrl-C.
    """
    check_seed(seed)
    check_threads(threads)
    if not isinstance(scenario, Scenario):
        check_kind("scenario", scenario, (str, Path), "a Scenario or the name of a TOML file")
        scenario = Scenario.from_toml(scenario)
    captures = captures or {}
    if (result := _isolated(scenario, seed, progress, captures, memory)) is not None:
        return result
    register_classes(scenario)
    load(scenario.resolved)
    places = core_places(scenario.resolved, captures) if captures else []
    limit = limit_bytes(memory)
    try:
        with Bar(scenario.name) as bar:
            tell = progress or (bar.update if in_notebook() else None)
            if WARM_UP in scenario.resolved:
                columns = _without_warm_up(scenario, seed, tell, places, limit)
                columns["one_thread"] = "its warm-up is subtracted"
            else:
                columns = _core.run(scenario.resolved_json(), seed, tell, places, limit, **_threads(threads))
    except _core.ControlError as error:
        raise control_error(error) from None
    except (_core.ScenarioError, _core.DefectError, _core.StackDefectError, _core.MemoryLimitError) as error:
        raise _in_one_line(error, scenario, seed) from None
    except OSError as error:
        raise unwritable(captures, error) from None
    result = Result.from_columns(scenario, seed, columns)
    if threads not in (1, "auto"):
        result = replace(result, one_thread=columns["one_thread"])
    if captures:
        result = replace(result, captures=reports(captures, columns["captures"]))
        if lines := problems(result.captures):
            raise CaptureError(result, lines)
    return result


def _without_warm_up(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None,
    places: Sequence[tuple[str, int, str]],
    limit: int,
) -> dict[str, Any]:
    """Runs a scenario without the counters of its warm-up.

    The scenario runs twice, in full and up to the end of the warm-up; the counters of the second run are subtracted
    from those of the first.
    """
    from longpipe.metrics.warm_up import TRACES, automatic, since

    resolved = without_warm_up(scenario.resolved)
    is_automatic = scenario.resolved[WARM_UP] == AUTOMATIC
    traces = resolved["traces"]
    recorded = {**traces, **dict.fromkeys(TRACES, True)} if is_automatic else traces
    whole = _core.run(canonical_json({**resolved, "traces": recorded}), seed, progress, places, limit, keep_state=True)
    warm_up_ps, chosen = automatic(resolved, whole) if is_automatic else (scenario.resolved[WARM_UP], {})
    for name in TRACES:
        if not traces.get(name):
            whole["traces"].pop(name, None)
    untraced = {name: False if isinstance(value, bool) else value for name, value in traces.items()}
    # A run lasts at least one picosecond.
    early = canonical_json({**resolved, "duration_ps": max(warm_up_ps, 1), "traces": untraced})
    before = _core.run(early, seed, None, [], limit, keep_state=True)
    return since(resolved, whole, before, warm_up_ps, chosen)


def check_threads(threads: int | str, field: str = "threads") -> None:
    """Raises ScenarioError unless this is a number of threads or "auto"."""
    is_number = isinstance(threads, int) and not isinstance(threads, bool) and 1 <= threads <= MOST_THREADS
    if not is_number and threads != "auto":
        raise ScenarioError(f"{field}: {threads!r}; needs a number from 1 to {MOST_THREADS}, or auto")


def _threads(threads: int | Literal["auto"]) -> dict[str, Any]:
    """Returns the arguments of the core for a number of threads."""
    if threads == "auto":
        return {"threads": min(cores(), MOST_THREADS), "if_faster": True}
    return {"threads": threads}


def check_seed(seed: int) -> None:
    """Raises ScenarioError unless the seed is a whole number of 64 bits without a sign."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise ScenarioError(f"seed: {seed!r}; needs a whole number from 0 to {LARGEST_SEED}")


def register_classes(scenario: Scenario) -> None:
    """Registers in the core the classes that a scenario uses as controllers."""
    if modules := modules_of(scenario.resolved):
        from longpipe.controls.class_registration import register
        from longpipe.scenario.class_bases import base_settings

        register(modules, base_settings)


def control_error(error: _core.ControlError) -> RunError:
    """Returns the error of a class or a module in one line."""
    if len(error.args) == 1:
        return RunError(str(error))
    from longpipe.controls.hook_errors import failure

    return RunError(failure(*error.args))


def _in_one_line(error: Exception, scenario: Scenario, seed: int) -> RunError | ScenarioError:
    """Returns an error of the core in one line."""
    run = f"scenario {scenario.digest()} and seed {seed}"
    if isinstance(error, _core.DefectError):
        return RunError(f"{error}; a defect of longpipe, please report it with {run}")
    if isinstance(error, _core.StackDefectError):
        return RunError(f"{error}; a defect of the stack, with {run}")
    if isinstance(error, _core.MemoryLimitError):
        needed, limit = map(shown, error.args)
        return RunError(
            f"memory: {limit} are not enough, the run would need {needed}; needs smaller windows or buffers, fewer "
            f"flows, traces or workers, a shorter duration, or a larger --memory"
        )
    return ScenarioError(str(error))


def _isolated(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None,
    captures: Mapping[str, str | Path],
    memory: str | None,
) -> Result | None:
    """Executes a run in the process that exists for the user's code.

    Returns None if the run has no such code, or if this process is that one.
    """
    modules, stacks = modules_of(scenario.resolved), own_stacks_of(scenario.resolved)
    if not modules and not stacks:
        return None
    # Imported here because few scenarios contain such code.
    from longpipe.controls import isolation
    from longpipe.scenario.own_names import name_of_control, name_of_stack

    names = ", ".join(
        [
            *(name_of_control(digest, scenario) for digest in modules),
            *(name_of_stack(digest, scenario) for digest in stacks),
        ]
    )
    if isolation.is_isolated():
        return None
    # A path means the same in another process only if it is absolute.
    absolute = {place: Path(path).absolute() for place, path in captures.items()}
    result: Result = isolation.run(names, _simulate, (scenario, seed, absolute, memory), progress)
    return replace(result, scenario=scenario)


def _simulate(
    scenario: Scenario,
    seed: int,
    captures: Mapping[str, str | Path],
    memory: str | None,
    progress: Callable[[float], None],
) -> Result:
    """Executes a run in the process that exists for the user's code."""
    return simulate(scenario, seed, progress, captures=captures, memory=memory)
