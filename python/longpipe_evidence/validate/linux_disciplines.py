"""Translates queueing disciplines of tc into ports of longpipe: policy, buffer, and whether packets can be marked.

1. Linux counts 14 bytes of Ethernet headers in each packet, which longpipe's packets lack, so byte counts are lower in
   proportion.
2. Token bucket: over a constant rate, tail drop has the guest's bucket in longpipe, too (`token_bucket`). Rules 3 and 4
   are about all other ports, whose bucket longpipe replaces by a serial line.
3. Serial line and limit: the bucket releases a packet at the time at which longpipe begins to send it. From that time
   on, the packet is no longer in Linux's queue (`sch->q.qlen`, `qstats.backlog`), while longpipe counts it until its
   last bit has left. So longpipe's buffer is larger than tc's `limit` by one packet, for any discipline with a limit.
4. Serial line and delay: `tbf_dequeue` peeks at the next packet when it has released one. Disciplines that measure the
   delay when a packet is dequeued (`qdisc_peek_dequeued`) thus measure one packet's transmission time less than
   longpipe, so longpipe's target delays are longer by this time. `fq` has already taken the packet off its flow's
   queue, so `flow_limit` is also larger by one packet.
5. RED averages the waiting queue in both simulators (`red_peek` leaves the packet in the queue), so its thresholds are
   equal.
6. PIE's interval is a number of ticks of the guest's clock, plus one: no timer of the kernel expires early, so a timer
   of n ticks that is set at a tick expires n + 1 ticks later (kernel/time/timer.c, calc_index).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from longpipe.units import RATE, SIZE, TIME
from longpipe_evidence.validate.linux_guest.path import burst_bytes

# Length of a full segment with headers and timestamps, first without and then with Ethernet's header [bytes].
WIRE_BYTES: Final = 1500
ETHERNET_BYTES: Final = 1514
# Default limits of tc [packets].
FQ_CODEL_LIMIT: Final = 10_240
FQ_LIMIT: Final = 10_000
# Unit of tc's alpha and beta.
PIE_UNIT: Final = 16
MAX_SHIFT: Final = 32
# Clock ticks per second of the guest, and their length [ps].
GUEST_HZ: Final = 100
TICK_PS: Final = 10**12 // GUEST_HZ
# CAKE's memory limit for rates up to 10 Mbit/s and a 100 ms RTT, and the memory that a full packet takes [bytes].
CAKE_MEMORY: Final = 4 << 20
PACKET_MEMORY: Final = 2304
_RATES: Final = {"bit": "bit/s", "kbit": "kbit/s", "mbit": "Mbit/s", "gbit": "Gbit/s"}
# CAKE's keywords, grouped by the fields that they set.
_CAKE: Final = {
    "framing": ("atm", "ptm"),
    "tins": ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"),
    "isolation": ("flows", "hosts", "srchost", "dsthost", "dual-srchost", "dual-dsthost", "triple-isolate"),
}
_TIMES: Final = {"us": "us", "usec": "us", "usecs": "us", "ms": "ms", "msec": "ms", "msecs": "ms", "s": "s"}
_SIZES: Final = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2}

Words = dict[str, str]


def switch_of(discipline: str, rate_bps: int) -> dict[str, Any] | None:
    """Returns a scenario's switch (policy and buffer) for a discipline; None if longpipe lacks the discipline.

    `discipline` is in the format of `LinuxCase.guest`, with its limit; `rate_bps` is the bucket's rate, for Ethernet
    packets.
    """
    name, *words = discipline.split()
    make = _KINDS.get(name)
    settings = _settings(words)
    if make is None or settings is None or not settings.keys() <= _KNOWN[name]:
        return None
    try:
        switch = make(settings)
        if policy := switch.get("policy"):
            _make_time(policy, 8 * ETHERNET_BYTES * 10**12 // rate_bps)
        return switch
    except (KeyError, ValueError):
        return None


def token_bucket(discipline: str, rate_bps: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Returns the switch and the conditioner of a tail-drop queue behind the guest's token bucket.

    The packet that waits for tokens counts in both queues. None if the discipline is not tail drop.
    """
    name, *words = discipline.split()
    settings = _settings(words)
    if name != "pfifo" or settings is None:
        return None
    bucket = {
        "kind": "tbf",
        "rate": RATE.canonical(f"{rate_bps * WIRE_BYTES // ETHERNET_BYTES} bit/s"),
        "burst": _size(burst_bytes(rate_bps) * WIRE_BYTES // ETHERNET_BYTES),
    }
    return {"buffer": f"{int(settings['limit'])} packets"}, bucket


def _make_time(policy: dict[str, Any], packet_ps: int) -> None:
    """Raises the target delay by the transmission time of the packet that a token bucket has peeked at."""
    if policy["kind"] in _TARGETS:
        target = TIME.parse(policy.get("target", _TARGETS[policy["kind"]]))
        policy["target"] = TIME.canonical(f"{target + packet_ps} ps")


def _settings(words: list[str]) -> Words | None:
    """Parses names with their values; flags have no value."""
    settings: Words = {}
    place = 0
    while place < len(words):
        flag = words[place] in _FLAGS
        if not flag and place + 1 == len(words):
            return None
        settings[words[place]] = "" if flag else words[place + 1]
        place += 1 if flag else 2
    return settings


# Default target delays, which are the same in tc and in longpipe.
_TARGETS: Final = {"codel": "5 ms", "fq-codel": "5 ms", "pie": "15 ms"}
_FLAGS: Final = (
    *("ecn", "noecn", "dq_rate_estimator", "no_dq_rate_estimator", "bytemode", "nobytemode"),
    *("raw", *(name for names in _CAKE.values() for name in names)),
)


def _time(text: str) -> str:
    """Converts a time in tc's syntax; numbers without a unit are microseconds."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return TIME.canonical(f"{number} {_TIMES[text[len(number) :] or 'us']}")


def _bytes(text: str) -> int:
    """Converts Ethernet bytes into longpipe's bytes."""
    number = text.lower().rstrip("bkm")
    return int(Fraction(number) * _SIZES[text.lower()[len(number) :]] * WIRE_BYTES / ETHERNET_BYTES)


def _size(count: int) -> str:
    return SIZE.canonical(f"{count} B")


def _room(limit: int) -> str:
    """Returns the buffer for one of tc's limits [packets], which do not count the packet in transmission."""
    return f"{limit + 1} packets"


def _tail_drop(words: Words) -> dict[str, Any]:
    return {"buffer": _room(int(words["limit"]))}


def _delay_options(words: Words) -> dict[str, Any]:
    return {
        **{name: _time(words[name]) for name in ("target", "interval") if name in words},
        "arithmetic": "linux",
        "least_backlog": _size(WIRE_BYTES),
        "ecn": "ecn" in words,
    }


def _codel(words: Words) -> dict[str, Any]:
    return {"buffer": _room(int(words["limit"])), "policy": {"kind": "codel", **_delay_options(words)}}


def _fq_codel(words: Words) -> dict[str, Any]:
    policy = {
        "kind": "fq-codel",
        **_delay_options(words),
        "quantum": _size(_bytes(words.get("quantum", str(ETHERNET_BYTES)))),
        "rules": "linux",
    }
    return {"buffer": _room(int(words.get("limit", FQ_CODEL_LIMIT))), "policy": policy}


def _fq(words: Words) -> dict[str, Any]:
    policy = {
        "kind": "fq",
        "quantum": _size(_bytes(words.get("quantum", str(2 * ETHERNET_BYTES)))),
        "initial_quantum": _size(_bytes(words.get("initial_quantum", str(10 * ETHERNET_BYTES)))),
        "flow_limit": int(words.get("flow_limit", 100)) + 1,
    }
    return {"buffer": _room(int(words.get("limit", FQ_LIMIT))), "policy": policy}


def _pie(words: Words) -> dict[str, Any]:
    """Returns longpipe's policy for arguments of tc's pie."""
    policy: dict[str, Any] = {
        "kind": "pie",
        "rules": "linux",
        # The minimum is twice the MTU.
        "least_backlog": _size(2 * WIRE_BYTES - 1),
        "delay": "departure-rate" if "dq_rate_estimator" in words else "sojourn",
        "ecn": "ecn" in words,
    }
    policy |= {name: int(words[name]) / PIE_UNIT for name in ("alpha", "beta") if name in words}
    if "target" in words:
        policy["target"] = _time(words["target"])
    ticks = -(-TIME.parse(_time(words.get("tupdate", "15ms"))) // TICK_PS) + 1
    policy["update"] = TIME.canonical(f"{ticks * TICK_PS} ps")
    return {"buffer": _room(int(words["limit"])), "policy": policy}


def _red(words: Words) -> dict[str, Any]:
    """Returns longpipe's policy for arguments of tc's red."""
    least, mean, burst = _bytes(words["min"]), _bytes(words["avpkt"]), int(words["burst"])
    policy = {
        "kind": "red",
        "min": least,
        "max": _bytes(words["max"]),
        "unit": "bytes",
        "weight": 2.0 ** -_shift(least, burst, mean),
        "max_p": float(words.get("probability", "0.02")),
        "gentle": False,
        "gap": "drawn",
        "mean_packet": _size(mean),
        "ecn": "ecn" in words,
    }
    return {"buffer": _size(_bytes(words["limit"]) + WIRE_BYTES), "policy": policy}


def _shift(least: int, burst: int, mean: int) -> int:
    """Returns log2(1/w_q) for bursts of `burst` packets (tc-red(8); Floyd and Jacobson 1993)."""
    beyond = burst + 1 - least / mean
    fits = (shift for shift in range(1, MAX_SHIFT) if beyond <= (1 - (1 - 2.0**-shift) ** burst) * 2**shift)
    return next(fits)


def _cake(words: Words) -> dict[str, Any]:
    """Returns the settings of CAKE as the bottleneck; lengths include Ethernet's header unless an overhead is given."""
    bandwidth = words["bandwidth"]
    number = bandwidth.rstrip("abcdefghijklmnopqrstuvwxyz")
    policy: dict[str, Any] = {
        "kind": "cake",
        "rate": RATE.canonical(f"{number} {_RATES[bandwidth[len(number) :]]}"),
        "overhead": int(words.get("overhead", ETHERNET_BYTES - WIRE_BYTES)),
    }
    policy |= {field: name for field, names in _CAKE.items() for name in names if name in words}
    if "rtt" in words:
        policy["rtt"] = _time(words["rtt"])
    if "mpu" in words:
        policy["mpu"] = int(words["mpu"])
    return {"buffer": f"{CAKE_MEMORY // PACKET_MEMORY} packets", "policy": policy}


_KINDS: Final[dict[str, Callable[[Words], dict[str, Any]]]] = {
    "pfifo": _tail_drop,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "fq": _fq,
    "pie": _pie,
    "red": _red,
    "cake": _cake,
}
_KNOWN: Final[dict[str, set[str]]] = {
    "pfifo": {"limit"},
    "codel": {"limit", "target", "interval", "ecn", "noecn"},
    "fq_codel": {"limit", "target", "interval", "ecn", "noecn", "quantum"},
    "fq": {"limit", "flow_limit", "quantum", "initial_quantum"},
    "pie": {"limit", "target", "tupdate", "alpha", "beta", "ecn", "noecn", "dq_rate_estimator", "no_dq_rate_estimator"},
    "cake": {"bandwidth", "overhead", "mpu", "rtt", "raw", *(name for names in _CAKE.values() for name in names)},
    "red": {"limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ecn", "noecn"},
}
