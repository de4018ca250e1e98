"""The path inside the guest: sender, delay, router, receiver, each in a network namespace; the first is the sender's.

sender a0 --- d0 delay d1 --- r0 router r1 --- b0 receiver

Delays and losses are before the queue and on a separate node, so that the sender's device neither delays nor queues.
Jitter has its own node after the queue, where it bunches packets:

router r1 --- w0 jitter w1 --- b0 receiver
"""

import ctypes
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

SYS_FINIT_MODULE: Final = 313
SENDER, RECEIVER, PORT = "10.0.1.2", "10.0.3.2", 5001
# Depth of a token bucket: more than one packet and less than two, so that packets leave one by one; above 640 Mbit/s it
# holds 20 us of traffic, because the kernel's own work delays its timer.
BURST_BYTES: Final = 1600
BURST_S: Final = 20e-6
# Disciplines whose limit the kernel replaces when the token bucket above them changes.
FIFOS: Final = ("pfifo", "bfifo")
# Limit of a token bucket's own queue, larger than any buffer in packets [byte].
UNLIMITED: Final = 2_000_000_000
SETTINGS: Final = (
    "net.ipv4.tcp_no_metrics_save=1",
    "net.core.wmem_max=67108864",
    "net.core.rmem_max=67108864",
    "net.ipv4.tcp_wmem=4096 4194304 67108864",
    "net.ipv4.tcp_rmem=4096 131072 67108864",
    "net.ipv4.tcp_mem=100000 100000 100000",
)
# Parameter of CUBIC's module, which exists while the module is loaded.
HYSTART: Final = Path("/sys/module/tcp_cubic/parameters/hystart")
# Makes netem keep the order of packets: if a rate is set, each packet leaves after the previous one (sch_netem.c).
IN_ORDER: Final = "rate 100gbit"
_Link = tuple[str, str, str, str]
_LINKS: Final[tuple[_Link, ...]] = (("a0", "", "d0", "d"), ("d1", "d", "r0", "r"), ("r1", "r", "b0", "b"))
_JITTERED: Final[tuple[_Link, ...]] = (*_LINKS[:2], ("r1", "r", "w0", "w"), ("w1", "w", "b0", "b"))
_ADDRESSES: Final = {
    "a0": f"{SENDER}/24",
    "d0": "10.0.1.1/24",
    "d1": "10.0.2.2/24",
    "r0": "10.0.2.1/24",
    "r1": "10.0.3.1/24",
    "b0": f"{RECEIVER}/24",
}
# Addresses of the routers around the jitter, of which w1 takes over the address of r1.
_JITTERED_ADDRESSES: Final = _ADDRESSES | {"r1": "10.0.4.1/24", "w0": "10.0.4.2/24", "w1": _ADDRESSES["r1"]}
_ROUTES: Final = {
    "": "default via 10.0.1.1",
    "d": "default via 10.0.2.1",
    "w": "default via 10.0.4.1",
    "b": "default via 10.0.3.1",
}

_libc = ctypes.CDLL(None, use_errno=True)
_loaded: set[str] = set()


def load_modules(home: Path, names: list[str]) -> None:
    """Loads the modules that exist and are not loaded yet; built-in modules need no loading."""
    missing = [name for name in names if name not in _loaded]
    _loaded.update(missing)
    for name in missing:
        for path in home.rglob(f"{name}.ko"):
            with path.open("rb") as module:
                if _libc.syscall(SYS_FINIT_MODULE, module.fileno(), b"", 0) < 0:
                    raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def build(case: dict[str, Any]) -> None:
    """Sets up the path.

    Its settings are `rate` [bit/s], `delay_s` (one-way), `discipline` (for tc) or `root`, `loss` (probability) and
    `jitter_s` (mean and half of the range, or None).
    """
    settings = [*SETTINGS, *_connection_settings(case)]
    _run("sysctl", "-q", *settings)
    links, addresses = (_JITTERED, _JITTERED_ADDRESSES) if case["jitter_s"] else (_LINKS, _ADDRESSES)
    spaces = list(dict.fromkeys(link[3] for link in links))
    for name in spaces:
        _run("ip", "netns", "add", name)
    _run(
        "ip",
        "netns",
        "exec",
        "b",
        "sysctl",
        "-q",
        *[setting for setting in settings if ".tcp_" in setting and "_mem" not in setting],
    )
    _run("ip", "netns", "exec", "b", "sysctl", "-q", *[setting for setting in settings if "tcp_rmem" in setting])
    _batch("", "ip", [_link(number, *link) for number, link in enumerate(links)])
    for space in ("", *spaces):
        _batch(space, "ip", _addressed(space, links, addresses))
    for space in spaces[:-1]:
        _run("ip", "netns", "exec", space, "sysctl", "-q", "net.ipv4.ip_forward=1")
    _run("ip", "-n", "r", "route", "add", "10.0.1.0/24", "via", "10.0.2.2")
    if case["jitter_s"]:
        _run("ip", "-n", "r", "route", "add", "10.0.3.0/24", "via", "10.0.4.2")
    _set_queues(case)


def _connection_settings(case: dict[str, Any]) -> list[str]:
    """Returns the sysctl settings of connections that depend on the case."""
    ecn = int(case["ecn"] or any(flow["control"] == "dctcp" for flow in case["flows"]))
    # With another control at the receiver, DCTCP's ECN would not be negotiated.
    dctcp = all(flow["control"] == "dctcp" for flow in case["flows"])
    return [f"net.ipv4.tcp_ecn={ecn}", *(["net.ipv4.tcp_congestion_control=dctcp"] if dctcp else [])]


