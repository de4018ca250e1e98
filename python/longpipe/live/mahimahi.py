"""Scenarios from mahimahi's command lines: `mm-delay`, `mm-link` and `mm-loss`, also nested."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest, shown
from longpipe.scenario import Scenario

INSIDE: Final = "inside"
OUTSIDE: Final = "outside"
SHELLS: Final = ("mm-delay", "mm-link", "mm-loss")
# MSS of Linux over Ethernet.
MSS: Final = 1460
_FAST: Final = "10 Gbit/s"
_WAYS: Final = ("uplink", "downlink")
_OPTIONS: Final = tuple(f"{way}-{what}" for way in _WAYS for what in ("queue", "queue-args"))
# Queues with a limit, each with its arguments in milliseconds and the fields of longpipe's policy that they set.
_QUEUES: Final[dict[str, dict[str, str]]] = {
    "droptail": {},
    "codel": {"target": "target", "interval": "interval"},
    "pie": {"qdelay_ref": "target", "max_burst": "burst"},
}
# Constants of mahimahi's queues: a packet of 1504 bytes stays in CoDel's queue, and PIE updates every 30 ms.
_OWN: Final[dict[str, dict[str, str]]] = {
    "codel": {"least_backlog": "1504 B"},
    "pie": {"update": "30 ms", "delay": "departure-rate"},
}
# Further policies, which mahimahi does not have: with their defaults.
_POLICIES: Final = (
    "fq-codel",
    "red",
    "blue",
    "drr",
    "sfq",
    "fq",
    "dualpi2",
    "ack-filter",
)
_UNLIMITED: Final = "unlimited"


@dataclass
class Chain:
    """Nested shells, and the command of the innermost."""

    links: list[dict[str, Any]] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def scenario(self) -> Scenario:
        """Returns a scenario with two hosts, and a router at both ends of each shell's link."""
        routers = [f"r{number}" for number in range(len(self.links) + 1)]
        nodes = [
            {"name": INSIDE, "kind": "host"},
            *({"name": name, "kind": "switch"} for name in routers),
            {"name": OUTSIDE, "kind": "host"},
        ]
        ends = {"rate": _FAST, "delay": "0 s"}
        links = [{"between": [INSIDE, routers[0]], **ends}, {"between": [routers[-1], OUTSIDE], **ends}]
        links += [
            {"between": [one, other], **link}
            for one, other, link in zip(routers, routers[1:], self.links, strict=False)
        ]
        flows = [{"name": "programs", "from": INSIDE, "to": OUTSIDE}]
        fields: dict[str, Any] = {
            "name": "mahimahi",
            "framing": "ip",
            "network": {"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
            "switch": {"buffer": _UNLIMITED},
            "tcp": {"mss": f"{MSS} B"},
        }
        return Scenario(**fields)


def chain(words: list[str]) -> Chain:
    """Parses the shells of a command line. Raises ScenarioError for anything but mahimahi's syntax."""
    found = Chain()
    rest = words
    while rest and rest[0] in SHELLS:
        make = {"mm-delay": _delay, "mm-link": _link, "mm-loss": _loss}[rest[0]]
        link, rest = make(rest[1:])
        found.links.append(link)
        rest = rest[1:] if rest[:1] == ["--"] else rest
    found.command = rest
    return found


def _delay(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    if not words or not words[0].isdecimal():
        raise ScenarioError(f"mm-delay: {words[0] if words else 'nothing'!r}; needs a whole number of milliseconds")
    return {"rate": _FAST, "delay": f"{words[0]} ms"}, words[1:]


def _loss(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    if len(words) < 2 or words[0] not in _WAYS:
        raise ScenarioError(f"mm-loss: {' '.join(words[:2])!r}; needs uplink or downlink, and a probability")
    try:
        loss = {"kind": "bernoulli", "probability": float(words[1])}
    except ValueError:
        raise ScenarioError(f"mm-loss: {words[1]!r}; needs a probability from 0 to 1") from None
    return {"rate": _FAST, "delay": "0 s", "loss" if words[0] == "uplink" else "return_loss": loss}, words[2:]


def _link(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    schedules, options, rest = _taken(words)
    if len(schedules) < len(_WAYS):
        raise ScenarioError("mm-link: needs two schedules, of the uplink and of the downlink")
    link: dict[str, Any] = {"rate": _FAST, "delay": "0 s"}
    for way, schedule, key in zip(_WAYS, schedules, ("path", "return_path"), strict=True):
        if not Path(schedule).is_file():
            raise ScenarioError(f"mm-link: {schedule}: can't be read; needs a schedule, a millisecond a line")
        link[key] = {"kind": "file", "file": str(Path(schedule).absolute())}
        prefix = "" if way == "uplink" else "return_"
        queue = _queue(way, options)
        link |= {f"{prefix}{name}": value for name, value in queue.items()}
    return link, rest


def _taken(words: list[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Splits words into two schedules, the options around them, and the rest."""
    schedules: list[str] = []
    options: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0] != "--" and (rest[0].startswith("--") or len(schedules) < len(_WAYS)):
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name not in _OPTIONS:
                # It is unknown whether the next word is its value.
                raise ScenarioError(f"mm-link: {shown(word)}; {nearest(f'--{name}', [f'--{one}' for one in _OPTIONS])}")
            options[name] = value if equals or not rest else rest.pop(0)
        else:
            schedules.append(word)
    return schedules, options, rest


def _queue(way: str, options: dict[str, str]) -> dict[str, Any]:
    """Buffer and policy of one direction, as link fields without their prefix."""
    kind = options.get(f"{way}-queue", "infinite")
    args = _arguments(way, options.get(f"{way}-queue-args", ""))
    if kind == "infinite":
        return {"buffer": _UNLIMITED, "policy": "tail-drop"}
    known = _QUEUES.get(kind, {} if kind in _POLICIES else None)
    if known is None:
        raise ScenarioError(f"mm-link: --{way}-queue={kind}; accepts {', '.join(('infinite', *_QUEUES, *_POLICIES))}")
    fields = {}
    for name, value in args.items():
        if name not in ("packets", "bytes") and name not in known:
            accepted = ", ".join(f"{one}=N" for one in ("packets", "bytes", *known))
            raise ScenarioError(f"mm-link: --{way}-queue-args={name}; accepts {accepted} for {kind}")
        if name in known:
            fields[known[name]] = f"{value} ms"
    if missing := [name for name in known if name not in args]:
        raise ScenarioError(f"mm-link: --{way}-queue-args: no {missing[0]}; needs {missing[0]}=MILLISECONDS for {kind}")
    limits = [f"{args[unit]} {written}" for unit, written in (("packets", "packets"), ("bytes", "B")) if unit in args]
    if len(limits) != 1 and (kind in _QUEUES or limits):
        raise ScenarioError(f"mm-link: --{way}-queue-args: {len(limits)} limits; needs packets=N or bytes=N for {kind}")
    policy = "tail-drop" if kind == "droptail" else {"kind": kind, **_OWN.get(kind, {}), **fields}
    return {"buffer": limits[0] if limits else _UNLIMITED, "policy": policy}


def _arguments(way: str, text: str) -> dict[str, int]:
    """Arguments of a queue, as in "packets=100, target=5"."""
    arguments: dict[str, int] = {}
    for part in (part.strip() for part in text.strip("\"'").split(",")):
        name, equals, number = (word.strip() for word in part.partition("="))
        if not part:
            continue
        if not equals or not number.isdecimal():
            raise ScenarioError(f"mm-link: --{way}-queue-args={part}; needs NAME=N, as in packets=100")
        arguments[name] = int(number)
    return arguments
