"""Reads captures with tshark, with tcptrace, and with a parser of pcapng blocks."""

import io
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pandas as pd
import pytest

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
needs_tcptrace = pytest.mark.skipif(shutil.which("tcptrace") is None, reason="tcptrace is not installed")

# All findings that tshark's TCP analysis may report about a packet.
ANALYSIS: Final = (
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "lost_segment",
    "ack_lost_segment",
    "window_full",
    "zero_window",
    "window_update",
    "keep_alive",
    "reused_ports",
)


def tshark(path: Path, *fields: str, preferences: tuple[str, ...] = (), resolve: str = "") -> pd.DataFrame:
    """Returns a row per packet with the given fields as text; absent fields are NaN.

    `resolve` is the argument of tshark's option -N.
    """
    naming = ["-N", resolve] if resolve else ["-n"]
    command = ["tshark", *naming, "-r", str(path), "-T", "fields", "-E", "separator=;"]
    for preference in preferences:
        command += ["-o", preference]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return pd.read_csv(io.StringIO(done.stdout), sep=";", header=None, names=list(fields), dtype=str)


def analysis(path: Path) -> dict[str, int]:
    """Returns the number of packets for each finding of tshark's TCP analysis, and the number that it cannot dissect."""
    return analyzed(path)[0]


def analyzed(path: Path, *more: str) -> tuple[dict[str, int], pd.DataFrame]:
    """Returns the results of `analysis`, and the packets with further fields."""
    fields = {name: f"tcp.analysis.{name}" for name in ANALYSIS} | {"malformed": "_ws.malformed"}
    packets = tshark(path, "frame.number", *fields.values(), *more)
    return {name: int(packets[field].notna().sum()) for name, field in fields.items()}, packets


def tcptrace_retransmitted(path: Path) -> int:
    """Returns the number of data packets that tcptrace counts as retransmitted, over all connections."""
    done = subprocess.run(["tcptrace", "-nl", str(path)], capture_output=True, text=True, check=True)
    return sum(map(int, re.findall(r"rexmt data pkts:\s+(\d+)", done.stdout)))


def packets(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """Returns time [ns], captured bytes and length of every packet of a pcapng file, by parsing its blocks."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + size - 4) == (size,)
        if kind == 6:
            _, high, low, captured, length = struct.unpack_from("<5I", data, at + 8)
            yield (high << 32) + low, data[at + 28 : at + 28 + captured], length
        at += size


def with_payload(path: Path, to: Path) -> Path:
    """Writes the packets, with zeros as payload, to a classic pcap file of IP packets, and returns its path."""
    with to.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101))
        for at, captured, length in packets(path):
            file.write(struct.pack("<4I", *divmod(at, 10**9), length, length) + captured.ljust(length, b"\0"))
    return to
