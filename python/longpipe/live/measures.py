"""Measurements of the machine's fitness for live paths, with their targets."""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from longpipe.live.alone import alone
from longpipe.live.answers import PROGRAMS, answer
from longpipe.live.carrier import Settings
from longpipe.live.certificate import Certificate
from longpipe.live.hosts import plan
from longpipe.live.left import held, interfaces, namespaces_below, processes_with
from longpipe.live.records import replay
from longpipe.live.session import run
from longpipe.scenario import RandomStart, Scenario, Switch, Tcp, Transfer
from longpipe.scenario.network import Dumbbell, Flow, Graph, Link, Node

PORT: Final = 5201
# Maximum time [s] in which the processes and namespaces of a killed run disappear.
_READY_S: Final = 60.0
# Load [bit/s] that the simulated flows produce: four fifths of 100 Mbit/s.
_CROWD_BPS: Final = 80e6


@dataclass(frozen=True)
class Measured:
    """A measurement: name, value, target (if there is one), whether it is met, and lines about the run."""

    name: str
    value: str
    target: str | None
    is_met: bool
    details: tuple[str, ...] = ()


def path(rate: str, delay: str, buffer: str = "1000 packets") -> Scenario:
    """Returns a router between two hosts, with a delay in each direction."""
    nodes = (Node(name="a", kind="host"), Node(name="r", kind="switch"), Node(name="b", kind="host"))
    links = (
        Link(between=("a", "r"), rate="10 Gbit/s", delay="0 s"),
        Link(between=("r", "b"), rate=rate, delay=delay),
    )
    flows = (Flow(name="f", from_="a", to="b"),)
    network_of = Graph(nodes=nodes, links=links, flows=flows)
    return Scenario(
        name="measured",
        framing="ip",
        network=network_of,
        switch=Switch(buffer=buffer),
        tcp=Tcp(profile="classic", mss="1460 B"),
    )


def crowd(flows: int, seconds: float) -> Scenario:
    """Returns a 100 Mbit/s, 20 ms dumbbell with flows of the Linux profile that start at random within `seconds`.

    Each flow is one transfer; together, the flows use four fifths of the link.
    """
    network = Dumbbell(
        sources=flows,
        access_rate="1 Gbit/s",
        trunk_rate="100 Mbit/s",
        access_delay="0 s",
        trunk_delay="10 ms",
        exit_delay="0 s",
    )
    return Scenario(
        name="crowd",
        framing="ip",
        network=network,
        switch=Switch(buffer="1000 packets"),
        tcp=Tcp(profile="linux-6"),
        traffic=Transfer(size=f"{round(_CROWD_BPS * seconds / flows / 8)} B"),
        start=RandomStart(over=f"{seconds:g} s"),
    )


def machine(settings: Settings, seconds: float) -> Measured:
    """Measures the lateness of the machine itself, with a thread that carries no packets."""
    done = alone(settings, seconds)
    late, worst = (done.lateness_s[share] or 0.0 for share in ("0.99", "1"))
    measured = f"99 % of deadlines met within {late * 1e3:.3f} ms, worst {worst * 1e3:.2f} ms"
    return Measured("the machine alone", measured, None, is_met=True, details=(done.said,))


def echoes(settings: Settings, seconds: float) -> Measured:
    """Measures echoes over an idle path with a delay of 10 ms each way."""
    count = max(10, round(seconds / 0.05))
    text, done = answer(plan(path("1 Gbit/s", "10 ms")), ["ping", "b", str(count), "0.02"], ["ignore", "9"], settings)
    median = statistics.median(map(float, text.split()))
    measured = f"{median * 1e3:.3f} ms of {count} echoes"
    return Measured(
        "echo, 10 + 10 ms",
        measured,
        "20.0 to 20.1 ms median",
        0.020 <= median <= 0.0201,
        _certificate_lines(done.certificate),
    )


def _certificate_lines(certificate: Certificate) -> tuple[str, ...]:
    return tuple(certificate.lines())


def _bulk(
    name: str, scenario: Scenario, settings: Settings, seconds: float, least_bps: float | None, limit_s: float
) -> Measured:
    live_plan = plan(scenario)
    sending = ["send", live_plan.hosts[1].name, str(PORT), f"{seconds:g}"]
    text, done = answer(live_plan, sending, ["receive", str(PORT)], settings)
    goodput, late = float(text), done.certificate.lateness_s["0.99"] or 0.0
    measured = f"{goodput / 1e6:.1f} Mbit/s, 99 % within {late * 1e3:.3f} ms"
    target, is_met = f"99 % within {limit_s * 1e3:g} ms", late <= limit_s
    if least_bps is not None:
        target, is_met = f"{least_bps / 1e6:g} Mbit/s, {target}", is_met and goodput >= least_bps
    return Measured(name, measured, target, is_met, _certificate_lines(done.certificate))


