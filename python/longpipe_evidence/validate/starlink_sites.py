"""Synthetic Starlink sites: parameters drawn around a year's set, files of a day, and the intervals of their fit.

The files are those of `iperf3 -J` over UDP, 15 s every 10 minutes in each direction, and of `ping -D` once a second.
They are made from the series of the path, with the rates, waits and losses that packets meet, so that the true
parameters are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from longpipe.fit.starlink import fit_starlink
from longpipe.fit.starlink.quantiles import INNER
from longpipe.scenario.points import Points
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.starlink_draws import Drawn, parameter_sets
from longpipe.units import RATE, TIME
from longpipe_evidence.validate.starlink import delays_of, shares_of

Numbers = npt.NDArray[np.float64]
PS: Final = 1e12
_TEST_S: Final = 15
_EVERY_S: Final = 600
_PAYLOAD: Final = 1460
_WIRE: Final = _PAYLOAD + 28
# Rates offered [bit/s], above those of every site, and interval of the pings [s], which the scheduling of ping delays.
_OFFERED: Final = {"down": 700e6, "up": 90e6}
_PING_S: Final = 1.001
# Round trip between point of presence and server in the example [s], half of it before the path.
_EXIT_S: Final = 2 * 5.5e-3


class Interval(NamedTuple):
    """A quantity of a site: its true value, the estimate, and the 95 % interval."""

    site: int
    name: str
    true: float
    value: float
    low: float
    high: float

    @property
    def is_hit(self) -> bool:
        """Returns whether the interval contains the true value."""
        return self.low <= self.true <= self.high


def drawn_site(number: int) -> Starlink:
    """Returns the path of a site: the set of 2023 with changed rates, delays, daily curve, jitter and losses."""
    random = Random(f"site/{number}")  # noqa: S311 - a simulation
    of_year = parameter_sets()[2023]

    def scaled(name: str, low: float, high: float) -> list[str]:
        level, width = random.uniform(low, high), random.uniform(0.7, 1.2)
        rates = [RATE.parse(text) for text in of_year[name]]
        return [f"{max(1e5, level * (rates[3] + width * (rate - rates[3]))):.0f} bit/s" for rate in rates]

    down, up = scaled("down_rate", 0.6, 1.4), scaled("up_rate", 0.6, 1.6)
    shift, width = random.uniform(-2, 12), random.uniform(0.6, 1.5)
    delays = [TIME.parse(text) / 1e9 for text in of_year["base_rtt"]]
    base = [f"{max(1.0, delays[3] + shift + width * (delay - delays[3])):.3f} ms" for delay in delays]
    swing, jitter = random.uniform(0.03, 0.25), random.uniform(0.6, 1.4)
    return Starlink(
        year=2023, seed=number, begin="2023-10-01T00:00:00", down_rate=tuple(down), up_rate=tuple(up),
        base_rtt=tuple(base), daily=((5.0, 1 + swing), (19.0, 1 - swing)), noise=random.uniform(0.1, 0.35),
        change=random.uniform(0.5, 0.8), long_step=random.uniform(0.01, 0.05),
        up_grant=f"{jitter * 40 / 3:.4f} ms", down_grant=f"{jitter * 16 / 3:.4f} ms",
        isolated_loss=random.uniform(1e-4, 1e-3), outage_every=f"{random.uniform(80, 400):.1f} s",
        outage=f"{random.uniform(0.4, 1.5):.3f} s",
    )  # fmt: skip


def write_site(path: Starlink, folder: Path, hours: float = 24.0) -> list[str]:
    """Writes the files of a site and returns their names."""
    duration_s = hours * 3600
    down, up = (Drawn("path", one, TIME.parse(f"{duration_s + 30:.0f} s")) for one in (path, path.opposite()))
    begin = datetime.fromisoformat(path.begin).replace(tzinfo=UTC).timestamp()
    random = Random(f"files/{path.seed}")  # noqa: S311 - a simulation
    files = []
    for direction, series, late in (("down", down, 30.0), ("up", up, 300.0)):
        steps, losses = np.array(list(series.rates()), dtype=float), series.losses()
        tests = [
            _iperf3(steps, losses, direction, begin, at + random.uniform(0, 60))
            for at in np.arange(late, duration_s - 90, _EVERY_S)
        ]
        file = folder / f"{direction}.json"
        file.write_text("\n".join(map(json.dumps, tests)), encoding="utf-8")
        files.append(str(file))
    file = folder / "ping.txt"
    file.write_text("\n".join(_ping(down, up, begin, duration_s, random)) + "\n", encoding="utf-8")
    return [*files, str(file)]


def _iperf3(steps: Numbers, losses: Points, direction: str, begin: float, at: float) -> dict[str, Any]:
    """Returns what the client of iperf3 writes about a test at a time [s] of the run, over the steps of the rate."""
    rates = steps[:, 1]
    # Rate of a hundredth of a second, times the share that arrives.
    times = at + (np.arange(100 * _TEST_S) + 0.5) / 100
    bps = np.minimum(rates[np.searchsorted(steps[:, 0] / PS, times, side="right") - 1], _OFFERED[direction])
    bps = bps * (1 - shares_of(losses, times))
    received = bps.reshape(_TEST_S, 100).mean(axis=1) / 8 * _PAYLOAD / _WIRE
    offered = _OFFERED[direction] / 8 * _PAYLOAD / _WIRE
    is_sender = direction == "up"
    intervals = []
    for second, arrived in enumerate(received):
        stream = {"socket": 5, "start": float(second), "end": second + 1.0, "seconds": 1.0, "omitted": False}
        stream |= {"bytes": round(offered if is_sender else float(arrived)), "sender": is_sender}
        intervals.append({"streams": [stream]})
    packets = round(offered * _TEST_S / _PAYLOAD)
    lost = packets - round(float(received.sum()) / _PAYLOAD)
    udp = {"socket": 5, "lost_packets": lost, "packets": packets, "sender": is_sender}
    test = {"protocol": "UDP", "num_streams": 1, "blksize": _PAYLOAD, "reverse": int(not is_sender)}
    start = {"timestamp": {"timesecs": int(begin + at)}, "connecting_to": {"host": "server"}, "test_start": test}
    return {
        "start": {"connected": [], "version": "iperf 3.16", **start},
        "intervals": intervals,
        "end": {"streams": [{"udp": udp}]},
    }


def _ping(down: Drawn, up: Drawn, begin: float, duration_s: float, random: Random) -> Iterator[str]:
    sent = np.arange(0.2, duration_s, _PING_S)
    sent = sent + np.array([random.uniform(0, 2e-4) for _ in sent])
    at_satellite = sent + delays_of(up, sent)
    at_server = at_satellite + _EXIT_S
    back = at_server + delays_of(down, at_server)
    draws = np.array([random.random() for _ in sent])
    is_lost = draws >= (1 - shares_of(up.losses(), sent)) * (1 - shares_of(down.losses(), at_server))
    yield "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."
    for number, (at, reply) in enumerate(zip(sent, back, strict=True), 1):
        if not is_lost[number - 1]:
            time_ms = 1e3 * (reply - at)
            yield f"[{begin + reply:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=57 time={time_ms:.3g} ms"


def intervals(number: int, folder: Path, hours: float = 24.0) -> list[Interval]:
    """Returns the intervals of all quantities that a fit determines for a site."""
    path = drawn_site(number)
    rows = fit_starlink(write_site(path, folder, hours)).estimates
    true = _truth(path)
    return [
        Interval(number, name, true[name], row["value"], row["low"], row["high"])
        for name, row in rows.items()
        if row["high"] is not None
    ]


def _truth(path: Starlink) -> dict[str, float]:
    """Returns the true values of the rows of a fit."""
    true: dict[str, float] = {}
    for name, parse, scale in (
        ("down_rate", RATE.parse, 1.0),
        ("up_rate", RATE.parse, 1.0),
        ("base_rtt", TIME.parse, PS),
    ):
        inner = [parse(text) / scale for text in getattr(path, name)[1:-1]]
        true |= {f"{name} {share:.0%}": value for share, value in zip(INNER, inner, strict=True)}
    of_year = parameter_sets()[2023]
    low, high = (TIME.parse(text) / PS for text in of_year["burst"])
    per_s = PS / TIME.parse(of_year["burst_every"]) + of_year["edge_burst"] / 15
    # Of a ping, in both directions; losses in outages are not counted again.
    losses = 1 - (1 - float(path.isolated_loss or 0)) ** 2 + 2 * per_s * (low + high) / 2
    daily, grant = path.daily or (), path.up_grant or "0 s"
    return true | {
        "daily 5 h": daily[0][1], "noise": float(path.noise or 0), "change": float(path.change or 0),
        "long_step": float(path.long_step or 0), "up_grant": TIME.parse(grant) / PS,
        "outage_every": TIME.parse(path.outage_every or "0 s") / PS, "outage": TIME.parse(path.outage or "0 s") / PS,
        "loss without outages": losses,
    }  # fmt: skip
