"""`longpipe satellites`: round trips and routes over a constellation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from longpipe.cli.toolkit.given import NeedingCommand
from longpipe.cli.toolkit.outputs import apart, check_output, is_stdout, write_frame
from longpipe.cli.toolkit.quantities import DEGREES, KILOMETRES, number_of, seconds
from longpipe.cli.toolkit.safe import echo
from longpipe.errors import ScenarioError, nearest
from longpipe.system.files import PICTURES, check_file

if TYPE_CHECKING:
    from longpipe.satellites import Constellation, RoundTrips, Station

TABLES: Final = (".csv", ".parquet", ".json")
ANIMATIONS: Final = (".html", ".czml")
# Maximum number of pairs that are printed.
MAX_TOLD: Final = 12
BUILT_IN: Final = "starlink-550, kuiper-630, telesat-1015, oneweb, iridium"

# A place with a southern latitude starts with a minus sign, like an option.
_SOUTH: Final = re.compile(r"-\d+(\.\d*)?,.*")


class PlacesCommand(NeedingCommand):
    """A command that accepts "-33.4,-70.6" as an argument."""

    needs = {"--at": "--map"}  # noqa: RUF012 - a ClassVar of the base class

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context
        """Parses the arguments; a space before such a place prevents Click from treating it as an option."""
        return super().parse_args(ctx, [f" {word}" if _SOUTH.fullmatch(word) else word for word in args])


COMMAND: Final = PlacesCommand


def satellites(
    source: str = typer.Argument(
        metavar="SHELL|FILE",
        help=f"{BUILT_IN}; your own as ORBITSxSATELLITES:KM:DEGREES:PHASING; a file of TLEs or OMMs; "
        "a folder of Hypatia.",
    ),
    places: list[str] | None = typer.Argument(
        None, metavar="[STATION]...", help="Cities, or LATITUDE,LONGITUDE: two, or more for all pairs."
    ),
    cities: int = typer.Option(0, metavar="N", help="Add the N largest cities."),
    duration: float = typer.Option(200.0, metavar="TIME", parser=seconds, help="Duration \\[s].", show_default="200 s"),
    step: float = typer.Option(
        0.1, metavar="TIME", parser=seconds, help="Time between two instants \\[s].", show_default="0.1 s"
    ),
    begin: str | None = typer.Option(
        None,
        metavar="UTC|TIME",
        help="First instant, as in 2026-11-22T12:00; for a shell also a time after its epoch, 2000-01-01T00:00:00, "
        "as in '60 s'. \\[default: the epoch of the shell, or the last one of the file]",
    ),
    elevation: Annotated[
        float | None,
        typer.Option(metavar="DEG", parser=number_of(DEGREES), help="Minimum elevation at every station \\[degree]."),
    ] = None,
    link_range: Annotated[
        float | None,
        typer.Option(
            metavar="KM",
            parser=number_of(KILOMETRES),
            help="Maximum length of a link between satellites of a file \\[km]; links stay 80 km above the Earth.",
        ),
    ] = None,
    links: str | None = typer.Option(
        None,
        metavar="grid|FILE",
        help="Links between satellites of a file: a +grid, or a file with two satellites per line.",
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE|-", help="Round trips: .csv, .parquet or .json; - is stdout, as CSV."
    ),
    routes: Path | None = typer.Option(
        None, metavar="FILE|-", help="Routes, one row per change: .csv, .parquet or .json; - is stdout, as CSV."
    ),
    picture: Path | None = typer.Option(
        None, metavar="FILE", help="Round trips and links over time: .svg, .pdf or .png."
    ),
    chart: Path | None = typer.Option(
        None, "--map", metavar="FILE", help="A map at a point in time: .svg, .pdf or .png."
    ),
    at: float = typer.Option(
        0.0, "--at", metavar="TIME", parser=seconds, help="Time of the map \\[s].", show_default="0 s"
    ),
    animation: Path | None = typer.Option(
        None, metavar="FILE", help="Satellites and routes over time: .html, one page, or .czml for CesiumJS."
    ),
) -> None:
    """Compute round trips and routes between ground stations over a constellation.

    longpipe satellites starlink-550 London 'New York' --duration '10 min' -o rtt.csv --picture rtt.svg

    longpipe satellites kuiper-630 --cities 100 -o all.parquet
    """
    for option, file, accepted in (
        ("--output", output, TABLES),
        ("--routes", routes, TABLES),
        ("--picture", picture, PICTURES),
        ("--map", chart, PICTURES),
        ("--animation", animation, ANIMATIONS),
    ):
        if file is not None:
            if accepted is TABLES and is_stdout(file):
                check_output(option, file)
                continue
            if file.suffix not in accepted:
                raise ScenarioError(f"{option}: {str(file)!r}; {nearest(file.suffix, accepted)}")
            check_file(option, file)
    # Imported here so that other commands start faster.
    from longpipe.cli.toolkit.progress import RunBar
    from longpipe.satellites import round_trips

    stations = _stations(places or [], cities, elevation)
    constellation, begin_s = _constellation(source, begin, link_range, links)
    _warn(source, constellation.doubts)
    with RunBar(constellation.name) as bar:
        computed = round_trips(
            constellation, stations, duration_s=duration, step_s=step, begin_s=begin_s, told=bar.update
        )
    _warn(source, [line for line in computed.doubts if line not in constellation.doubts])
    with apart(output if is_stdout(output) else routes):
        _show(computed, output, routes, picture, chart, at)
        if animation is not None:
            _animate(computed, animation)


def _show(
    computed: RoundTrips, output: Path | None, routes: Path | None, picture: Path | None, chart: Path | None, at: float
) -> None:
    """Prints the pairs of stations, and writes tables and pictures."""
    _print_pairs(computed)
    for what, file, table in (("Round trips", output, computed.table), ("Routes", routes, computed.routes)):
        if file is not None:
            write_frame(file, table())
            if not is_stdout(file):
                echo(f"{what}: {file}")
    if picture is not None or chart is not None:
        from longpipe.pictures.satellites import round_trips_over_time, satellite_map
        from longpipe.pictures.saving import save_as

        if picture is not None:
            save_as(round_trips_over_time(computed), picture)
            echo(f"Picture: {picture}")
        if chart is not None:
            save_as(satellite_map(computed, at), chart)
            echo(f"Map: {chart}")


def _animate(computed: RoundTrips, file: Path) -> None:
    """Writes an animation as a page or as CZML."""
    from longpipe.pictures.animation import animation_czml, animation_page
    from longpipe.system.files import write_text

    write_text(file, animation_czml(computed) if file.suffix == ".czml" else animation_page(computed))
    echo(f"Animation: {file}")


def _stations(places: list[str], count: int, elevation: float | None) -> list[Station]:
    """Returns the named stations and the `count` largest cities. Raises ScenarioError unless there are two."""
    from dataclasses import replace

    from longpipe.satellites import cities, station

    if not 0 <= count <= len(cities()):
        raise ScenarioError(f"--cities: {count}; needs 0 to {len(cities())}")
    by_name = {place.name: place for place in [*map(station, places), *islice(cities().values(), count)]}
    if len(by_name) == 1 and len(places) > 1:
        raise ScenarioError(f"STATION: {next(iter(by_name))} repeated; needs two different places, or --cities N")
    if len(by_name) < 2:
        raise ScenarioError(f"STATION: {len(by_name)} of them; needs two different ones, or --cities N")
    if elevation is not None and not 0 <= elevation < 90:
        raise ScenarioError(f"--elevation: {elevation:g}; needs 0 to below 90 degrees")
    return [place if elevation is None else replace(place, least_elevation_deg=elevation) for place in by_name.values()]


def _constellation(
    source: str, begin: str | None, link_range: float | None, links: str | None
) -> tuple[Constellation, float]:
    """Returns the constellation, and the first instant [s] after its epoch."""
    from longpipe.satellites import Constellation
    from longpipe.satellites.epochs import utc
    from longpipe.satellites.shells import parse_shell
    from longpipe.scenario.shell_begin import parse_begin_ps

    if link_range is not None and not link_range > 0:
        raise ScenarioError(f"--link-range: {link_range:g}; needs more than 0 km")
    if Path(source).exists():
        range_m = None if link_range is None else 1e3 * link_range
        epoch = None if begin is None else utc("--begin", begin)
        return Constellation.of_file(Path(source), epoch=epoch, link_range_m=range_m, links_from=links), 0.0
    for option, value in (("--link-range", link_range), ("--links", links)):
        if value is not None:
            raise ScenarioError(f"{option}: needs a file of TLEs or OMMs; shells define their links")
    if Path(source).suffix:
        raise ScenarioError(f"{source}: does not exist; needs a file of TLEs or OMMs, or a shell: {BUILT_IN}")
    constellation = Constellation.of_shell(parse_shell(source))
    try:
        return constellation, 0.0 if begin is None else parse_begin_ps(begin) / 1e12
    except ValueError as error:
        raise ScenarioError(f"--begin: {error}") from None


def _warn(source: str, doubts: Iterable[str]) -> None:
    """Warns on stderr about outdated elements and about satellites without a position."""
    for line in doubts:
        echo(f"warning: {source}: {line}", err=True)


def _print_pairs(computed: RoundTrips) -> None:
    """Prints a line for each of the first pairs."""
    import numpy as np

    for pair in range(min(MAX_TOLD, len(computed.pairs))):
        rtt = computed.rtt_s[:, pair]
        reached = rtt[np.isfinite(rtt)]
        minimum, middle, maximum = 1e3 * reached.min(), 1e3 * np.median(reached), 1e3 * reached.max()
        changes = sum(changed_pair == pair for _, changed_pair, _ in computed.changes) - 1
        counted = "1 change" if changes == 1 else f"{changes} changes"
        line = f"{computed.label(pair)}: {minimum:.2f} to {maximum:.2f} ms, median {middle:.2f} ms, {counted} of route"
        without = 1 - len(reached) / len(rtt)
        echo(line + (f", no route for {without:.1%} of the time" if without else ""))
    if (rest := len(computed.pairs) - MAX_TOLD) > 0:
        echo(f"and {rest} other pairs")