def _set_queues(case: dict[str, Any]) -> None:
    """Configures delays, losses, jitter and the bottleneck."""
    set_delay(case, case["delay_s"], "add")
    if case["jitter_s"]:
        mean, half = (f"{1e6 * jitter_s:.3f}us" for jitter_s in case["jitter_s"])
        _batch("w", "tc", [f"qdisc replace dev w1 root netem delay {mean} {half} limit 1000000 {IN_ORDER}"])
    hystart = str(int(case["hystart"]))
    if HYSTART.exists() and HYSTART.read_text().strip() != hystart:
        HYSTART.write_text(hystart)
    _batch(
        "r",
        "tc",
        [f"qdisc add dev r1 root handle 10: {case['root']}"]
        if case["root"]
        else [
            f"qdisc add dev r1 root handle 1: {_bucket(case['rate'])}",
            f"qdisc add dev r1 parent 1:1 handle 10: {case['discipline']}",
        ],
    )
    if case["police"]:
        police = f"action police {case['police']} conform-exceed drop/ok"
        _batch("r", "tc", ["qdisc add dev r0 clsact", f"filter add dev r0 ingress matchall {police}"])


def set_delay(case: dict[str, Any], delay_s: float, verb: str = "change") -> None:
    """Adds or changes the delay in each direction; packets that are already delayed keep their delay."""
    # Without this option, a packet with a smaller delay would overtake earlier ones.
    order = f" {IN_ORDER}" if case["delays"] else ""
    delay = f"netem delay {delay_s * 1e6:.3f}us limit 1000000{order}"
    loss = f" loss {100 * case['loss']:.6f}%" if case["loss"] else ""
    _batch("d", "tc", [f"qdisc {verb} dev d0 root {delay}", f"qdisc {verb} dev d1 root {delay}{loss}"])


def burst_bytes(rate: int) -> int:
    """Returns the depth [byte] of the token bucket for a rate [bit/s]."""
    return max(BURST_BYTES, int(rate * BURST_S / 8))


def _bucket(rate: int) -> str:
    """Returns the token bucket for a rate [bit/s]."""
    return f"tbf rate {rate}bit burst {burst_bytes(rate)} limit {UNLIMITED}"


def set_rate(case: dict[str, Any], rate: int) -> None:
    """Changes the bottleneck's rate [bit/s]. The discipline keeps its packets and settings; the bucket is refilled."""
    lines = [f"qdisc change dev r1 root handle 1: {_bucket(rate)}"]
    if case["discipline"].split()[0] in FIFOS:
        # The bucket has replaced the queue's limit with its own (fifo_set_limit, called by tbf_change).
        lines.append(f"qdisc change dev r1 parent 1:1 handle 10: {case['discipline']}")
    _batch("r", "tc", lines)


def change(case: dict[str, Any]) -> None:
    """Changes the path to that of another case with equal connection settings; packets in transit are dropped."""
    _batch("d", "tc", ["qdisc del dev d0 root", "qdisc del dev d1 root"])
    if any(qdisc["kind"] == "clsact" for qdisc in _shown("d", "d0")):
        _batch("d", "tc", ["qdisc del dev d0 clsact"])
    _batch("r", "tc", ["qdisc del dev r1 root"])
    if any(qdisc["kind"] == "clsact" for qdisc in _shown("r", "r0")):
        _batch("r", "tc", ["qdisc del dev r0 clsact"])
    _set_queues(case)


def counters() -> dict[str, Any]:
    """Returns the counters of the queue discipline and of the lossy link, as tc reports them."""
    queue = next(qdisc for qdisc in _shown("r", "r1") if qdisc.get("handle") == "10:")
    return {"queue": queue, "link": _shown("d", "d1")[0], "policed": _policed()}


def _policed() -> int:
    """Returns the number of packets that the policer before the queue has dropped."""
    filters = _tc_json("r", "filter", "show", "dev", "r0", "ingress")
    actions = [action for filter_ in filters for action in filter_.get("options", {}).get("actions", [])]
    return sum(int(action["stats"]["drops"]) for action in actions)


def _link(number: int, near: str, near_space: str, far: str, far_space: str) -> str:
    def end(device: str, space: str, place: int) -> str:
        return f"name {device} address 02:00:00:00:0{number}:0{place}" + (f" netns {space}" if space else "")

    return f"link add {end(near, near_space, 1)} type veth peer {end(far, far_space, 2)}"


def _addressed(space: str, links: Sequence[_Link], addresses: Mapping[str, str]) -> list[str]:
    """Configures the devices and the neighbor table of a namespace, so that no packet waits for an address."""
    lines = ["link set lo up"]
    for number, link in enumerate(links):
        ends = (link[0], link[1], 1), (link[2], link[3], 2)
        for (device, home, _), (other, _, place) in (ends, ends[::-1]):
            if home == space:
                address = addresses[other].split("/")[0]
                lines += [
                    f"addr add {addresses[device]} dev {device}",
                    f"link set {device} up gso_max_segs 1 txqueuelen 0",
                    f"neigh add {address} lladdr 02:00:00:00:0{number}:0{place} dev {device} nud permanent",
                ]
    if space in _ROUTES:
        lines.append(f"route add {_ROUTES[space]}")
    return lines


def _shown(space: str, device: str) -> list[dict[str, Any]]:
    return _tc_json(space, "qdisc", "show", "dev", device)


def _tc_json(space: str, *arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(  # noqa: S603 - runs in the guest
        ["tc", "-n", space, "-s", "-j", *arguments],  # noqa: S607
        check=True,
        capture_output=True,
    )
    return list(json.loads(done.stdout))


def _batch(space: str, program: str, lines: list[str]) -> None:
    command = [program, *(["-n", space] if space else []), "-batch", "-"]
    subprocess.run(command, input="\n".join(lines).encode() + b"\n", check=True)  # noqa: S603 - runs in the guest


def _run(*command: str) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - runs in the guest
