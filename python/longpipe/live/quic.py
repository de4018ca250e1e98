"""Translates scenario strings of quic-network-simulator, with which quic-interop-runner tests QUIC, into paths.

As in its ns-3 programs, the bottleneck is between two routers, and losses occur after it, at the downstream router.
"""

import random
import re
import shlex
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.inputs.numbers import whole_number
from longpipe.scenario import Scenario
from longpipe.units import TIME

CLIENT: Final = "client"
SERVER: Final = "server"
# Ethernet MTU.
MSS: Final = 1460
# ns-3 holds two packets in addition to its queue: one in the device's queue, and one in transmission.
BESIDE_QUEUE: Final = 2
# Number of packets per direction for which losses are drawn if bursts have a maximum length.
DRAWN: Final = 1 << 16
_FAST: Final = "10 Gbit/s"
_LINK: Final = ("delay", "bandwidth", "queue")
_WAYS: Final = ("client", "server")
# Required and optional parameters of each program.
_KINDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "simple-p2p": (_LINK, ()),
    "drop-rate": ((*_LINK, "rate_to_client", "rate_to_server"), ("burst_to_client", "burst_to_server")),
    "droplist": (_LINK, ("drops_to_client", "drops_to_server")),
    "blackhole": ((*_LINK, "on", "off"), ("repeat", "direction")),
    "tcp-cross-traffic": (_LINK, ()),
}
_DIRECTIONS: Final = {"both": _WAYS, "toclient": ("client",), "toserver": ("server",)}
_RATES: Final = {"bps": "bit/s", "kbps": "kbit/s", "Kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s"}
_NUMBER: Final = r"(\d+(?:\.\d+)?)"


