"""Scenarios from mahimahi's command lines: `mm-delay`, `mm-link`, `mm-loss` and `mm-onoff`, including nested ones."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from longpipe.errors import ScenarioError, nearest, shortened, shown
from longpipe.inputs import read_text
from longpipe.inputs.numbers import whole_number
from longpipe.live.link_log import write_log
from longpipe.scenario import Scenario
from longpipe.scenario.base import models_by_kind
from longpipe.scenario.framings import FOR_PACKETS
from longpipe.scenario.policies import Policy
from longpipe.system.files import check_file
from longpipe.units import TIME

INSIDE: Final = "inside"
OUTSIDE: Final = "outside"
SHELLS: Final = ("mm-delay", "mm-link", "mm-loss", "mm-onoff")
# MSS of Linux over Ethernet.
MSS: Final = 1460
_FAST: Final = "10 Gbit/s"
_DIRECTIONS: Final = ("uplink", "downlink")
_OPTIONS: Final = tuple(f"{direction}-{what}" for direction in _DIRECTIONS for what in ("queue", "queue-args", "log"))
# Options without a value: a schedule that ends the run, constant rates instead of schedules, and meters for a
# direction.
_FLAGS: Final = ("once", "cbr", *(f"meter-{direction}" for direction in _DIRECTIONS), "meter-all")
# mahimahi's meters that need access to the queue during the run.
_DELAY_METERS: Final = tuple(f"meter-{direction}-delay" for direction in _DIRECTIONS)
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgG])(?:bps|bit/s|bits?)?")
_MODELS: Final = models_by_kind(Policy)
# Policies that are queues of mahimahi, which have a limit, by mahimahi's name.
_QUEUES: Final[dict[str, str]] = {model.mahimahi.name: kind for kind, model in _MODELS.items() if model.mahimahi}
# Further policies of IP ports, which mahimahi does not have, with their defaults.
_POLICIES: Final = tuple(
    kind
    for kind in FOR_PACKETS
    if kind not in _QUEUES.values() and not any(field.is_required() for field in _MODELS[kind].model_fields.values())
)
_UNLIMITED: Final = "unlimited"
# Name of a link's field in the message about a scenario.
_LINK: Final = re.compile(r"^network\.links\[(\d+)\]\.")
# Options of longpipe, which mahimahi does not have, each with an example.
OWN_OPTIONS: Final = {
    "outside": "'./server 8080'", "seed": "2", "wait-for": "outside:8080", "wait-at-most": "'10 s'",
}  # fmt: skip


@dataclass
class Chain:
    """Nested shells, and the command of the innermost one."""

    links: list[dict[str, Any]] = field(default_factory=list)
    # Name of the shell of each link.
    shells: list[str] = field(default_factory=list)
    # Time at which the shortest schedule of --once ends [s]; directions to meter; and the files of --uplink-log and
    # --downlink-log.
    ends_s: float | None = None
    meters: set[str] = field(default_factory=set)
    logs: dict[str, Path] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)
    # Values of longpipe's own options, which may follow the name or the arguments of any shell.
    own: dict[str, str] = field(default_factory=dict)

    def keep_own(self, name: str, value: str) -> None:
        """Stores the value of one of longpipe's own options. Raises ScenarioError if it is given twice."""
        if name in self.own:
            raise ScenarioError(f"--{name}: {shown(value)}, after {shown(self.own[name])}; needs one")
        self.own[name] = value

    def without_own(self, words: list[str]) -> list[str]:
        """Stores longpipe's own options at the beginning of `words`, and returns the other words."""
        rest = list(words)
        while rest and rest[0].startswith("--") and rest[0][2:].partition("=")[0] in OWN_OPTIONS:
            name, equals, value = rest.pop(0)[2:].partition("=")
            self.keep_own(name, value if equals else _value_of(name, rest))
        return rest

    def write_logs(self, capture: Path) -> None:
        """Writes the logs of the link that has a queue, from the run's capture."""
        number = next(i for i, link in enumerate(self.links) if "policy" in link)
        delays_ms = [TIME.parse(link["delay"]) / 1e9 for link in self.links]
        before_ms, own_ms, after_ms = sum(delays_ms[:number]), delays_ms[number], sum(delays_ms[number + 1 :])
        for direction, log in self.logs.items():
            path = self.links[number].get("path" if direction == "uplink" else "return_path")
            schedule = None if path is None else Path(path["file"])
            first, last = (before_ms, after_ms) if direction == "uplink" else (after_ms, before_ms)
            # The first interface is that of the host inside the shell, and the second that of the host outside.
            write_log(capture, _DIRECTIONS.index(direction), first, own_ms + last, schedule, log)

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
            {"between": [router, other], **link}
            for router, other, link in zip(routers, routers[1:], self.links, strict=False)
        ]
        flows = [{"name": "programs", "from": INSIDE, "to": OUTSIDE}]
        fields: dict[str, Any] = {
            "name": "mahimahi",
            "framing": "ip",
            "network": {"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
            "switch": {"buffer": _UNLIMITED},
            "tcp": {"profile": "classic", "mss": f"{MSS} B"},
        }
        try:
            return Scenario(**fields)
        except ScenarioError as error:
            # The user wrote shells, not links.
            raise ScenarioError(*(_LINK.sub(self._shell_of, problem) for problem in error.problems)) from None

    def _shell_of(self, match: re.Match[str]) -> str:
        """Returns the shell whose link a message names; the first two links are those of the hosts."""
        return f"{self.shells[int(match[1]) - 2]}: "


def shell_first(words: list[str]) -> list[str]:
    """Moves longpipe's own options behind the name of the shell that follows them; other words are left alone."""
    index = 0
    while index < len(words) and words[index].startswith("--"):
        name, equals, _ = words[index][2:].partition("=")
        if name not in OWN_OPTIONS:
            return words
        index += 1 if equals else 2
    if index < len(words) and words[index] in SHELLS:
        return [words[index], *words[:index], *words[index + 1 :]]
    return words


def chain(words: list[str]) -> Chain:
    """Parses the shells of a command line. Raises ScenarioError for syntax that mahimahi does not accept."""
    shells = Chain()
    while words and words[0] in SHELLS:
        shell, arguments = words[0], shells.without_own(words[1:])
        if shell == "mm-link":
            link, words = _link(arguments, shells)
        else:
            link, words = {"mm-delay": _delay, "mm-loss": _loss, "mm-onoff": _on_off}[shell](arguments)
        shells.shells.append(shell)
        shells.links.append(link)
        words = shells.without_own(words)
        words = words[1:] if words[:1] == ["--"] else words
    shells.command = words
    if shells.logs and sum("path" in link or "policy" in link for link in shells.links) > 1:
        raise ScenarioError("mm-link: --uplink-log, --downlink-log: two links; needs one link, whose queue is logged")
    return shells


def _delay(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    if not words or whole_number(words[0]) is None:
        raise ScenarioError(
            f"mm-delay: {shown(words[0] if words else 'nothing')}; needs a whole number of milliseconds"
        )
    return {"rate": _FAST, "delay": f"{words[0]} ms"}, words[1:]


def _loss(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    if len(words) < 2 or words[0] not in _DIRECTIONS:
        raise ScenarioError(f"mm-loss: {' '.join(words[:2])!r}; needs uplink or downlink, and a probability")
    try:
        loss = {"kind": "bernoulli", "probability": float(words[1])}
    except ValueError:
        raise ScenarioError(f"mm-loss: {words[1]!r}; needs a probability from 0 to 1") from None
    return {"rate": _FAST, "delay": "0 s", "loss" if words[0] == "uplink" else "return_loss": loss}, words[2:]


def _on_off(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Parses mm-onoff: a link that loses everything while it is off; both times are exponential."""
    if len(words) < 3 or words[0] not in _DIRECTIONS:
        raise ScenarioError(f"mm-onoff: {' '.join(words[:3])!r}; needs uplink or downlink, mean on-time and off-time")
    try:
        on_s, off_s = map(float, words[1:3])
    except ValueError:
        raise ScenarioError(f"mm-onoff: {' '.join(words[1:3])!r}; needs two times in seconds") from None
    if not (1e-6 <= on_s <= 1000 and 1e-6 <= off_s <= 1000):
        raise ScenarioError(f"mm-onoff: {' '.join(words[1:3])!r}; needs 0.000001 to 1000 s each")
    loss = {"kind": "gilbert-elliott-in-time", "good": f"{on_s:.6f} s", "bad": f"{off_s:.6f} s"}
    return {"rate": _FAST, "delay": "0 s", "loss" if words[0] == "uplink" else "return_loss": loss}, words[3:]


def _link(words: list[str], shells: Chain) -> tuple[dict[str, Any], list[str]]:
    schedules, options, rest = _taken(words, shells)
    if len(schedules) < len(_DIRECTIONS):
        raise ScenarioError("mm-link: needs two schedules, for the uplink and for the downlink")
    link: dict[str, Any] = {"rate": _FAST, "delay": "0 s"}
    for direction, schedule, key in zip(_DIRECTIONS, schedules, ("path", "return_path"), strict=True):
        if "cbr" in options:
            link["rate" if direction == "uplink" else "return_rate"] = _constant(schedule)
        elif not Path(schedule).is_file():
            raise ScenarioError(
                f"mm-link: {schedule}: no such file; needs a schedule with a time in milliseconds per line, or a rate "
                "with --cbr"
            )
        else:
            link[key] = {"kind": "file", "file": str(Path(schedule).absolute())}
            if "once" in options:
                ends_s = _last_ms(schedule) / 1e3
                shells.ends_s = ends_s if shells.ends_s is None else min(shells.ends_s, ends_s)
        if {f"meter-{direction}", "meter-all"} & options.keys():
            shells.meters.add(direction)
        if (log := options.get(f"{direction}-log")) is not None:
            check_file(f"mm-link: --{direction}-log", Path(log))
            shells.logs[direction] = Path(log)
        prefix = "" if direction == "uplink" else "return_"
        queue = _queue(direction, options)
        link |= {f"{prefix}{name}": value for name, value in queue.items()}
    return link, rest


def _value_of(name: str, rest: list[str]) -> str:
    """Removes and returns the word after an option's name."""
    if not rest:
        raise ScenarioError(f"--{name}: without a value; needs one, as in --{name} {OWN_OPTIONS[name]}")
    return rest.pop(0)


def _taken(words: list[str], shells: Chain) -> tuple[list[str], dict[str, str], list[str]]:
    """Splits words into two schedules, the options around them, and the rest; longpipe's own options go to `shells`."""
    schedules: list[str] = []
    options: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0] != "--" and (rest[0].startswith("--") or len(schedules) < len(_DIRECTIONS)):
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name in OWN_OPTIONS:
                shells.keep_own(name, value if equals else _value_of(name, rest))
                continue
            if name in _FLAGS and not equals:
                options[name] = ""
                continue
            if name in _DELAY_METERS:
                raise ScenarioError(
                    f"mm-link: --{name}; not supported, needs --{name[6:-6]}-log=FILE, which contains delays"
                )
            if name not in _OPTIONS:
                # The option is unknown, so the next word may be its value or a command.
                accepted = [f"--{option}" for option in (*_OPTIONS, *_FLAGS, *OWN_OPTIONS)]
                raise ScenarioError(f"mm-link: {shown(word)}; {nearest(f'--{name}', accepted)}")
            options[name] = value if equals or not rest else rest.pop(0)
        else:
            schedules.append(word)
    return schedules, options, rest


def _constant(text: str) -> str:
    """Returns the rate of --cbr, as in 12M or 12mbps, in longpipe's spelling; a packet takes its own bytes."""
    matched = _RATE.fullmatch(text)
    if matched is None:
        raise ScenarioError(f"mm-link: --cbr: {text!r}; needs a rate, as in 12M")
    return f"{matched[1]} {matched[2].upper().replace('K', 'k')}bit/s"


def _last_ms(schedule: str) -> int:
    """Returns the time [ms] of a schedule's last opportunity."""
    lines = [line for line in read_text(Path(schedule), "a schedule").split("\n") if line.strip()]
    last = whole_number(lines[-1].strip()) if lines else None
    if last is None:
        raise ScenarioError(
            f"mm-link: {schedule}: {shown(lines[-1:])}; needs a schedule with a time in milliseconds per line"
        )
    return last


def _queue(direction: str, options: dict[str, str]) -> dict[str, Any]:
    """Returns the buffer and policy of one direction, as link fields without the direction's prefix."""
    kind = options.get(f"{direction}-queue", "infinite")
    args = _arguments(direction, options.get(f"{direction}-queue-args", ""))
    if kind == "infinite":
        return {"buffer": _UNLIMITED, "policy": "tail-drop"}
    if kind not in _QUEUES and kind not in _POLICIES:
        raise ScenarioError(
            f"mm-link: --{direction}-queue={kind}; accepts {', '.join(('infinite', *_QUEUES, *_POLICIES))}"
        )
    policy = _QUEUES.get(kind, kind)
    of_mahimahi = _MODELS[policy].mahimahi
    field_names, constants = (of_mahimahi.arguments, of_mahimahi.constants) if of_mahimahi else ({}, {})
    fields = {}
    for name, value in args.items():
        if name not in ("packets", "bytes") and name not in field_names:
            accepted = ", ".join(f"{argument}=N" for argument in ("packets", "bytes", *field_names))
            raise ScenarioError(f"mm-link: --{direction}-queue-args={name}; accepts {accepted} for {kind}")
        if name in field_names:
            fields[field_names[name]] = f"{value} ms"
    if missing := [name for name in field_names if name not in args]:
        raise ScenarioError(
            f"mm-link: --{direction}-queue-args: no {missing[0]}; needs {missing[0]}=MILLISECONDS for {kind}"
        )
    limits = [f"{args[unit]} {written}" for unit, written in (("packets", "packets"), ("bytes", "B")) if unit in args]
    if len(limits) != 1 and (kind in _QUEUES or limits):
        raise ScenarioError(
            f"mm-link: --{direction}-queue-args: {len(limits)} limits; needs packets=N or bytes=N for {kind}"
        )
    return {"buffer": limits[0] if limits else _UNLIMITED, "policy": {"kind": policy, **constants, **fields}}


def _arguments(direction: str, text: str) -> dict[str, int]:
    """Returns the arguments of a queue, as in "packets=100, target=5"."""
    arguments: dict[str, int] = {}
    for part in (part.strip() for part in text.strip("\"'").split(",")):
        name, _, number = (word.strip() for word in part.partition("="))
        if not part:
            continue
        value = whole_number(number)
        if value is None:
            raise ScenarioError(
                f"mm-link: --{direction}-queue-args={shortened(part, 60)}; needs NAME=N, as in packets=100"
            )
        arguments[name] = value
    return arguments
