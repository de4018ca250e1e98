"""Well-known names that longpipe does not have, each with what is nearest: README.md, "What it does not have"."""

from collections.abc import Container
from typing import Final

# Congestion controls and what belongs to them, queues, recoveries, traffic, links; by what people write for them.
NAMES: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("compound", "ctcp", "yeah", "cdg"), ("a congestion control", "tcp.congestion = 'cubic' or 'illinois'")
    ),
    **dict.fromkeys(
        ("bbr", "bbr2", "bbrv2", "bbr3", "copa", "ledbat", "lp", "nv"),
        ("a congestion control", "tcp.congestion = 'vegas', which goes by round trips too"),
    ),
    **dict.fromkeys(("dctcp", "ecn", "ce", "l4s"), ("explicit congestion notification", "losses by switch.policy")),
    **dict.fromkeys(
        ("red", "wred", "gred", "ared", "blue", "choke", "pie", "avq"),
        ("a queue", "switch.policy = 'selective-drop' or 'fba', which drop before the buffer is full"),
    ),
    **dict.fromkeys(("codel", "cake"), ("a queue", "switch.policy = 'tail-drop' with a small switch.buffer")),
    **dict.fromkeys(
        ("fq-codel", "fq_codel", "fq", "sfq", "drr", "wfq", "fair-queueing"),
        ("a queue for each flow", "switch.policy = 'fba', which drops of those who hold most"),
    ),
    **dict.fromkeys(
        ("fack", "dsack", "d-sack", "f-rto", "frto", "rfc6675", "rfc-6675"),
        ("a loss recovery", "tcp.recovery = 'rack'"),
    ),
    **dict.fromkeys(("pacing", "pace"), ("pacing by the sender", "network.send_jitter")),
    **dict.fromkeys(
        ("udp", "cbr", "voip", "rtp", "datagrams", "poisson", "pareto"),
        ("traffic without TCP", "network.vbr, over cells"),
    ),
    **dict.fromkeys(("quic", "http2", "http3", "http/2", "http/3"), ("a protocol", "traffic = 'web' over TCP")),
    **dict.fromkeys(
        ("pep", "split", "dvb-s2x", "acm"),
        ("a split connection or adaptive coding", "network.path, whose rate and delay move"),
    ),
    **dict.fromkeys(("ipv6", "ethernet", "mpls", "wifi", "dvb-s2"), ("a link layer", "framing = 'ip' or 'aal5'")),
    **dict.fromkeys(("ber", "bit_error_rate"), ("an error rate by bits", "kind = 'bernoulli', which loses packets")),
}
# What others call something that is here.
CALLED: Final[dict[str, str]] = {
    **dict.fromkeys(("droptail", "drop-tail", "taildrop", "tail_drop", "pfifo"), "tail-drop"),
    **dict.fromkeys(("ppd",), "partial-packet-discard"),
    **dict.fromkeys(("ftp", "bulk", "file"), "transfer"),
    **dict.fromkeys(("infinite", "iperf"), "greedy"),
    **dict.fromkeys(("http", "browser"), "web"),
    **dict.fromkeys(("h-tcp",), "htcp"),
    **dict.fromkeys(("westwood+", "westwoodplus"), "westwood"),
    **dict.fromkeys(("rack-tlp", "tlp", "prr"), "rack"),
    **dict.fromkeys(("atm", "cells"), "aal5"),
    **dict.fromkeys(("packets", "ipv4"), "ip"),
}
# What is a value of another field.
OF_RECOVERY: Final = ("vanilla", "tahoe", "reno", "newreno", "sack", "rack")


def known(word: str, accepted: Container[str]) -> str | None:
    """What to say of a name that is not accepted, if it is well known: that it is absent, elsewhere, or called else."""
    name = word.strip().lower()
    if (called := CALLED.get(name)) is not None and called in accepted:
        return f"it is {called!r} here"
    if name in OF_RECOVERY:
        return f"it is a loss recovery, tcp.recovery = {name!r}"
    if name == "vegas":
        return "it is a congestion control, tcp.congestion = 'vegas'"
    if name in NAMES:
        what, instead = NAMES[name]
        return f"{what} that longpipe does not have (README.md, 'What it does not have'), nearest is {instead}"
    return None
