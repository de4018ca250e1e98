"""The engine of a stored run, as a number, and the names that older builds used for engines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from longpipe import _core

if TYPE_CHECKING:
    import sqlalchemy as sa

# What each engine changed:
# 18: PSH of senders with a handshake whose control needs only the number of acknowledged bytes.
# 17: Linux's ACKs at ends of writes, its last segment, and its receiver's RTT; RTTs of retransmissions with timestamps;
#     PIE by RFC 8033; the AccECN option; the efficiency of dumbbells with groups of direction "back".
# 16: the efficiency of trunks with a CAKE shaper that counts overhead or framing, and what such shapers counted.
# 15: buffers in BDP or in time of scenarios without TCP, and, after a warm-up, the efficiency of shapers and policers.
# 14: how receivers with Linux's ACKs acknowledge data beyond a hole, and how much space these data occupy; datagrams
#     over paths that reorder or duplicate packets; Prague's pacing rate, and the SRTT that pacing and congestion
#     controllers use with a coarse timer; the causes of window reductions over cells.
# 13: the causes of window reductions over cells; what streams wrote, and how long players waited for chunks.
# 12: the efficiency of trunks with a shaper or policer, the trace `vc_queue`, and the state hash of adaptive video.
# 11: BBR's first minimum RTT, the causes of window reductions over cells, and the order of rows of the trace
#     `vc_queue`.
# 10: RACK's RTT and its reaction to marks, Linux's HyStart, own controllers in C, how receivers with Linux's ACKs
#     measure RTTs, and the trace `vc_queue` over IP.
# 9: the receive-window autotuning with Linux's ACKs.
# 8: RACK, Linux's ACKs, DCTCP's ECN, and the scoreboard's inputs to congestion controllers.
# 7: recovery by RACK and RFC 6675, Linux's congestion controllers, four queue disciplines, and the definitions of
#    efficiency and of limits if TCP shares the link with datagrams or VBR.
# 6: BBR. 5: BIC and RACK's response to marks. 4: Vegas. 3: RACK's timers and Linux's slow start.
# 2: CUBIC; efficiency accounts for timestamps and short segments.
# Builds before engine numbers are named by a hash of their sources. Two of them have the results of engine 1, but the
# earlier one relied on an order of ACKs that graphs and VBR do not guarantee.
_NOW: Final = "18"
_SIXTEENTH: Final = "16"
_FIFTEENTH: Final = "15"
_FOURTEENTH: Final = "14"
_THIRTEENTH: Final = "13"
_TWELFTH: Final = "12"
_ELEVENTH: Final = "11"
_TENTH: Final = "10"
_NINTH: Final = "9"
_EIGHTH: Final = "8"
_SEVENTH: Final = "7"
_SIXTH: Final = "6"
_FIFTH: Final = "5"
_FOURTH: Final = "4"
_THIRD: Final = "3"
_SECOND: Final = "2"
_FIRST: Final = "1"
_SOUND: Final = "0.1.0+62b773d38c8e"
_HASTY: Final = "0.1.0+62a7d65541e4"
# Engines that record the causes of window reductions, which engines 11, 13 and 14 changed over cells. Runs of earlier
# engines lack these causes, so they are still valid.
_WITH_CAUSES: Final = (_THIRTEENTH, _TWELFTH, _ELEVENTH, _TENTH, _NINTH, _EIGHTH, _SEVENTH)
# Matches scenarios that use ECN.
_MARKS: Final = re.compile(r'"ecn": (\{[^}]*"kind": )?"(?!off")')
# The recovery algorithm and the congestion controls that engine 3 changed.
_CHANGED_BY_3: Final = (
    "rack",
    "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "linux-reno", "scalable", "veno", "westwood",
)  # fmt: skip
_OF_DATAGRAMS: Final = ("cbr", "poisson", "on-off", "voice", "video", "arrivals")
# The recoveries, congestion controls and queues that engine 7 changed, and the kinds of datagrams.
_CHANGED_BY_7: Final = (
    *_CHANGED_BY_3, "rfc6675", "bic", "vegas", "bbr", "bbr3",
    "codel", "fq-codel", "pie", "dualpi2",
    *_OF_DATAGRAMS,
)  # fmt: skip
# The recoveries and congestion controls that engine 8 changed.
_CHANGED_BY_8: Final = (*_CHANGED_BY_3, "rfc6675", "bic", "vegas", "bbr", "bbr3", "module")
# Matches ACKs by Linux's rules.
_ACKS_OF_LINUX: Final = r'"ack": (\{[^{}]*"kind": )?"linux"'
# Matches a kind that engine 8 changed, or ACKs by Linux's rules. DCTCP's ECN is matched, too, because it has the same
# name as the congestion control.
_OTHER_IN_8: Final = re.compile(rf': "({"|".join(_CHANGED_BY_8)})"|{_ACKS_OF_LINUX}')
# Matches a kind that engine 10 changed (RACK, CUBIC, a module, or a Python class, whose `base` may be CUBIC), or ACKs
# by Linux's rules.
_OTHER_IN_10: Final = re.compile(rf': "(rack|cubic|module|python)"|{_ACKS_OF_LINUX}')
# Matches a kind that engine 11 changed (BBR; modules and Python classes may have BBR as their `base`), or the trace
# `vc_queue`.
_OTHER_IN_11: Final = re.compile(r': "(bbr|bbr3|module|python)"|"vc_queue": true')
# Matches a kind that engine 12 changed, or the trace `vc_queue`.
_OTHER_IN_12: Final = re.compile(r': "(tbf|policer|cake|jitter|adaptive-video|flow-arrivals)"|"vc_queue": true')
# Matches a kind of traffic for which engine 13 records more.
_OTHER_IN_13: Final = re.compile(r': "(stream|adaptive-video)"')
# Matches a kind that engine 7 changed; or VBR, a time-varying path or a proxy, for which engine 7 computes efficiency
# with another denominator.
_OTHER_IN_7: Final = re.compile(rf': "({"|".join(_CHANGED_BY_7)})"|"(vbr|path|return_path|pep)": \[?\{{')


# Match a kind of datagrams, and a path that may reorder or duplicate packets: jitter, duplication, a time-varying link
# with a free order, or satellites, whose routes change.
_DATAGRAMS: Final = re.compile(rf': "({"|".join(_OF_DATAGRAMS)})"')
_DISORDERS: Final = re.compile(r': "(jitter|duplication)"|"order": "free"|"(path|rerouting)": \{')


def _has_disordered_datagrams(text: str) -> bool:
    """Returns whether datagrams may be reordered or duplicated, which engine 14 counts otherwise."""
    return _DATAGRAMS.search(text) is not None and _DISORDERS.search(text) is not None


# Matches what engine 17 changed: ACKs by Linux's rules, PIE by the RFC, Accurate ECN, Westwood, which a module may be,
# too, and groups of direction "back".
_OTHER_IN_17: Final = re.compile(rf'{_ACKS_OF_LINUX}|"(rfc-8033|ns-3|accurate|westwood|module)"|"direction": "back"')


def _is_changed_by_17(text: str) -> bool:
    """Returns whether engine 17 changed a run; with timestamps, retransmissions are measured in milliseconds."""
    records = _OTHER_IN_8.search(text) is not None
    return _OTHER_IN_17.search(text) is not None or (records and '"timestamps": true' in text)


# Matches CAKE's overhead, framing and minimum length unless they are the defaults.
_COUNTED: Final = re.compile(r'"overhead": -?[1-9]|"framing": "(atm|ptm)"|"mpu": [1-9]')
# Match buffers whose size in packets or cells depends on the length of a full-sized packet, and a token bucket.
_OF_BDP_OR_TIME: Final = re.compile(r'buffer": "[^"]* (BDP|[mnup]?s|min|h)"')
_OF_PACKETS: Final = re.compile(r'buffer": "[^"]* packets"')
_TOKEN_BUCKET: Final = re.compile(r': "(tbf|policer|cake)"')
_WARM_UP: Final = re.compile(r'"warm_up": "(?!0 s")')


def _is_changed_by_15(text: str) -> bool:
    """Returns whether datagrams may determine a buffer's size, or a token bucket the efficiency after a warm-up."""
    in_cells = '"framing": "aal5"' in text and _OF_PACKETS.search(text) is not None
    if _DATAGRAMS.search(text) and (in_cells or _OF_BDP_OR_TIME.search(text)):
        return True
    return _TOKEN_BUCKET.search(text) is not None and _WARM_UP.search(text) is not None


