"""`longpipe live replay`: sends the packets of a record through a path in virtual time."""

from pathlib import Path

import typer

from longpipe.cli.toolkit.outputs import check_output, is_stdout, json_option, write_output
from longpipe.cli.toolkit.safe import Console
from longpipe.cli.toolkit.storing import SetOption

DIFFERENT = 1


def replay(
    file: Path = typer.Argument(metavar="FILE", help="Record; `longpipe live --record` writes one."),
    changes: SetOption = None,
    json: str | None = json_option("counters, delays and ports"),
) -> None:
    """Send the packets of a record through its path again, in virtual time, with their recorded arrival times.

    An unchanged path repeats every decision; a changed path makes its own decisions.

    The exit status is 1 if the path is unchanged and a decision differs.
    """
    from longpipe.cli.toolkit.naming import change
    from longpipe.live.records import replay as decide

    check_output("--json", json)
    done = decide(file, **dict(change(text) for text in changes or []))
    if json is not None:
        write_output(json, done.to_json())
    # The summary must not be mixed with JSON on stdout.
    console = Console(highlight=False, stderr=is_stdout(json))
    console.print(
        f"{done.elapsed_s:.1f} s, {done.entered} packets entered, {done.delivered} delivered, "
        f"{sum(done.lost.values())} lost, {done.marked} marked, {done.on_path} on the path",
        soft_wrap=True,
    )
    if any(done.lost.values()):
        console.print("lost by " + ", ".join(f"{cause} {count}" for cause, count in done.lost.items() if count))
    labels = {"0.5": "median", "0.95": "95 %", "0.99": "99 %", "1": "most"}
    for direction, way in (("forward", "source to sink"), ("back", "sink to source")):
        delay_s = done.delay_by_direction_s[direction]
        # Without packets of this direction there are no quantiles.
        delays_s = {name: value for share, name in labels.items() if (value := delay_s[share]) is not None}
        quantiles = [f"{name} {value * 1e3:.4g} ms" for name, value in delays_s.items()]
        if quantiles:
            console.print(f"delay from {way}: {', '.join(quantiles)}", soft_wrap=True)
    console.print(f"decisions {done.decisions}")
    if done.recorded_decisions is None:
        console.print("the record is incomplete, so there are no decisions to compare with")
    elif changes:
        console.print(f"recorded  {done.recorded_decisions}, with the recorded scenario")
    elif done.agrees:
        console.print("every decision equals that of the recorded run")
    else:
        console.print(f"recorded  {done.recorded_decisions}: decisions differ")
        raise typer.Exit(DIFFERENT)
