"""Fields of a Starlink path: rate, delay, losses and queue of one direction, drawn from published measurements."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from longpipe.scenario.base import Delay, Duration, Model, StepRate, quantity
from longpipe.scenario.shell_begin import UtcBegin
from longpipe.units import TIME

Year = Literal[2022, 2023, 2025]
Site = Literal["belgium", "osnabrueck", "enschede"]
Direction = Literal["down", "up"]
MAX_SEEDS: Final = 2**63
Share = Annotated[float, Field(ge=0, le=1)]
# Mean interval of random events, each of which is a step of the path's series.
Interval = Annotated[str, quantity(TIME, "100 ms", "2400 h")]
Factor = Annotated[float, Field(gt=0, le=2)]
# Quantiles at the probabilities that `starlink_draws.PROBABILITIES` lists.
_SEVEN = Field(min_length=7, max_length=7)
RateQuantiles = Annotated[tuple[StepRate, ...], _SEVEN]
DelayQuantiles = Annotated[tuple[Delay, ...], _SEVEN]
Hours = Annotated[float, Field(ge=0, lt=24)]


class Starlink(Model):
    """A Starlink access as measured: slots of 15 s in UTC, grants, losses, and a drop-head queue limited in time.

    A field that is absent has the value of the parameter set of the year and site. The other direction of the link is
    drawn from the same seed unless `return_path` is set.
    """

    kind: Literal["starlink"] = "starlink"
    year: Year = Field(
        default=2023,
        description="Parameter set: 2022 (Michel et al., IMC '22, Belgium), 2023 (WetLinks, Osnabrück), 2025 (partial)",
    )
    site: Site | None = Field(
        default=None,
        description="Site of the parameter set: belgium (2022), osnabrueck or enschede (2023); by default the first of "
        "the year",
    )
    seed: int = Field(
        default=1,
        ge=0,
        lt=MAX_SEEDS,
        description="Seed of the satellites, rates, delays and losses, independent of the seed of a run",
    )
    begin: UtcBegin = Field(
        default="2023-10-01T12:00:00",
        max_length=40,
        description="Start of the run in UTC; slots begin 12, 27, 42 and 57 s after each minute (Tanveer et al. 2023)",
    )
    utc_offset: Annotated[float, Field(ge=-14, le=14)] = Field(
        default=1.0, description="Local time minus UTC, for the daily curve [h]"
    )
    direction: Direction = Field(
        default="down", description="Direction of the data that this path carries: from the satellite (down) or to it"
    )
    change: Annotated[float, Field(ge=0.01, le=1)] | None = Field(
        default=None, description="Probability that a slot has a new satellite, with new rates and a new base delay"
    )
    down_rate: RateQuantiles | None = Field(
        default=None,
        description="Rate of a slot, from the satellite, quantiles at 0, 5, 25, 50, 75, 95 and 100 % [bit/s]",
    )
    up_rate: RateQuantiles | None = Field(
        default=None,
        description="Rate of a slot, to the satellite, quantiles at 0, 5, 25, 50, 75, 95 and 100 % [bit/s]",
    )
    daily: tuple[tuple[Hours, Factor], ...] | None = Field(
        default=None,
        max_length=48,
        description="Factor of the rate by local hour, linear in between, as in [[5, 1.1], [19, 0.9]]",
    )
    noise: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None, description="Half-width of the uniform relative deviation of the rate of each second"
    )
    first_second: Factor | None = Field(default=None, description="Factor of the rate in the first second of a slot")
    last_second: Factor | None = Field(default=None, description="Factor of the rate in the last second of a slot")
    base_rtt: DelayQuantiles | None = Field(
        default=None,
        description="Round trip over the satellite without waits for grants, quantiles at 0, 5, 25, 50, 75, 95 and "
        "100 % [time]; half of it in each direction",
    )
    long_step: Share | None = Field(default=None, description="Probability that a slot has a longer round trip")
    long_step_rtt: tuple[Delay, Delay] | None = Field(
        default=None, description="Bounds of that additional round trip, uniform [time]"
    )
    down_grant: Duration | None = Field(
        default=None, description="Interval of grants from the satellite [time]; packets wait for the next grant"
    )
    up_grant: Duration | None = Field(
        default=None, description="Interval of grants to the satellite [time]; packets wait for the next grant"
    )
    edge_before: Duration | None = Field(
        default=None, description="Part of the edge of two slots that lies before their boundary [time]"
    )
    edge_after: Duration | None = Field(
        default=None, description="Part of the edge of two slots that lies after their boundary [time]"
    )
    edge_delay: Delay | None = Field(
        default=None, description="Additional delay at the edge of two slots, in each direction [time]"
    )
    isolated_loss: Share | None = Field(default=None, description="Probability of an isolated loss, per packet")
    burst_every: Interval | None = Field(
        default=None, description="Mean interval of bursts of losses, exponential [time]"
    )
    burst: tuple[Duration, Duration] | None = Field(
        default=None, description="Bounds of the duration of a burst of losses, uniform [time]"
    )
    edge_burst: Share | None = Field(
        default=None, description="Probability of a burst of losses within 0.3 s after a boundary of slots"
    )
    burst_loss: Share | None = Field(default=None, description="Probability of a loss during a burst of losses")
    outage_every: Interval | None = Field(
        default=None, description="Mean interval of outages of both directions, exponential [time]"
    )
    outage: Duration | None = Field(
        default=None, description="Mean duration of an outage, in which all packets are lost, exponential [time]"
    )
    down_queue: Duration | None = Field(
        default=None, description="Longest wait in the queue of the satellite; longer ones are dropped [time]"
    )
    up_queue: Duration | None = Field(
        default=None, description="Longest wait in the queue of the dish; longer ones are dropped [time]"
    )

    def opposite(self) -> Starlink:
        """Returns the other direction of the path, with the same draws."""
        return self.model_copy(update={"direction": "up" if self.direction == "down" else "down"})