# Match Prague, and what reads SRTT: pacing, and the controls that do so by themselves or may do so.
_PRAGUE: Final = re.compile(r': "prague"')
_READS_SRTT: Final = re.compile(r'"pacing": true|: "(bbr|bbr3|copa|cubic|hybla|module|python|previous|saved)"')


def _has_other_srtt(text: str) -> bool:
    """Returns whether pacing or a control may read an SRTT in ticks, which engine 14 measures exactly."""
    return '"kind": "coarse"' in text and _READS_SRTT.search(text) is not None


def _is_changed_by_14(text: str) -> bool:
    matched = re.search(_ACKS_OF_LINUX, text) or _PRAGUE.search(text)
    return matched is not None or _has_disordered_datagrams(text) or _has_other_srtt(text)


def _is_web_of_cells(text: str) -> bool:
    """Returns whether web files are sent as cells; then bytes in short segments, which engine 7 counts, are unknown."""
    return '"kind": "web"' in text and '"framing": "aal5"' in text


def _traces_queues_of_packets(text: str) -> bool:
    """Returns whether `vc_queue` is traced over IP; until engine 10, some queues did not count all of their packets."""
    return '"vc_queue": true' in text and '"framing": "ip"' in text


# Engines, the latest first, each with a function that tells from a scenario's fields as JSON whether the next engine
# changed its runs; `holds` also checks the causes that engines 11, 13 and 14 changed. Vegas' parameters are in every
# scenario.
_CHANGES: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    (_SIXTEENTH, _is_changed_by_17),
    (_FIFTEENTH, lambda text: '"cake"' in text and _COUNTED.search(text) is not None),
    (_FOURTEENTH, _is_changed_by_15),
    (_THIRTEENTH, _is_changed_by_14),
    (_TWELFTH, lambda text: _OTHER_IN_13.search(text) is not None),
    (_ELEVENTH, lambda text: _OTHER_IN_12.search(text) is not None),
    (_TENTH, lambda text: _OTHER_IN_11.search(text) is not None),
    (_NINTH, lambda text: _OTHER_IN_10.search(text) is not None or _traces_queues_of_packets(text)),
    (_EIGHTH, lambda text: re.search(_ACKS_OF_LINUX, text) is not None),
    (_SEVENTH, lambda text: _OTHER_IN_8.search(text) is not None),
    (_SIXTH, lambda text: _OTHER_IN_7.search(text) is not None or _is_web_of_cells(text)),
    (_FIFTH, lambda text: '"bbr"' in text),
    (_FOURTH, lambda text: '"bic"' in text or ('"rack"' in text and _MARKS.search(text) is not None)),
    (_THIRD, lambda text: '"congestion": "vegas"' in text),
    (_SECOND, lambda text: any(f'"{one}"' in text for one in _CHANGED_BY_3)),
)


