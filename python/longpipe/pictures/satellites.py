"""RTTs and numbers of links of satellite paths over time, and maps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from longpipe.errors import ScenarioError
from longpipe.pictures.figure import Picture, with_literal_texts
from longpipe.pictures.style import ASH, BLUE, PALETTE, VERMILION, font_points, legend, panels, plain

if TYPE_CHECKING:
    from longpipe.satellites import RoundTrips

# Maximum number of lines that can be distinguished.
MAX_PAIRS: Final = 8


@with_literal_texts
def round_trips_over_time(round_trips: RoundTrips) -> Figure:
    """Draws the RTT [ms] and number of links of the first pairs' routes over time; a gap means that there is none."""
    shown_pairs = range(min(MAX_PAIRS, len(round_trips.pairs)))
    rest = (
        f", {len(shown_pairs)} of {len(round_trips.pairs)} pairs" if len(shown_pairs) < len(round_trips.pairs) else ""
    )
    span = (float(round_trips.times_s[0]), float(round_trips.times_s[-1]) or 1.0)
    figure, (above, below) = panels(2, f"Round trips over {round_trips.constellation.name}{rest}", span)
    for pair in shown_pairs:
        color, label = PALETTE[pair % len(PALETTE)], round_trips.label(pair)
        finite = np.isfinite(round_trips.rtt_s[:, pair])
        rtt_ms = np.where(finite, 1e3 * round_trips.rtt_s[:, pair], np.nan)
        jumps = np.searchsorted(
            round_trips.times_s, [at for at, changed, _ in round_trips.changes if changed == pair and at > 0]
        )
        # At a change of the route, the line jumps instead of passing through RTTs of no route.
        above.plot(
            np.insert(round_trips.times_s, jumps, round_trips.times_s[jumps]),
            np.insert(rtt_ms, jumps, rtt_ms[jumps - 1]),
            color=color,
            lw=1.1,
            label=label,
        )
        hops = np.where(finite, round_trips.hops[:, pair].astype(np.float64), np.nan)
        below.step(round_trips.times_s, hops, where="post", color=color, lw=1.1)
    above.set_ylabel("round trip [ms]")
    below.set_ylabel("links one way")
    below.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    # The range is set explicitly, because a constant number of links has none.
    low, high = below.get_ylim()
    below.set_ylim(math.ceil(low) - 0.5, math.floor(high) + 0.5)
    legend(figure, [above])
    return figure


@with_literal_texts
def satellite_map(round_trips: RoundTrips, at_s: float) -> Figure:
    """Draws a map of satellites, stations and routes at a given time."""
    from longpipe.satellites.positions import earth_fixed_m

    last = float(round_trips.times_s[-1])
    if not 0 <= at_s <= last:
        raise ScenarioError(f"--at: {at_s:g} s; needs 0 s to {last:g} s")
    (satellites,), _ = earth_fixed_m(round_trips.constellation, round_trips.begin_s + np.array([at_s]))
    longitude = np.degrees(np.arctan2(satellites[:, 1], satellites[:, 0]))
    latitude = np.degrees(np.arcsin(satellites[:, 2] / np.linalg.norm(satellites, axis=1)))
    figure = Picture(figsize=(9, 4.8), layout="constrained")
    axes = figure.subplots()
    plain(axes)
    axes.plot(longitude, latitude, ".", color=ASH, ms=2, label=f"{len(round_trips.constellation.names)} satellites")
    for number, pair in enumerate(range(min(MAX_PAIRS, len(round_trips.pairs)))):
        route = round_trips.route_at(pair, at_s)
        if route:
            a, b = (round_trips.stations[end] for end in round_trips.pairs[pair])
            ends = [(a.longitude_deg, a.latitude_deg), (b.longitude_deg, b.latitude_deg)]
            line = [ends[0], *((longitude[hop], latitude[hop]) for hop in route), ends[1]]
            _draw_route(axes, np.array(line), PALETTE[number % len(PALETTE)], round_trips.label(pair))
    places = np.array([(station.longitude_deg, station.latitude_deg) for station in round_trips.stations])
    axes.plot(_wrapped(places[:, 0]), places[:, 1], "^", color=VERMILION, ms=5, label="stations")
    if len(round_trips.stations) <= MAX_PAIRS:
        for station in round_trips.stations:
            position = (float(_wrapped(np.array(station.longitude_deg))), station.latitude_deg)
            axes.annotate(
                station.name, position, xytext=(4, 4), textcoords="offset points", fontsize="small", color=BLUE
            )
    axes.set(xlim=(-180, 180), ylim=(-90, 90), xlabel="longitude [degree]", ylabel="latitude [degree]")
    axes.set_xticks(range(-180, 181, 60))
    axes.set_yticks(range(-90, 91, 30))
    figure.suptitle(f"{round_trips.constellation.name} at {at_s:g} s", fontsize=font_points(11))
    legend(figure, [axes])
    return figure


def _wrapped(longitude: np.ndarray) -> np.ndarray:
    """Returns longitudes [degree] in the range from -180 to below 180."""
    return (longitude + 180) % 360 - 180


def _draw_route(axes: Axes, line: np.ndarray, color: str, label: str) -> None:
    """Draws a line through points (longitude, latitude) [degree], across the edge of the map where that is shorter.

    The line is drawn three times, shifted by a turn, so that the part beyond one edge appears at the other.
    """
    longitude = np.degrees(np.unwrap(np.radians(line[:, 0])))
    for turn in (-360, 0, 360):
        axes.plot(longitude + turn, line[:, 1], "-o", color=color, lw=1.1, ms=3, label=label if turn == 0 else None)
