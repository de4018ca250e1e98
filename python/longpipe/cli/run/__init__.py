"""`longpipe run`: one scenario, one seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import typer

from longpipe.cli.toolkit.given import needing
from longpipe.cli.toolkit.help import MORE
from longpipe.cli.toolkit.naming import change
from longpipe.cli.toolkit.outputs import check_output, is_stdout, json_option, write_output
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import MemoryOption, NoStoreOption, SeedOption, SetOption, StoreOption, opened_store
from longpipe.errors import ScenarioError
from longpipe.result.captures import CaptureError
from longpipe.system.files import check_directory, check_file
from longpipe.system.memory import shown as bytes_shown

if TYPE_CHECKING:
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe.result import Result
    from longpipe.scenario import Scenario
    from longpipe.store import Store


COMMAND: Final = needing({"--qlog-dialect": "--qlog", "--qlog-event": "--qlog", "--trace": "--csv"})
# Length of all qlog files above which `run` warns [byte]. Readers such as qvis load whole files into memory.
LONG_QLOG_BYTES: Final = 100_000_000


class Trace(StrEnum):
    """Traces that `--trace` records."""

    CWND = "cwnd"
    QUEUE = "queue"
    VC_QUEUE = "vc_queue"
    SEQUENCE = "sequence"
    RTT = "rtt"
    DELAY = "delay"
    DROPS = "drops"
    GRANTS = "grants"
    ARRIVALS = "arrivals"
    CONTROL = "control"
    EVENTS = "events"
    FLIGHT = "flight"
    PACKETS = "packets"


class Dialect(StrEnum):
    """Dialects of qlog."""

    CURRENT = "current"
    OLD = "0.3"


def run(
    file: str = typer.Argument(metavar="FILE.toml", help="Scenario file; `longpipe init` writes one."),
    seed: SeedOption = 1,
    changes: SetOption = None,
    json: str | None = json_option("the result"),
    csv: Path | None = typer.Option(None, metavar="DIR", help="Write run.csv, flows.csv, ports.csv and traces."),
    trace: list[Trace] | None = typer.Option(None, help="Record this trace; needs --csv."),
    capture: list[str] | None = typer.Option(
        None, metavar="PLACE=FILE", help="Write packets as pcapng: host:source1=a.pcapng, 'link:a->b=b.pcapng'"
    ),
    qlog: Path | None = typer.Option(
        None, metavar="DIR", help="Write the events at each flow's sender as qlog, one file per flow."
    ),
    qlog_dialect: Dialect = typer.Option(
        Dialect.CURRENT, help="Dialect of qlog: the current draft, or 0.3, which qvis reads."
    ),
    qlog_event: list[str] | None = typer.Option(
        None,
        metavar="NAME",
        help="Write only this qlog event, such as packet_lost. Repeat for more.",
        rich_help_panel=MORE,
    ),
    perfetto: Path | None = typer.Option(
        None, metavar="FILE", help="Write windows, RTTs, queues and events as a Perfetto trace."
    ),
    everything: bool = typer.Option(False, "--all", help="Show all flows and ports."),
    memory: MemoryOption = None,
    threads: str = typer.Option(
        "1",
        metavar="N|auto",
        help="Number of threads; auto: all cores, if that is faster. Results do not depend on it.",
    ),
    store: StoreOption = None,
    no_store: NoStoreOption = False,
) -> None:
    """Simulate one scenario and show the results of each flow and each port.

    longpipe run geo.toml --set tcp.congestion=bbr --csv results

    The result is stored. The next run of the same scenario and seed reads it from the store.
    """
    # Imported here so that other commands start faster.
    from longpipe.cli.run.tables import show
    from longpipe.cli.toolkit.console import print_written, terminal
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe.cli.toolkit.warnings import warn, warn_of_replaced

    if everything and is_stdout(json):
        raise ScenarioError("--all: not with --json -, which contains all flows and ports")
    scenario = scenario_with(Path(file), changes or [])
    traces = [kind.value for kind in trace or []] + _traces(scenario, qlog, perfetto)
    if traces:
        scenario = scenario.with_(**{f"traces.{kind}": True for kind in traces})
    _check_outputs(json, csv, qlog, qlog_event or [], perfetto)
    on_threads = _number_of_threads(threads)
    captures = _captures(capture or [])
    warn(scenario)
    with ExitStack() as stack, RunBar(scenario.name) as bar:
        # Without a store the database is not imported, because the import takes longer than many runs.
        unstored = no_store and store is None
        kept = None if unstored else stack.enter_context(opened_store(store, no_store=no_store))
        # The store contains neither packets, files, chunks nor arrived flows, so the run is simulated again.
        stored = None if captures or kept is None else kept.load(scenario, seed)
        failure: CaptureError | None = None
        lists = stored is not None and any(stored.part(part).get("flow") for part in ("web", "arrived", "videos"))
        if stored is not None and (csv is None or not lists):
            result = stored
        else:
            result, failure = _simulated(scenario, seed, captures, (memory, on_threads), bar, kept)

    if result.one_thread is not None:
        echo(f"warning: --threads: the run used one thread: {result.one_thread}", err=True)
    warn_of_replaced(result)
    if csv is not None:
        result.to_csv(csv)
    _write_traces(result, qlog, qlog_dialect, qlog_event, perfetto)
    if json is not None:
        write_output(json, result.to_json())
    if not is_stdout(json):
        show(result, terminal(), everything=everything)
        print_written(terminal(), JSON=json, Tables=csv, qlog=qlog, Perfetto=perfetto)
    if failure is not None:
        raise failure


def _number_of_threads(text: str) -> int | Literal["auto"]:
    """Returns the value of `--threads`; raises ScenarioError unless it is a number of threads or auto."""
    from longpipe.run import check_threads

    if text == "auto":
        return "auto"
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else text
    check_threads(number, "--threads")
    return int(number)


def _check_outputs(
    json: str | None, csv: Path | None, qlog: Path | None, qlog_events: list[str], perfetto: Path | None
) -> None:
    """Raises ScenarioError for an output that cannot be written, before the run."""
    check_output("--json", json)
    for option, directory in (("--csv", csv), ("--qlog", qlog)):
        if directory is not None:
            check_directory(option, directory)
    if qlog_events:
        from longpipe.qlog import check_events

        check_events("--qlog-event", qlog_events)
    if perfetto is not None:
        check_file("--perfetto", perfetto)


def _traces(scenario: Scenario, qlog: Path | None, perfetto: Path | None) -> list[str]:
    """Returns the traces that qlog and Perfetto need."""
    # Imported here because few runs are written in these formats.
    traces: list[str] = []
    if qlog is not None:
        from longpipe import qlog as written_as_qlog

        traces += written_as_qlog.traces_of(scenario.resolved)
    if perfetto is not None:
        from longpipe import perfetto as written_as_perfetto

        traces += written_as_perfetto.TRACES
    return traces


def _write_traces(
    result: Result, qlog: Path | None, dialect: Dialect, qlog_events: list[str] | None, perfetto: Path | None
) -> None:
    """Writes qlog and a Perfetto trace, if requested."""
    if qlog is not None:
        from longpipe import qlog as written_as_qlog

        files = written_as_qlog.write(result, qlog, dialect.value, qlog_events)
        written_bytes = sum(file.stat().st_size for file in files)
        if written_bytes > LONG_QLOG_BYTES:
            echo(
                f"warning: qlog: {bytes_shown(written_bytes)} in {len(files)} files; --qlog-event packet_lost, or a "
                f"shorter duration, makes them shorter",
                err=True,
            )
    if perfetto is not None:
        from longpipe import perfetto as written_as_perfetto

        written_as_perfetto.write(result, perfetto)


def _simulated(
    scenario: Scenario,
    seed: int,
    captures: dict[str, str],
    resources: tuple[str | None, int | Literal["auto"]],
    bar: RunBar,
    kept: Store | None,
) -> tuple[Result, CaptureError | None]:
    """Simulates and stores a run; also returns the error of captures that could not be written completely."""
    from longpipe.cli.toolkit.warnings import warn_of_memory
    from longpipe.run import simulate

    memory, threads = resources
    if kept is not None:
        kept.check_traces(scenario)
    warn_of_memory(scenario, memory)
    began_s, failure = time.perf_counter(), None
    try:
        result = simulate(scenario, seed, bar.update, captures=captures, memory=memory, threads=threads)
    except CaptureError as error:
        result, failure = error.result, error
    if kept is not None:
        kept.keep(result, time.perf_counter() - began_s)
    return result, failure


def scenario_with(file: Path, changes: Sequence[str]) -> Scenario:
    """Reads a scenario with the changes of `--set`.

    Warns on stderr of changes that have no effect.
    """
    from longpipe.scenario import Scenario
    from longpipe.scenario.overrides import overridden_fields

    scenario, changed = completed(partial(Scenario.from_toml, file), dict(change(text) for text in changes))
    for line in overridden_fields(scenario, changed):
        echo(f"warning: --set {line}", err=True)
    return scenario


def completed(
    build: Callable[[Mapping[str, object]], Scenario], changes: Mapping[str, object]
) -> tuple[Scenario, dict[str, object]]:
    """Builds a scenario with the changes of `--set` and the settings that they need; returns it with all changes.

    Prints on stderr which settings were added, and which fields of the file a changed profile does not determine.
    """
    from longpipe.scenario.remedies import described, kept_fields, with_remedies

    scenario, added = with_remedies(build, changes)
    for line in (*described(added), *kept_fields(scenario, changes)):
        echo(f"note: --set {line}", err=True)
    return scenario, {**changes, **{missing_setting.field: missing_setting.value for missing_setting in added}}


def _captures(texts: list[str]) -> dict[str, str]:
    """Parses --capture options: the file for each place. Raises ScenarioError if a place has two files."""
    captures: dict[str, str] = {}
    for text in texts:
        place, _, path = text.partition("=")
        if not path:
            raise ScenarioError(f"--capture: {text!r}; accepts PLACE=FILE, as in host:source1=a.pcapng")
        if captures.setdefault(place, path) != path:
            raise ScenarioError(
                f"--capture: {place} is already captured in {captures[place]}; needs one file for each place"
            )
    return captures