def engine_version() -> str:
    """Returns the engine's number as text: only runs of the same engine are used, whatever the package's version."""
    return _core.__engine__


def earlier_names(engine: str) -> tuple[str, ...]:
    """Returns the names that older builds used for this engine, in order of preference."""
    return (
        (
            _SIXTEENTH,
            _FIFTEENTH,
            _FOURTEENTH,
            _THIRTEENTH,
            _TWELFTH,
            _ELEVENTH,
            _TENTH,
            _NINTH,
            _EIGHTH,
            _SEVENTH,
            _SIXTH,
            _FIFTH,
            _FOURTH,
            _THIRD,
            _SECOND,
            _FIRST,
            _SOUND,
            _HASTY,
        )
        if engine == _NOW
        else ()
    )


def holds(name: str, fields: Mapping[str, Any]) -> bool:
    """Returns whether an earlier engine's runs of a scenario with these fields are valid for this engine."""
    network, text = fields["network"], json.dumps(fields)
    if name in _WITH_CAUSES and '"framing": "aal5"' in text:
        return False
    for before, is_changed in _CHANGES:
        if is_changed(text):
            return False
        if name == before:
            return True
    if '"timestamps": true' in text or any(one.get("tcp") for one in network.get("group") or ()):
        return False
    return name != _HASTY or (network["kind"] == "dumbbell" and not network.get("vbr"))


def adopt(connection: sa.Connection) -> None:
    """Assigns this engine's number to runs that are stored under earlier names, if they are valid for it."""
    import sqlalchemy as sa

    from longpipe.store.schema import FAILURES, RUNS, STUDIES

    for name in earlier_names(_NOW):
        holding = [{"of": digest} for digest in _holding(connection, name)]
        for table in (RUNS, FAILURES):
            there = table.alias()
            known = sa.exists().where(
                there.c.digest == table.c.digest, there.c.seed == table.c.seed, there.c.engine == _NOW
            )
            named = sa.and_(table.c.engine == name, table.c.digest == sa.bindparam("of"), ~known)
            if holding:
                connection.execute(sa.update(table).where(named).values(engine=_NOW), holding)
        connection.execute(sa.update(STUDIES).where(STUDIES.c.engine == name).values(engine=_NOW))


def _holding(connection: sa.Connection, name: str) -> Iterable[str]:
    """Returns the digests of the scenarios whose runs by the engine with an earlier name are still valid."""
    import sqlalchemy as sa

    from longpipe.store.schema import FAILURES, RUNS, SCENARIOS

    of_name = sa.exists().where(RUNS.c.digest == SCENARIOS.c.digest, RUNS.c.engine == name)
    failed = sa.exists().where(FAILURES.c.digest == SCENARIOS.c.digest, FAILURES.c.engine == name)
    query = sa.select(SCENARIOS.c.digest, SCENARIOS.c.fields).where(of_name | failed)
    for digest, fields in connection.execute(query):
        # A scenario from a store of version 1 has no fields, so its network is unknown.
        if holds(name, json.loads(fields)) if fields is not None else name != _HASTY:
            yield digest
