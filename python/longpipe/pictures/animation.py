"""Animations of a constellation with routes: one HTML file, or CZML for CesiumJS."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from longpipe.pictures.style import PALETTE

if TYPE_CHECKING:
    from longpipe.satellites import RoundTrips

# Maximum numbers of instants with positions of the satellites, and of animated pairs.
MAX_FRAMES: Final = 300
MAX_PAIRS: Final = 8
# Interval [s] between the positions in CZML, from which Cesium interpolates with polynomials of this degree.
CZML_STEP_S: Final = 30.0
CZML_DEGREE: Final = 5
# A degree of longitude or latitude in the 16-bit integers of the page.
UNITS_PER_DEGREE: Final = 180
_DATA: Final = "/*DATA*/null"


def animation_page(round_trips: RoundTrips) -> str:
    """Returns an HTML page, without references to other files, that animates the satellites and the first routes."""
    times_s = _frames(round_trips)
    satellites = _positions_m(round_trips, times_s)
    longitudes = np.degrees(np.arctan2(satellites[..., 1], satellites[..., 0]))
    latitudes = np.degrees(np.arcsin(satellites[..., 2] / np.linalg.norm(satellites, axis=-1)))
    units = np.nan_to_num(np.stack([longitudes, latitudes], axis=-1) * UNITS_PER_DEGREE).round().astype("<i2")
    shown_pairs = range(min(MAX_PAIRS, len(round_trips.pairs)))
    data = {
        "title": round_trips.constellation.name,
        "times_s": times_s.tolist(),
        "satellites": len(round_trips.constellation.names),
        "units": UNITS_PER_DEGREE,
        "positions": base64.b64encode(units.tobytes()).decode(),
        "stations": [[station.name, station.longitude_deg, station.latitude_deg] for station in round_trips.stations],
        "pairs": [
            {
                "label": round_trips.label(pair),
                "ends": round_trips.pairs[pair],
                "color": PALETTE[pair % len(PALETTE)],
                "routes": [[time, list(route)] for time, number, route in round_trips.changes if number == pair],
                "rtt_ms": _rtt_ms(round_trips, pair, times_s),
            }
            for pair in shown_pairs
        ],
    }
    # "<" could end the script in which the data stand.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = files(__package__).joinpath("animation.html").read_text(encoding="utf-8")
    return page.replace(_DATA, text)


def animation_czml(round_trips: RoundTrips) -> str:
    """Returns CZML (a JSON array of packets) with the satellites, the stations, and the first routes over time."""
    first = round_trips.constellation.epoch + timedelta(seconds=round_trips.begin_s)
    last_s = float(round_trips.times_s[-1])
    until_s = max(last_s, CZML_STEP_S)
    times_s = np.arange(0, until_s + CZML_STEP_S, CZML_STEP_S)
    satellites = _positions_m(round_trips, times_s)

    def instant(seconds: float) -> str:
        return f"{first + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%fZ}"

    whole = f"{instant(0)}/{instant(until_s)}"
    clock = {"interval": whole, "currentTime": instant(0), "multiplier": 10, "range": "LOOP_STOP"}
    packets: list[dict[str, Any]] = [
        {"id": "document", "name": round_trips.constellation.name, "version": "1.0", "clock": clock}
    ]
    for number, name in enumerate(round_trips.constellation.names):
        samples = np.column_stack([times_s, satellites[:, number]])
        if np.isfinite(samples).all():
            position = {
                "epoch": instant(0),
                "referenceFrame": "FIXED",
                "interpolationAlgorithm": "LAGRANGE",
                "interpolationDegree": CZML_DEGREE,
                "cartesian": samples.round(1).ravel().tolist(),
            }
            point = {"pixelSize": 3, "color": {"rgba": [200, 200, 200, 255]}}
            packets.append({"id": f"sat-{number}", "name": name, "position": position, "point": point})
    for number, station in enumerate(round_trips.stations):
        degrees = [station.longitude_deg, station.latitude_deg, station.height_m]
        packets.append(
            {
                "id": f"station-{number}",
                "name": station.name,
                "position": {"cartographicDegrees": degrees},
                "point": {"pixelSize": 8, "color": {"rgba": [213, 94, 0, 255]}},
                "label": {"text": station.name, "pixelOffset": {"cartesian2": [0, -16]}},
            }
        )
    for pair in range(min(MAX_PAIRS, len(round_trips.pairs))):
        packets += _czml_routes(round_trips, pair, instant, until_s)
    return json.dumps(packets, separators=(",", ":"))


def _czml_routes(round_trips: RoundTrips, pair: int, instant: Any, until_s: float) -> list[dict[str, Any]]:  # noqa: ANN401 - a function
    """Returns a line for each route of a pair, with the time in which it is valid."""
    changes = [(time, route) for time, pair_number, route in round_trips.changes if pair_number == pair]
    first, last = round_trips.pairs[pair]
    color = PALETTE[pair % len(PALETTE)].removeprefix("#")
    rgba = [*bytes.fromhex(color), 255]
    packets = []
    for number, ((since_s, route), (end_s, _)) in enumerate(pairwise([*changes, (until_s, ())])):
        if not route or end_s <= since_s:
            continue
        ends = [
            f"station-{first}#position",
            *(f"sat-{satellite}#position" for satellite in route),
            f"station-{last}#position",
        ]
        line = {
            "positions": {"references": ends},
            "width": 3,
            "arcType": "NONE",
            "material": {"solidColor": {"color": {"rgba": rgba}}},
        }
        packets.append(
            {
                "id": f"route-{pair}-{number}",
                "name": round_trips.label(pair),
                "availability": f"{instant(since_s)}/{instant(end_s)}",
                "polyline": line,
            }
        )
    return packets


def _frames(round_trips: RoundTrips) -> np.ndarray:
    """Returns the times [s] of the page's frames, from the first instant to the last one."""
    times_s = round_trips.times_s
    if len(times_s) <= MAX_FRAMES:
        return times_s
    frames: np.ndarray = np.linspace(times_s[0], times_s[-1], MAX_FRAMES)
    return frames


def _positions_m(round_trips: RoundTrips, times_s: np.ndarray) -> np.ndarray:
    """Returns the Earth-fixed positions [m] by time and satellite."""
    from longpipe.satellites.positions import earth_fixed_m

    return earth_fixed_m(round_trips.constellation, round_trips.begin_s + times_s)[0]


def _rtt_ms(round_trips: RoundTrips, pair: int, times_s: np.ndarray) -> list[float | None]:
    """Returns the RTT [ms] at the latest instant before each time; None without a route."""
    rows = np.searchsorted(round_trips.times_s, times_s, side="right") - 1
    return [round(1e3 * value, 3) if np.isfinite(value) else None for value in round_trips.rtt_s[rows, pair].tolist()]
