"""Names of files that longpipe does not read, by what they look like."""

from __future__ import annotations

import re
from typing import Any, Final

from longpipe.errors import ScenarioError, plain, shortened, shown
from longpipe.inputs.table import heads_of
from longpipe.measured.content import Content

# First bytes of binary files, and what to do with them.
_MAGICS: Final = {
    b"PK\x03\x04": "a ZIP archive: extract the file",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive: extract the file",
    b"Rar!": "a RAR archive: extract the file",
    b"\x04\x22\x4d\x18": "a file compressed with lz4: decompress it",
    b"\x1f\x9d": "a file compressed with compress (.Z): decompress it",
    b"LZIP": "a file compressed with lzip: decompress it",
    b"snoop\0\0\0": "a capture of Solaris snoop: convert it with `editcap -F pcapng`",
    b"GMBU": "a capture of Microsoft Network Monitor: convert it with `editcap -F pcapng`",
    b"TRSNIFF data": "a capture of Sniffer: convert it with `editcap -F pcapng`",
    b"XCP\0": "a capture of NetXRay: convert it with `editcap -F pcapng`",
    b"\x52\x54\x53\x53": "a capture of RTSS: convert it with `editcap -F pcapng`",
    b"btsnoop\0": "a capture of Bluetooth",
    b"SQLite format 3\0": "a database of SQLite: `longpipe study` reads stores of longpipe",
    b"PAR1": "a table in Parquet format",
    b"\x7fELF": "a program",
    b"MZ": "a program of Windows",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a PNG image",
    b"\xff\xfe\0\0": "text in UTF-32: convert it to UTF-8",
    b"\0\0\xfe\xff": "text in UTF-32: convert it to UTF-8",
}
_TAR: Final = (257, b"ustar")
# Patterns at the beginning of lines, and the tool that writes them.
_TEXTS: Final = tuple(
    (re.compile(rf"^(?:{pattern})", re.MULTILINE), name)
    for pattern, name in (
        (r"\d\d:\d\d:\d\d\.\d{6} (?:IP6?|ARP|\S+ (?:In|Out) )", "text of tcpdump: read the file of `tcpdump -w`"),
        (r" *\d+ +\d+\.\d+ +\S+ → \S+ ", "text of tshark: read the capture itself"),
        (r"Frame \d+: \d+ bytes on wire", "text of tshark -V: read the capture itself"),
        (r"Connecting to host |-{59}\nServer listening", "text of iperf3, which lacks most values: use `iperf3 -J`"),
        (r"traceroute6? to ", "traceroute, which has no series over time"),
        (r"Tracing route to ", "tracert of Windows, which has no series over time"),
        (r"(?:Start: .*\n)?HOST: .*Loss%", "a report of mtr, which has no series over time"),
        (r"(?:MIGRATED )?(?:TCP|UDP)[ _].* TEST from ", "netperf, whose results have no intervals; run it from flent"),
        (r"Testing (?:download|from) |Retrieving speedtest\.net| +Speedtest by", "a speed test, which has no series"),
        (r"download in progress with |Avg\. speed +:|Test results\n", "text of ndt7-client: use -format=json"),
        (r"This is ApacheBench|Running .* test @ http|wrk \d", "a benchmark of HTTP, which has no series of a path"),
        (r"--- owping statistics|--- twping statistics", "owping or twping of perfSONAR"),
        (r" *\d+\.\d+ MB / +\d+\.\d+ sec = ", "nuttcp"),
        (r"Active Internet connections|Proto Recv-Q Send-Q Local Address", "netstat: use `ss -tin`"),
        (r"\d+: \w+: <.*> mtu ", "`ip link` or `ip address`: use `tc -s qdisc` or `ss -tin`"),
        (r"NIC statistics:", "ethtool -S"),
        (r"<!DOCTYPE html|<html", "a page in HTML"),
        (r"<\?xml|<pdml|<psml", "XML, such as PDML of Wireshark: read the capture itself"),
        (r"\[\w[\w.-]*\]\s*$|\w+ *= *[\"'\d\[{]", "TOML or INI, such as a scenario: use `longpipe run`"),
    )
)  # fmt: skip
# Keys of JSON objects, and the tool that writes them.
_KEYS: Final = (
    (("report", "mtr"), "mtr --json, which has no series over time"),
    (("log", "creator"), "HAR of a browser, which contains requests, not packets"),
    (("constants", "events"), "a NetLog of Chrome"),
    (("_source", "layers"), "JSON of tshark: read the capture itself"),
    (("download", "upload", "ping"), "a speed test, which has no series"),
    (("ping", "download", "result"), "Ookla's speed test, which has no series"),
    (("ServerFQDN", "Download"), "the summary of ndt7-client: use -format=json"),
    (("traceEvents",), "a trace of Chrome or Perfetto"),
    (("cwnd_bytes",), "a trace of longpipe"),
)  # fmt: skip
_MAX_KEYS: Final = 6


def looks_like(content: Content) -> str:
    """Returns a clause that names what the content looks like, as in "looks like a ZIP archive: extract the file"."""
    data = content.data
    name = next((name for magic, name in _MAGICS.items() if data.startswith(magic)), None)
    at, magic = _TAR
    if data[at : at + len(magic)] == magic:
        name = "a tar archive: extract the file"
    if name is None and b"\0" in data[:1000] and "\0" in content.begins[:1000]:
        name = "binary data"
    if name is None and content.is_json:
        return _of_json(content)
    if name is None:
        head = "\n".join(content.begins.splitlines()[:20])
        name = next((name for pattern, name in _TEXTS if pattern.search(head)), None)
    if name is None:
        heads = heads_of(content.begins.partition("\n")[0].rstrip("\r")[:1000])
        if len(heads) > 1 and all(re.fullmatch(r"[A-Za-z_][\w .\[\]()/%-]{0,40}", head) for head in heads):
            name = f"a table with the columns {shortened(', '.join(heads), 100)}"
    if name is None:
        return f"begins with {shown(content.begins[:40])}, which no known tool writes"
    return f"looks like {name}"


def _of_json(content: Content) -> str:
    """Returns what JSON content looks like, for the message about an unknown file."""
    try:
        value: Any = content.json_values[0][1]
    except ScenarioError:
        return f"begins with {shown(content.begins[:40])} like JSON, but has no whole value"
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return f"looks like JSON, but not like a tool's result: {shortened(plain(repr(first)), 60)}"
    inner = {key for table in first.values() if isinstance(table, dict) for key in table}
    for keys, name in _KEYS:
        if all(key in first or key in inner for key in keys):
            return f"looks like {name}"
    listed = ", ".join(plain(shortened(str(key), 40)) for key in list(first)[:_MAX_KEYS])
    return f"looks like JSON of an unknown tool, with the keys {listed or 'none'}"