def scenario(text: str, *, seed: int = 1) -> Scenario:
    """Parses a scenario string such as `simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25`. Raises ScenarioError.

    If bursts of losses have a maximum length, losses are drawn from the seed, for the first 65 536 packets per
    direction.
    """
    kind, options = _read(text)
    rate, delay = _rate(options["bandwidth"]), _time("delay", options["delay"])
    buffer = f"{_integer('queue', options['queue']) + BESIDE_QUEUE} packets"
    losses = {way: _loss(kind, options, way, seed) for way in _WAYS}
    nodes = [{"name": name, "kind": "host"} for name in _WAYS]
    nodes += [{"name": name, "kind": "switch"} for name in ("left", "right")]
    fast = {"rate": _FAST, "delay": "0 s", "buffer": "unlimited"}
    links: list[dict[str, Any]] = [
        {"between": [CLIENT, "left"], **fast, "return_loss": losses["client"]},
        {"between": ["left", "right"], "rate": rate, "delay": delay, "buffer": buffer},
        {"between": ["right", SERVER], **fast, "loss": losses["server"]},
    ]
    flows = [{"name": "programs", "from": CLIENT, "to": SERVER}]
    if kind == "tcp-cross-traffic":
        beside = {"rate": "100 Mbit/s", "delay": "1 ms", "buffer": "100 packets"}
        nodes += [{"name": name, "kind": "host"} for name in ("source", "sink")]
        links += [{"between": ["right", "source"], **beside}, {"between": ["left", "sink"], **beside}]
        flows.append({"name": "cross", "from": "source", "to": "sink"})
    fields: dict[str, Any] = {
        "name": kind,
        "framing": "ip",
        "network": {"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
        # ns-3's own MSS, used by its cross traffic.
        "tcp": {"profile": "classic", "recovery": "sack", "mss": f"{MSS} B", "receiver_window": "10 MB"},
    }
    return Scenario(**fields)


def _read(text: str) -> tuple[str, dict[str, str]]:
    try:
        kind, *words = shlex.split(text)
    except ValueError:
        raise ScenarioError(f"SCENARIO: {text!r}; {nearest('', _KINDS)}") from None
    if kind not in _KINDS:
        raise ScenarioError(f"SCENARIO: {kind!r}; {nearest(kind, _KINDS)}")
    needed, further = _KINDS[kind]
    options: dict[str, str] = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        if name not in (*needed, *further):
            raise ScenarioError(f"SCENARIO: {kind} {word}; {nearest(name, (*needed, *further))}")
        options[name] = value
    for name in needed:
        if not options.get(name):
            raise ScenarioError(
                f"SCENARIO: {kind} without --{name}; needs "
                + ", ".join(f"--{missing_option}" for missing_option in needed)
            )
    return kind, options


def _loss(kind: str, options: dict[str, str], way: str, seed: int) -> dict[str, Any]:
    """Returns the losses in one direction."""
    none: dict[str, Any] = {"kind": "none"}
    if kind == "drop-rate":
        percent = _integer(f"rate_to_{way}", options[f"rate_to_{way}"])
        if percent > 100:
            raise ScenarioError(f"SCENARIO: --rate_to_{way}={percent}; needs a share from 0 to 100 [%]")
        burst = options.get(f"burst_to_{way}")
        if burst is None:
            return {"kind": "bernoulli", "probability": percent / 100} if percent else none
        return _packets(_drawn(percent, _integer(f"burst_to_{way}", burst), f"{seed} {way}"))
    if kind == "droplist":
        listed = [word for word in options.get(f"drops_to_{way}", "").split(",") if word]
        numbers = sorted({_integer(f"drops_to_{way}", word) - 1 for word in listed} - {-1})
        return _packets(numbers)
    if kind == "blackhole":
        direction = options.get("direction", "both")
        if direction not in _DIRECTIONS:
            raise ScenarioError(f"SCENARIO: --direction={direction}; {nearest(direction, _DIRECTIONS)}")
        return _holes(options) if way in _DIRECTIONS[direction] else none
    return none


def _packets(numbers: list[int]) -> dict[str, Any]:
    return {"kind": "packets", "indices": numbers} if numbers else {"kind": "none"}


def _drawn(percent: int, burst: int, seed: str) -> list[int]:
    """Draws lost packets independently, with at most `burst` consecutive losses."""
    draws, row, lost = random.Random(seed), 0, []  # noqa: S311 - not used for cryptography
    for number in range(DRAWN):
        strikes = row < burst and draws.randrange(100) < percent
        row = row + 1 if strikes else 0
        if strikes:
            lost.append(number)
    return lost


def _holes(options: dict[str, str]) -> dict[str, Any]:
    """Returns periods in which all packets are lost: they last `off`, and follow each period `on`, repeatedly."""
    on_ps, off_ps = (_picoseconds(name, options[name]) for name in ("on", "off"))
    repeat = _integer("repeat", options.get("repeat", "1"))
    if repeat < 1 or on_ps == 0 or off_ps == 0:
        raise ScenarioError("SCENARIO: blackhole; needs --on and --off above 0, and --repeat of 1 or more")
    steps: list[tuple[str, float]] = []
    for number in range(repeat):
        begin = number * (on_ps + off_ps) + on_ps
        steps += [(f"{begin} ps", 1.0), (f"{begin + off_ps} ps", 0.0)]
    return {"kind": "over-time", "steps": steps}


def _integer(name: str, text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise ScenarioError(f"SCENARIO: --{name}={shortened(text, 60)}; needs a whole number")
    return number


def _rate(text: str) -> str:
    match = re.fullmatch(_NUMBER + "(" + "|".join(_RATES) + ")", text)
    if match is None:
        raise ScenarioError(f"SCENARIO: --bandwidth={text}; needs a rate, as in 10Mbps")
    return f"{match[1]} {_RATES[match[2]]}"


def _time(name: str, text: str) -> str:
    match = re.fullmatch(_NUMBER + "(us|ms|s)", text)
    if match is None:
        raise ScenarioError(f"SCENARIO: --{name}={text}; needs a time, as in 15ms")
    return f"{match[1]} {match[2]}"


def _picoseconds(name: str, text: str) -> int:
    return TIME.parse(_time(name, text))
