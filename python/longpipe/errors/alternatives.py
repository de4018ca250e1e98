"""Well-known names that longpipe does not have, each with the closest alternative."""

from collections.abc import Container
from typing import Final

# Congestion controls, queues, recovery algorithms, traffic and links, by the names that users might type.
NAMES: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("compound", "ctcp"), ("a congestion control", "tcp.congestion = 'cubic' or 'illinois'")),
    **{
        name: ("a congestion control", f"Linux's own: tcp.congestion = {{kind = 'module', file = 'tcp_{name}.c'}}")
        for name in ("cdg", "lp", "nv")
    },
    **dict.fromkeys(
        ("bbr2", "bbrv2", "bbr-2", "bbr_2", "bbr-v2", "bbr_v2", "bbr v2", "bbr2+"),
        ("a congestion control", "tcp.congestion = 'bbr3' or 'bbr', version 1"),
    ),
    "l4s": (
        "a low-latency service",
        "tcp = {congestion = 'prague', ecn = {kind = 'accurate', ect = 1}} with switch.policy = 'dualpi2'",
    ),
    **dict.fromkeys(("wred", "gred", "choke", "rem"), ("a queue", "switch.policy = 'red' or 'pie'")),
    "cobalt": ("a separate queue", "switch.policy = 'cake'"),
    "fair-queueing": ("a queue for each flow", "switch.policy = 'fq-codel' or 'drr'"),
    **dict.fromkeys(("http2", "http/2"), ("a protocol", "traffic = 'web' over TCP")),
    **dict.fromkeys(
        ("http3", "http/3"), ("a protocol", "web pages over a real stack, with http3 = true (docs/more-stacks.md)")
    ),
    **dict.fromkeys(
        ("dvb-s2x",),
        ("a table of adaptive coding", "network.path = {symbol_rate, esn0}, with your own modes as modcods"),
    ),
    **dict.fromkeys(("ipv6", "ethernet", "mpls"), ("a link layer", "framing = 'ip' or 'aal5'")),
}
# Names that other simulators use for features that longpipe has.
CALLED: Final[dict[str, str]] = {
    **dict.fromkeys(("droptail", "drop-tail", "taildrop", "tail_drop", "pfifo"), "tail-drop"),
    **dict.fromkeys(("ppd",), "partial-packet-discard"),
    **dict.fromkeys(("wi-fi", "wlan", "802.11"), "wifi"),
    **dict.fromkeys(("lte", "4g", "5g", "nr"), "cellular"),
    **dict.fromkeys(("cable", "docsis-3.1", "hfc"), "docsis"),
    **dict.fromkeys(("ftp", "bulk", "file"), "transfer"),
    **dict.fromkeys(("infinite", "iperf"), "greedy"),
    **dict.fromkeys(("http", "browser"), "web"),
    **dict.fromkeys(("dash", "hls", "abr", "video-chunks"), "adaptive-video"),
    **dict.fromkeys(("mice", "short-flows", "dynamic-flows", "poisson-flows"), "flow-arrivals"),
    **dict.fromkeys(("websearch", "dctcp-web-search"), "web-search"),
    **dict.fromkeys(("quic", "quinn", "noq"), "stack"),
    **dict.fromkeys(("aioquic", "sans-io"), "own-stack"),
    **dict.fromkeys(("udp", "datagrams"), "cbr"),
    **dict.fromkeys(("voip", "rtp"), "voice"),
    **dict.fromkeys(("fq_codel", "fqcodel"), "fq-codel"),
    "fq_pie": "fq-pie",
    **dict.fromkeys(("dualq", "dual-pi2"), "dualpi2"),
    **dict.fromkeys(("sqm", "sch_cake", "sch-cake"), "cake"),
    **dict.fromkeys(("prio",), "strict-priority"),
    **dict.fromkeys(("wrr",), "weighted-priority"),
    **dict.fromkeys(("step", "threshold-marking"), "step-marking"),
    **dict.fromkeys(("ecn", "rfc3168", "rfc-3168"), "classic"),
    **dict.fromkeys(("accecn", "rfc9768", "rfc-9768"), "accurate"),
    **dict.fromkeys(("ared",), "red"),
    **dict.fromkeys(("h-tcp",), "htcp"),
    **dict.fromkeys(("bbr1", "bbrv1", "bbr-1", "bbr-v1", "bbr_v1", "bbr v1"), "bbr"),
    **dict.fromkeys(("bbrv3", "bbr-3", "bbr_3", "bbr-v3", "bbr_v3", "bbr v3"), "bbr3"),
    **dict.fromkeys(("westwood+", "westwoodplus"), "westwood"),
    **dict.fromkeys(("rfc-6675", "rfc3517", "rfc-3517", "fack"), "rfc6675"),
    **dict.fromkeys(("rack-tlp", "tlp", "prr", "d-sack", "f-rto"), "rack"),
    **dict.fromkeys(("ber", "bit-error-rate", "bit_error_rate"), "bit-errors"),
    **dict.fromkeys(("atm", "cells"), "aal5"),
    **dict.fromkeys(("packets", "ipv4"), "ip"),
    **dict.fromkeys(("window", "rwnd", "rcv_wnd", "receive_window"), "receiver_window"),
    # Queue parameters, by their names in ns-2, ns-3 and tc.
    **dict.fromkeys(("min_th", "minth"), "min"),
    **dict.fromkeys(("max_th", "maxth"), "max"),
    **dict.fromkeys(("maxp", "max_prob"), "max_p"),
    **dict.fromkeys(("qw", "wq", "q_weight", "queue_weight"), "weight"),
    **dict.fromkeys(("meanpktsize", "mean_pkt_size", "avpkt"), "mean_packet"),
    **dict.fromkeys(("tupdate", "t_update"), "update"),
    **dict.fromkeys(("queuedelayreference", "qdelay_ref"), "target"),
}
# Names that users might type for the sizes of web pages; `sizes` of arriving flows has no kind for them.
WEB_SIZES: Final = ("web", "http", "browser", "pages")
# The two congestion controls that other programs call Reno: RFC 5681's and Linux's.
RENO: Final = "aimd"
LINUX_RENO: Final = "linux-reno"
# Clause about a loss recovery in place of a congestion control.
ITS_WINDOW: Final = f"its window is {LINUX_RENO!r} as in Linux, {RENO!r} as in RFC 5681"


