"""`longpipe plot`: one picture, of one run over time or of a study over its factors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from longpipe.cli.run import scenario_with
from longpipe.cli.toolkit import completers
from longpipe.cli.toolkit.completers import among, field_and_level
from longpipe.cli.toolkit.given import refuse
from longpipe.cli.toolkit.naming import change
from longpipe.cli.toolkit.progress import Waiting
from longpipe.cli.toolkit.quantities import seconds
from longpipe.cli.toolkit.safe import echo
from longpipe.cli.toolkit.storing import StoreOption, factors_of_study, opened
from longpipe.errors import ScenarioError, nearest
from longpipe.pictures import KINDS, kind_of
from longpipe.system.files import check_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from longpipe.pictures.kinds.kind import Kind
    from longpipe.pictures.recorded import Recorded
    from longpipe.scenario import Scenario

FORMATS: Final = (".svg", ".pdf", ".png")


# Maximum number of flows in a printed summary, and the minimum share that the summary lists.
MAX_TOLD: Final = 5
MIN_TOLD: Final = 0.005
# Options of simulations; those of pictures of a run, of which a picture of paths uses some; and those of studies.
OF_SIMULATIONS: Final = ("--seed", "--set", "--compare")
OF_RUNS: Final = (
    *OF_SIMULATIONS, "--flow", "--port", "--all", "--unit", "--overlay", "--rto", "--from", "--to",
)  # fmt: skip
OF_PATH: Final = ("--set", "--from", "--to")
OF_STUDIES: Final = ("--y", "--by", "--map", "--where", "--y-from-data", "--store")

# The link that was a flow's only bottleneck, by label of the run and flow.
Busy = dict[tuple[str, str], str]
# Ratio of the time span that is drawn to the time at which the last transfer ends.
MARGIN: Final = 1.05


@dataclass
class Seen:
    """Properties of the results that the pictures do not contain.

    `busy` contains the link that was the only bottleneck of a flow, by label and flow, and `ends_s` the time at which
    the last transfer of each run ended; infinite if something was still sending at the end.
    """

    busy: Busy = field(default_factory=dict)
    ends_s: list[float] = field(default_factory=list)


class Unit(StrEnum):
    """Unit of windows and sequence numbers."""

    BYTES = "bytes"
    SEGMENTS = "segments"


def plot(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE.toml|DIR|STUDY",
            help="Scenario to run, directory written by run --csv, or (with --x) a study.",
            autocompletion=completers.source,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"Picture: {', '.join(KINDS)}. path shows the links of a scenario over time, without a run.",
            autocompletion=among([*KINDS]),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file: .svg, .pdf or .png.  \\[default: its source and kind, as in geo-window.png]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random stream.")] = 1,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Change a field before the run.", autocompletion=field_and_level
        ),
    ] = None,
    flow: Annotated[list[str] | None, typer.Option(help="Only this flow. Repeat for more.")] = None,
    port: Annotated[
        str | None,
        typer.Option(
            metavar="A->B",
            help="Port, for pictures of ports such as queue. \\[default: the port with the longest queue, with --flow "
            "of those that the flows use]",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Draw all flows instead of the largest.")] = False,
    unit: Annotated[
        Unit | None, typer.Option(help="Unit for window and sequence.  \\[default: bytes; with --compare segments]")
    ] = None,
    compared: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="FIELD=LEVEL,...",
            help="Compare one run per level in one figure: tcp.recovery=reno,sack",
            autocompletion=field_and_level,
        ),
    ] = None,
    overlay: Annotated[
        bool,
        typer.Option(
            "--overlay", help="Draw all flows (window, sequence, rtt), or with --compare all runs, on the same axes."
        ),
    ] = False,
    log: Annotated[
        bool,
        typer.Option(
            "--log", help="Logarithmic axis for delays: of rtt, delay and delay-cdf, or of the measure of a study."
        ),
    ] = False,
    rto: Annotated[bool, typer.Option("--rto", help="For rtt: always draw the retransmission timeout.")] = False,
    title: Annotated[str | None, typer.Option(help="Title of the picture.")] = None,
    begin: Annotated[
        float | None,
        typer.Option("--from", metavar="TIME", parser=seconds, help="Start of the time span to draw \\[s]."),
    ] = None,
    end: Annotated[
        float | None,
        typer.Option(
            "--to",
            metavar="TIME",
            parser=seconds,
            help="End of the time span to draw \\[s]; a run is simulated until then.",
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            "--x", metavar="FACTOR", help="Study: factor on the horizontal axis.", autocompletion=completers.factor
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            metavar="MEASURE",
            help="Study: measure on the vertical axis, also an expression as for design --measure.  "
            "\\[default: efficiency, else throughput]",
            autocompletion=completers.measure,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="FACTOR",
            help="Study: factor with one line per level.",
            autocompletion=completers.factor,
        ),
    ] = None,
    heat: Annotated[bool, typer.Option("--map", help="Study: draw --x and --by as a heat map.")] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="FACTOR=LEVEL",
            help="Study: use only these runs; also accepts conditions such as 'seed<3'. Repeat for more.",
        ),
    ] = None,
    y_from_data: Annotated[
        bool, typer.Option("--y-from-data", help="Study: start the vertical axis at the smallest value instead of 0.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Plot one run over time, or a study over its factors. The run is simulated or read from a directory.

    longpipe plot geo.toml throughput; longpipe plot geo.toml window --compare tcp.recovery=reno,sack -o
    recovery.svg; longpipe plot STUDY --x buffer --y efficiency -o study.svg
    """
    output = _output(output, source, name, x, y, by)
    if x is not None:
        if name is not None:
            raise ScenarioError(f"KIND: {name!r} is a picture of a run; omit it with --x, which draws a study")
        refuse(context, OF_RUNS, "not with --x, which draws a study; needs a scenario and a KIND")
        if log and heat:
            raise ScenarioError("--log: not with --map, which has colours; needs a line picture")
        with Waiting(f"reading {source}"):
            figure = _of_study(source, x, y, by, heat, where or [], store, from_zero=not y_from_data, log=log)
            _save(figure, title, output)
        return
    if not Path(source).exists() and (factors := factors_of_study(source, store)):
        raise ScenarioError(f"{source}: a study; needs --x FACTOR instead of a KIND, as in --x {factors[0]}")
    refuse(context, OF_STUDIES, "only for studies; needs --x FACTOR")
    kind = _kind(name)
    name = str(name)
    if kind.of == "links":
        refuse(
            context,
            {*OF_RUNS, "--log"}.difference(OF_PATH),
            f"not with {name}, which draws the links of a scenario without a run",
        )
        scenario = scenario_with(_existing(source), changes or [])
        _save(kind.draw(scenario, _span(scenario, begin, end), _called(scenario, changes or [])), title, output)
        return
    if Path(source).is_dir():
        refuse(context, OF_SIMULATIONS, f"{source} contains a finished run; needs a scenario to run")
    _check_flows_drawn(name, kind, flow, compared, everything=everything, overlay=overlay, rto=rto)
    # Pictures of distributions always draw several runs, and some pictures all flows, as lines on the same axes.
    lines = overlay and (not kind.draws_runs if compared else kind.line is not None)
    options = _options(name, kind, unit, port, rto=rto, log=log, overlay=lines)
    seen = Seen()
    _check_port(_existing(source), changes or [], port)
    runs = _runs(Path(source), name, seed, changes or [], compared, flow, seen, (begin, end))
    with Waiting("drawing"):
        if name == "window":
            _print_waiting(runs, flow, seen.busy)
        scenario = next(iter(runs.values())).scenario
        if end is None and (end := _end_of_transfers(scenario, seen.ends_s, begin)) is not None:
            echo(f"drawn until {end:g} s, because all transfers end before; --to draws more")
        options["span_s"] = _span(scenario, begin, end)
        _save(_draw(runs, name, flow, options, everything), title, output)


