"""Settings of a graph over satellites: links of each kind, ground stations, gateways, handovers and failures."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from longpipe.scenario.base import Buffer, Delay, Duration, Instant, Model, quantity
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.loss import Loss, NoLoss
from longpipe.scenario.parts import Part, Parts, part
from longpipe.scenario.policies import Policy
from longpipe.scenario.variations import Coded, File, Moving
from longpipe.units import RATE


def _with_kind(value: Any) -> Any:  # noqa: ANN401 - unvalidated input
    """Adds the kind to a table as written, inferred from the field that only this kind has."""
    if isinstance(value, dict) and "kind" not in value:
        own = {"symbol_rate": "coded", "file": "file"}
        return {"kind": next((kind for field, kind in own.items() if field in value), "moving"), **value}
    return {"kind": value} if isinstance(value, str) else value


Variation = Annotated[Moving | File | Coded, Field(discriminator="kind"), BeforeValidator(_with_kind)]
Place = Annotated[str, Field(max_length=200)]


class RouteLink(Model):
    """Links of one kind in a graph over satellites; absent fields are those of the link that the graph represents."""

    rate: Annotated[str, quantity(RATE, "1 kbit/s", "10 Tbit/s")] | None = Field(
        default=None, description="Rate [bit/s]; that of the link if absent"
    )
    buffer: Buffer | None = Field(
        default=None, description="Buffer [packets, bytes, BDP or time]; that of the link if absent"
    )
    policy: Part[Policy | None] = part(default=None, description="Queue discipline; that of the link if absent")
    loss: Part[Loss] = part(
        default=NoLoss.unchecked(),
        description="Losses: on radio links after the queue, on links between satellites before the queue",
    )
    conditioners: Parts[tuple[Conditioner, ...]] = part(
        default=(), description="Policers, shaper, jitter, reordering, duplication, batches of the transmitter"
    )
    variation: Part[Variation | None] = part(
        default=None, description="Rate, losses and outages over time; the delay follows from the orbits"
    )


class Handover(Model):
    """Choice of the satellite that serves a ground station."""

    rule: Literal["shortest-route", "nearest", "highest", "longest-visible", "table"] = Field(
        default="shortest-route",
        description="Satellite: on the shortest route of each pair, the nearest, the highest above the horizon, the "
        "one that remains visible longest, or that of a table",
    )
    dwell: Duration | None = Field(
        default=None,
        description="Minimum time with a satellite while it is visible [time]; none if absent",
    )
    gap: Duration | None = Field(
        default=None, description="Time without a route after each handover of the station [time]; none if absent"
    )
    table: str | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="CSV file with time [s] and satellite, a number, name or catalog number; read when the scenario "
        "is checked",
    )


class GroundStation(Model):
    """Settings of a ground station of a graph over satellites."""

    place: Place = Field(description="The station, as in from, to or gateways of the path")
    least_elevation: Annotated[float, Field(ge=0, lt=90)] | None = Field(
        default=None, description="Elevation above which the station sees a satellite [degree]; that of all if absent"
    )
    handover: Part[Handover | None] = part(default=None, description="Handovers of the station; those of all if absent")
    outages: tuple[tuple[Instant, Instant], ...] = Field(
        default=(), description="Begin and end of each failure [time], as in [['10 s', '60 s']]; routes avoid it"
    )
    uplink: Part[RouteLink | None] = part(
        default=None, description="Its transmitter and radio links to satellites; those of all stations if absent"
    )
    downlink: Part[RouteLink | None] = part(
        default=None, description="A transmitter of its own at each satellite; the shared one of a satellite if absent"
    )


class Gateway(Model):
    """A further station that leads to the second node of the path."""

    place: Place = Field(description="The gateway: a city, or LATITUDE,LONGITUDE in degrees")
    delay: Delay = Field(
        default="0 s", description="Delay from the gateway to the node over the ground [time]; counts for the route"
    )


class SatelliteFailure(Model):
    """A satellite that does not forward packets for a time; routes avoid it."""

    satellite: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="Its number, as in longpipe satellites, its name or its catalog number"
    )
    begin: Instant = Field(default="0 s", description="Begin of the failure [time]")
    end: Instant | None = Field(default=None, description="End of the failure [time]; the end of the run if absent")