# Fields whose values users may enter in another field by mistake, each with a noun phrase that describes its values,
# and the names of all its values.
_HOMES: dict[str, tuple[str, tuple[str, ...]]] = {}


def learn(field: str, what: str, names: tuple[str, ...]) -> None:
    """Registers a field with a noun phrase that describes its values, and with their names.

    Called by the model of the field.
    """
    _HOMES[field] = (what, names)


def homes() -> list[tuple[str, str, tuple[str, ...]]]:
    """Returns the registered fields as (field, noun phrase, names)."""
    return [(field, what, names) for field, (what, names) in _HOMES.items()]


def known(word: str, accepted: Container[str]) -> str | None:
    """Returns an explanation of a well-known name that is not accepted, or None.

    Such a name may denote something that longpipe lacks, be a value of another field, or have a different name in
    `accepted`.
    """
    name = word.strip().lower()
    # Linux's modules have this prefix.
    if name.startswith(("tcp_", "tcp-")):
        name = name[4:]
        if name in accepted:
            return f"it is {name!r} here"
    if (called := CALLED.get(name)) is not None and called in accepted:
        return f"it is {called!r} here"
    if name in WEB_SIZES and "web-search" in accepted:
        return "use pareto for pages of about 100 KB; clients that request pages are traffic = 'web'"
    for field, what, names in homes():
        if name in names:
            of_control = field == "tcp.recovery" and RENO in accepted
            window = f"; {ITS_WINDOW}" if of_control else ""
            return f"it is {what}, {field} = {name!r}{window}"
    if name in NAMES:
        what, instead = NAMES[name]
        return f"{what} that longpipe does not have (README.md, 'What it does not have'), nearest is {instead}"
    return None