def _output(output: Path | None, source: str, kind: str | None, x: str | None, y: str | None, by: str | None) -> Path:
    """Returns the output file, by default named after its source and its picture.

    Raises ScenarioError if it cannot be written.
    """
    if output is None:
        parts = [Path(source).stem, *([kind] if kind else [y or "", f"over-{x}", by or ""])]
        output = Path("-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part) + ".png")
    if output.suffix not in FORMATS:
        raise ScenarioError(f"--output: {str(output)!r}; {nearest(output.suffix, FORMATS)}")
    check_file("--output", output)
    return output


def _check_flows_drawn(
    name: str, kind: Kind, flow: list[str] | None, compared: str | None, *, everything: bool, overlay: bool, rto: bool
) -> None:
    """Raises ScenarioError for a --flow, --all or --overlay that has no effect on a picture."""
    if flow and not kind.selects_flows:
        raise ScenarioError(f"--flow: not with {name}, which stacks all flows; needs a picture of flows, such as delay")
    # A picture of the senders that does not let callers choose a number of flows shows one.
    shows_one = "most" not in kind.options and kind.line is not None
    if everything and "most" not in kind.options and not shows_one:
        raise ScenarioError(f"--all: not with {name}, which always counts all flows")
    if everything and (flow or compared or (shows_one and not overlay)):
        with_what = "--flow" if flow else "--compare" if compared else f"{name}, which shows one flow; needs --overlay"
        raise ScenarioError(f"--all: not with {with_what}")
    if overlay and rto:
        raise ScenarioError("--overlay: not with --rto; needs panels")
    if overlay and compared is None and kind.no_overlay:
        lines = ", ".join(other for other in KINDS if kind_of(other).line is not None)
        raise ScenarioError(f"--overlay: {kind.no_overlay}; needs {lines}, or --compare FIELD=LEVEL,LEVEL")


def _options(
    name: str, kind: Kind, unit: Unit | None, port: str | None, *, rto: bool, log: bool, overlay: bool
) -> dict[str, Any]:
    """Returns the options given for a picture; raises ScenarioError for options that it does not use."""
    given = {"port": port, "unit": unit and unit.value, "rto": rto, "log": log}
    lacking = {
        "port": "shows flows; needs --flow, or the picture ",
        "unit": "has no such unit; needs ",
        "rto": "shows no timeout; needs ",
        "log": "shows no delay; needs ",
    }
    for option, value in given.items():
        if value and option not in kind.options:
            able = [other for other in KINDS if option in kind_of(other).options]
            raise ScenarioError(f"--{option}: {name} {lacking[option]}{' or '.join(able)}")
    return {option: value for option, value in {**given, "overlay": overlay}.items() if value}


def _save(figure: Figure, title: str | None, output: Path) -> None:
    # Imported here so that other commands start faster.
    from longpipe.pictures.saving import save_as
    from longpipe.pictures.style import title_with_formulas

    if title is not None:
        title_with_formulas(figure, title)
    try:
        save_as(figure, output)
    except ValueError as error:
        # Matplotlib's error about a formula that it cannot read.
        if title is None or "Parse" not in str(error):
            raise
        raise ScenarioError(rf"--title: {title!r}; needs a formula of Matplotlib, or \$ for each dollar sign") from None
    echo(f"Picture: {output}")


def _existing(source: str) -> Path:
    if not Path(source).exists():
        raise ScenarioError(f"{source}: does not exist; needs a TOML file, or a directory of run --csv")
    return Path(source)


def _check_port(source: Path, changes: list[str], port: str | None) -> None:
    """Raises ScenarioError, before the run, for a port that the network of a scenario file does not have."""
    if port is not None and source.is_file():
        from longpipe.pictures.recorded import check_port
        from longpipe.scenario import Scenario

        # Warnings of the scenario are printed when it is read for the run.
        check_port(Scenario.from_toml(source, dict(map(change, changes))), port)


def _kind(name: str | None) -> Kind:
    if name not in KINDS:
        raise ScenarioError(
            f"KIND: {'missing' if name is None else repr(name)}; {nearest(str(name), KINDS)}, or --x FACTOR of a study"
        )
    return kind_of(name)


def _runs(
    source: Path,
    name: str,
    seed: int,
    changes: list[str],
    compared: str | None,
    flows: list[str] | None,
    seen: Seen,
    between: tuple[float | None, float | None],
) -> dict[str, Recorded]:
    """Returns the recorded run, or simulates the scenario once or for each compared level; keys are the levels.

    A run is simulated until the end of the time span to draw, or for its duration. `seen` receives what the
    results show.
    """
    from longpipe.cli.toolkit.warnings import warn
    from longpipe.pictures.recorded import Recorded, check_senders

    if source.is_dir():
        with Waiting(f"reading {source}"):
            return {"": Recorded.from_directory(source)}
    kind = kind_of(name)
    scenario = scenario_with(source, [*changes, *(f"traces.{needed}=true" for needed in kind.traces)])
    if kind.needs_sender:
        check_senders(scenario, flows, kind.lacks)
    called = _called(scenario, changes)
    scenario = until(scenario, _span(scenario, *between)[1])
    if compared is None:
        warn(scenario)
        return {"": _run(scenario, seed, flows, called, seen)}
    from longpipe.cli.design.plan import parse_factor
    from longpipe.design.level_names import legend_names

    factor = parse_factor(compared, scenario, "--compare")
    if len(factor.levels) < 2:
        raise ScenarioError(f"{factor.name}: levels {', '.join(map(repr, factor.levels))}; needs at least 2")
    names = legend_names(factor)
    scenarios = {f"{factor.name} = {names[level]}": scenario.with_(**what) for level, what in factor.levels.items()}
    _check_distinct(scenarios, factor.levels.values())
    warn(*scenarios.values())
    return {label: _run(swept, seed, flows, called, seen, label) for label, swept in scenarios.items()}


def _called(scenario: Scenario, changes: list[str]) -> str:
    """Returns the scenario's name and its changes, for the title of a picture."""
    return ", ".join([scenario.name, *(change.replace('"', "") for change in changes)])


def _check_distinct(scenarios: Mapping[str, Scenario], changes: Iterable[Mapping[str, object]]) -> None:
    """Raises ScenarioError if levels lead to the same run, with the reason if the groups override the field."""
    from longpipe.scenario.overrides import overridden_fields

    known: dict[str, str] = {}
    for label, scenario in scenarios.items():
        if (same := known.setdefault(scenario.digest(), label)) != label:
            ignored = overridden_fields(scenario, (field for change in changes for field in change))
            same_run = f"--compare: {same!r} and {label!r} are the same run; needs levels that change it"
            raise ScenarioError(*(ignored or [same_run]))


def until(scenario: Scenario, end_s: float) -> Scenario:
    """Returns the scenario shortened to a given end, or the scenario itself if that would change earlier events."""
    from longpipe.result import duration_s

    if end_s >= duration_s(scenario):
        return scenario
    try:
        short = scenario.with_(duration=f"{end_s:.12f} s")
    except ScenarioError:
        # For example, because a flow starts later.
        return scenario
    return short if _constant_fields(short) == _constant_fields(scenario) else scenario


def _constant_fields(scenario: Scenario) -> dict[str, Any]:
    """Returns the fields that a shorter duration must not change: for example, a buffer in BDP depends on the delay."""
    resolved = scenario.resolved
    return {
        "links": [
            {name: v for name, v in link.items() if name not in ("motion", "loss")} for link in resolved["links"]
        ],
        "flows": [{name: v for name, v in flow.items() if name != "rerouting"} for flow in resolved["flows"]],
    }


def _run(scenario: Scenario, seed: int, flows: list[str] | None, called: str, seen: Seen, label: str = "") -> Recorded:
    """Runs a scenario and prints its limits. `called` is its name in titles."""
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe.pictures.recorded import Recorded, check_flows
    from longpipe.run import simulate
    from longpipe.verdicts.limits import idle_lines, limit_lines, notes

    check_flows(scenario, flows)
    with RunBar(label or scenario.name) as bar:
        result = simulate(scenario, seed, bar.update)
    limits = result.flow_limits
    for line in limit_lines(limits):
        echo(f"{label}: limited by {line}" if label else f"limited by {line}")
    for head, line in (*(("note", line) for line in notes(limits)), *(("ended", line) for line in idle_lines(limits))):
        echo(f"{label}: {head}: {line}" if label else f"{head}: {line}")
    seen.busy.update({(label, limit.flow): limit.busy_link for limit in limits if limit.busy_link})
    ends = [math.inf] if result.part("vbr").get("source") else result.part("flows")["completion_s"]
    seen.ends_s.append(max((math.inf if math.isnan(limit) else limit for limit in ends), default=math.inf))
    return Recorded(result.scenario, result.traces, called, result.completions)


def _print_waiting(runs: dict[str, Recorded], flows: list[str] | None, busy: Busy) -> None:
    """Prints, for each of the first flows, why its sender waited, if the traces are recorded."""
    from longpipe.pictures.recorded import flow_names
    from longpipe.pictures.share_of_time import time_shares

    for label, run in runs.items():
        names = flows or flow_names(run.scenario)
        for name in names[:MAX_TOLD] if {"cwnd", "sequence", "events"} <= run.traces.keys() else ():
            shares = time_shares(run, name).sort_values(ascending=False, kind="stable")
            causes = ", ".join(f"{cause} {share:.0%}" for cause, share in shares.items() if share >= MIN_TOLD)
            if not causes:
                # The flow sent no TCP segment.
                continue
            # Behind a busy link, the window is full of queued packets.
            queue = f", behind {busy[label, name]}" if (label, name) in busy else ""
            echo(f"{f'{label}: ' if label else ''}{name} held back by {causes} of its time{queue}")


def _of_study(
    name: str,
    x: str,
    y: str | None,
    by: str | None,
    heat: bool,
    where: list[str],
    url: str | None,
    *,
    from_zero: bool,
    log: bool,
) -> Figure:
    from longpipe import pictures
    from longpipe.study import Study

    if heat and by is None:
        raise ScenarioError("--map: has only one factor; needs --by FACTOR")
    with opened(url, readonly=True) as store:
        study = Study.open(name, store)
        if heat and by:
            return pictures.heat(study, x, y, by, where=where)
        return pictures.sweep(study, x, y, by, where=where, from_zero=from_zero, log=log)


def _draw(
    runs: dict[str, Recorded], name: str, flows: list[str] | None, options: dict[str, Any], everything: bool
) -> Figure:
    from longpipe import pictures

    kind = kind_of(name)
    # Each picture has its own default for the number of flows that it shows.
    most: dict[str, Any] = {"most": None} if everything else {}
    run = next(iter(runs.values()))
    if options.pop("overlay", False):
        return pictures.overlay(runs if len(runs) > 1 else run, name, flows, **options, **most)
    if len(runs) > 1 and not kind.draws_runs:
        return pictures.compare(runs, name, flows, **options)
    if kind.selects_flows:
        options["flows"] = flows
    return kind.draw(runs if len(runs) > 1 else run, **options, **most)


def _end_of_transfers(scenario: Scenario, ends_s: list[float], begin: float | None) -> float | None:
    """Returns the end of the time span to draw if all runs send nothing in most of their time, and None otherwise."""
    from longpipe.result import duration_s

    last = float(f"{MARGIN * max(ends_s, default=math.inf):.3g}")
    return last if (begin or 0.0) < last < duration_s(scenario) / 2 else None


def _span(scenario: Scenario, begin: float | None, end: float | None) -> tuple[float, float]:
    from longpipe.result import duration_s

    last = duration_s(scenario)
    span = (0.0 if begin is None else begin, last if end is None else min(end, last))
    if not 0 <= span[0] < span[1]:
        raise ScenarioError(
            f"--from, --to: {span[0]:g} s to {span[1]:g} s; needs a beginning before the end, from 0 s to {last:g} s"
        )
    return span