def hundred(settings: Settings, seconds: float) -> Measured:
    """Measures the machine's TCP over a 100 Mbit/s path with an RTT of 100 ms."""
    return _bulk("TCP, 100 Mbit/s, 100 ms", path("100 Mbit/s", "50 ms"), settings, seconds, None, 0.0002)


def thousand(settings: Settings, seconds: float) -> Measured:
    """Measures the machine's TCP over a 1 Gbit/s path, of which it should use more than 90 % after slow start."""
    scenario = path("1 Gbit/s", "1 ms", "2000 packets")
    return _bulk("TCP, 1 Gbit/s", scenario, settings, seconds, 0.9e9, 0.001)


def measure_shared(settings: Settings, seconds: float) -> Measured:
    """Measures a real flow that shares 100 Mbit/s with 9999 simulated ones, which leave it a fifth of the link."""
    return _bulk("TCP beside 9999 flows", crowd(10_000, seconds), settings, seconds, None, 0.0002)


def small(settings: Settings, seconds: float) -> Measured:
    """Measures the maximum rate of 64-byte IP packets that two processes can send."""
    live_plan = plan(path("10 Gbit/s", "1 ms", "100000 packets"))
    text, done = answer(live_plan, ["flood", "b", "9", f"{seconds:g}", "36"], ["ignore", "9"], settings)
    lasted = float(text.split()[1])
    rate = done.certificate.delivered / lasted
    late = done.certificate.lateness_s["0.99"] or 0.0
    measured = f"{rate:,.0f} packets/s; 99 % within {late * 1e3:.3f} ms".replace(",", " ")
    is_met = rate >= 400_000 and late <= 1e-3
    return Measured(
        "small packets", measured, "400 000 packets/s, 99 % within 1 ms", is_met, _certificate_lines(done.certificate)
    )


def replays(settings: Settings, count: int) -> Measured:
    """Checks that replays of recorded runs make the same decisions."""
    live_plan, agree = plan(path("5 Mbit/s", "2 ms", "20 packets")), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            file = Path(folder) / f"{number}.live"
            run(
                live_plan,
                {"a": [*PROGRAMS, "talk", "b", "9", "300"], "b": [*PROGRAMS, "ignore", "9"]},
                settings=settings,
                record=file,
                seed=number + 1,
            )
            agree += replay(file).agrees
    return Measured("replays of records", f"{agree} of {count} hashes agree", "all", agree == count)


def kills(settings: Settings, count: int) -> Measured:
    """Kills runs at random times and counts the processes, namespaces and interfaces that remain."""
    before = interfaces()
    processes: set[int] = set()
    spaces: set[str] = set()
    created = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.toml"
        file.write_text(path("100 Mbit/s", "10 ms").to_toml())
        ready_s = 0.0
        for number in range(count):
            mark = f"longpipe-killed-{os.getpid()}-{number}"
            command = [sys.executable, "-m", "longpipe", "live", str(file), "--quiet", "--device", settings.device]
            arguments = [*command, "--", "sh", "-c", f": {mark}; echo ready; sleep 1000 & sleep 1000"]
            began = time.monotonic()
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603
                # The first run is killed when its command has started, the others at times from long before to after
                # that.
                if number == 0 and process.stdout is not None:
                    process.stdout.readline()
                    ready_s = time.monotonic() - began
                else:
                    time.sleep(1.5 * ready_s * number / count)
                own_spaces = namespaces_below(process.pid)
                process.send_signal(signal.SIGKILL)
            created += len(own_spaces)
            left_processes, left_spaces = _left({mark, str(file)}, own_spaces)
            processes |= left_processes
            spaces |= left_spaces
    new = interfaces() - before
    namespaces = f"{len(spaces)} of {created} namespaces"
    remaining = f"{len(processes)} processes, {namespaces} and {len(new)} interfaces left of {count} runs"
    return Measured("killed at random times", remaining, "none", not (processes or spaces or new))


def _left(words: Set[str], spaces: Set[str]) -> tuple[set[int], set[str]]:
    """Returns the processes and namespaces of a killed run that do not disappear in time."""
    deadline = time.monotonic() + _READY_S
    left_spaces = set(spaces)
    while True:
        # Processes are searched by their words each time, because the ID of an ended process can be used again.
        processes, left_spaces = processes_with(words) - {os.getpid()}, held(left_spaces)
        if not (processes or left_spaces) or time.monotonic() > deadline:
            return processes, left_spaces
        time.sleep(0.05)


MEASURES: Final[dict[str, Callable[[Settings, float], Measured]]] = {
    "machine": machine,
    "echo": echoes,
    "100-mbit": hundred,
    "1-gbit": thousand,
    "small": small,
    "beside": measure_shared,
    "replay": lambda settings, _: replays(settings, 20),
    "kill": lambda settings, _: kills(settings, 50),
}
