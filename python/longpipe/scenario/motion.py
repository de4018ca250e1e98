"""Time-varying links: rate, delay, outages and order from a list, a file, Es/N0, satellites or Starlink."""

from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from longpipe.scenario.base import Duration, Model
from longpipe.scenario.parts import Part, Parts, part
from longpipe.scenario.route_links import Gateway, GroundStation, Handover, RouteLink, SatelliteFailure
from longpipe.scenario.shell_begin import ShellBegin, UtcBegin
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.variations import Between, Coded, File, Moving, Order, Outages, ReadAt

FirstStation = Annotated[
    str,
    Field(
        validation_alias=AliasChoices("from", "from_"),
        serialization_alias="from",
        max_length=200,
        description="The station at the first node: a city, or LATITUDE,LONGITUDE in degrees",
    ),
]
SecondStation = Annotated[
    str,
    Field(max_length=200, description="The station at the second node: a city, or LATITUDE,LONGITUDE in degrees"),
]
RouteStep = Annotated[
    Duration, Field(description="Interval at which the route is computed [time]; the delay is linear in between")
]
RouteOutages = Annotated[Outages, Field(description="Outages, in addition to times without a route")]
RouteOrder = Annotated[
    Order, Field(description="After a route change, packets keep their own delays (free) or their order (fifo)")
]


AsGraph = Annotated[
    Literal["link", "graph"],
    Field(
        validation_alias=AliasChoices("as", "as_"),
        serialization_alias="as",
        description="One time-varying link with one queue (link), or a router with queues for each satellite (graph)",
    ),
]
Rerouting = Annotated[
    Literal["keep", "drop"],
    Field(
        description="In a graph: after a route change packets in flight keep their route, or each node forwards them "
        "along the new one and drops those that are not on it"
    ),
]
_LINKS_OF_KIND: Final = "In a graph: links of this kind, where they differ from the link that the graph represents"
_HANDOVER: Final = "In a graph: handovers of stations without a setting of their own"
_STATIONS: Final = "In a graph: stations with settings of their own, as in [{place = 'Manila', least_elevation = 30}]"
_GATEWAYS: Final = (
    "In a graph: stations besides `to` that lead to the second node; a route uses the one with the lowest delay"
)
_FAILURES: Final = "In a graph: satellites that fail, as in [{satellite = '184', begin = '10 s'}]"


class Satellites(Model):
    """The shortest route over a constellation between two ground stations; needs `longpipe[orbits]`."""

    kind: Literal["satellites"] = "satellites"
    shell: str = Field(
        min_length=1, max_length=200, description="A shell, as in starlink-550, or ORBITSxSATELLITES:KM:DEGREES:PHASING"
    )
    from_: FirstStation
    to: SecondStation
    as_: AsGraph = "link"
    rerouting: Rerouting = "keep"
    begin: ShellBegin = Field(
        default="0 s",
        description="Start of the run, as a time after the shell's epoch, 2000-01-01T00:00:00, or in UTC",
    )
    least_elevation: Annotated[float, Field(ge=0, lt=90)] | None = Field(
        default=None,
        description="Elevation above which a station sees a satellite [degree]; the rule of the shell if absent",
    )
    step: RouteStep = "1 s"
    between: Between = "linear"
    at: ReadAt = "end"
    outages: RouteOutages = Outages.unchecked()
    order: RouteOrder = "free"
    uplink: Part[RouteLink | None] = part(default=None, description=_LINKS_OF_KIND)
    downlink: Part[RouteLink | None] = part(default=None, description=_LINKS_OF_KIND)
    crosslink: Part[RouteLink | None] = part(default=None, description=_LINKS_OF_KIND)
    handover: Part[Handover] = part(default=Handover.unchecked(), description=_HANDOVER)
    stations: Parts[tuple[GroundStation, ...]] = part(default=(), description=_STATIONS)
    gateways: Parts[tuple[Gateway, ...]] = part(default=(), description=_GATEWAYS)
    failures: Parts[tuple[SatelliteFailure, ...]] = part(default=(), description=_FAILURES)


class OwnSatellites(Model):
    """The shortest route over satellites of a file between two ground stations; needs `longpipe[orbits]`."""

    kind: Literal["elements"] = "elements"
    elements: str = Field(
        min_length=1,
        max_length=4096,
        description="A file of TLEs, or of OMMs as JSON, CSV, XML or KVN, or a folder with tles.txt and isls.txt (a "
        "link between two satellites per line); read when the scenario is checked",
    )
    from_: FirstStation
    to: SecondStation
    as_: AsGraph = "link"
    rerouting: Rerouting = "keep"
    begin: UtcBegin | None = Field(
        default=None,
        max_length=40,
        description="Start of the run in UTC, as in 2026-11-22T12:00; the last epoch of the elements if absent",
    )
    least_elevation: Annotated[float, Field(ge=0, lt=90)] = Field(
        default=25.0, description="Elevation above which a station sees a satellite [degree]"
    )
    link_range: Annotated[float, Field(gt=0, le=100_000)] | None = Field(
        default=None,
        description="Longest link between two satellites [km]; two satellites are linked whenever they are at most "
        "this far apart and the line between them stays at least 80 km above the Earth. If absent, a route uses a "
        "single satellite",
    )
    links: Annotated[str, Field(min_length=1, max_length=4096)] | None = Field(
        default=None,
        description="Links between satellites instead of a range: grid, to the neighbors in the orbital plane and in "
        "the adjacent planes; or a file with two satellites per line",
    )
    step: RouteStep = "1 s"
    between: Between = "linear"
    at: ReadAt = "end"
    outages: RouteOutages = Outages.unchecked()
    order: RouteOrder = "free"
    uplink: Part[RouteLink | None] = part(default=None, description=_LINKS_OF_KIND)
    downlink: Part[RouteLink | None] = part(default=None, description=_LINKS_OF_KIND)
    crosslink: Part[RouteLink | None] = part(default=None, description=_LINKS_OF_KIND)
    handover: Part[Handover] = part(default=Handover.unchecked(), description=_HANDOVER)
    stations: Parts[tuple[GroundStation, ...]] = part(default=(), description=_STATIONS)
    gateways: Parts[tuple[Gateway, ...]] = part(default=(), description=_GATEWAYS)
    failures: Parts[tuple[SatelliteFailure, ...]] = part(default=(), description=_FAILURES)


def _with_kind(value: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Adds the kind to a table as written, inferred from the field that only this kind has."""
    if isinstance(value, dict):
        of_satellites = next((field for field in ("shell", "elements") if field in value), None)
        other = next((field for field in ("rate", "delay", "rtt", "file") if field in value), None)
        if of_satellites and other:
            raise ValueError(
                f"{other} with {of_satellites}; needs one of them: a satellite path computes its delay, and has the "
                "rate of the link; for another rate over time, a file with time, rate and delay"
            )
    if isinstance(value, dict) and "kind" not in value:
        own = {"shell": "satellites", "elements": "elements", "symbol_rate": "coded", "file": "file"}
        return {"kind": next((kind for field, kind in own.items() if field in value), "moving"), **value}
    return {"kind": value} if isinstance(value, str) else value


Path = Annotated[
    Moving | File | Coded | Satellites | OwnSatellites | Starlink,
    Field(discriminator="kind"),
    BeforeValidator(_with_kind),
]
