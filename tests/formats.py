"""Every file format that longpipe reads, with example files and the function that reads and checks a file."""

import gzip
import json
import random
import re
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from longpipe import own_stacks
from longpipe.analysis.anova import anova
from longpipe.cautions.cautions import cautions
from longpipe.controls import isolation, sources
from longpipe.design import Design, Factor
from longpipe.errors import RunError, ScenarioError
from longpipe.examples import EXAMPLES, example
from longpipe.fit import observe
from longpipe.inputs import load_json
from longpipe.inputs.frame import column_named, in_base_units, read_frame
from longpipe.live import replay
from longpipe.measured import read as read_measured
from longpipe.run import simulate
from longpipe.satellites import Constellation
from longpipe.satellites.hypatia import LINKS, SATELLITES
from longpipe.scenario import Scenario
from longpipe.store import Store, studies
from longpipe.study import Study, bundle
from longpipe_evidence.papers.report.folder import RECORD, records
from longpipe_evidence.validate import linux_paths
from longpipe_evidence.validate.packetdrill import run_script
from mutations import mutated
from test_live_records import arrival, end, record
from test_own_stacks import code, path

ROOT: Final = Path(__file__).parent.parent
MEASURED: Final = ROOT / "tests/data/measured"
MODULES: Final = ROOT / "tests/data/modules"
_HEADER: Final = re.compile(rb"\s*\[+[\w.]+\]+")
FADE: Final = b"time,esn0 [dB]\n0,12.5\n5,3 dB\n10 s,9\n"
TLE: Final = b"""ISS (ZARYA)
1 25544U 98067A   20045.18587073  .00000950  00000-0  25302-4 0  9990
2 25544  51.6443 242.0161 0004885 264.6060 207.3845 15.49165514212791
"""
OMM: Final[dict[str, Any]] = {
    "OBJECT_NAME": "ISS (ZARYA)", "OBJECT_ID": "1998-067A", "CENTER_NAME": "EARTH", "REF_FRAME": "TEME", "TIME_SYSTEM": "UTC",
    "MEAN_ELEMENT_THEORY": "SGP4", "EPOCH": "2020-02-14T04:27:39.231072", "MEAN_MOTION": 15.49165514, "ECCENTRICITY": 0.0004885,
    "INCLINATION": 51.6443, "RA_OF_ASC_NODE": 242.0161, "ARG_OF_PERICENTER": 264.606, "MEAN_ANOMALY": 207.3845,
    "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U", "NORAD_CAT_ID": 25544, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 21279,
    "BSTAR": 2.5302e-05, "MEAN_MOTION_DOT": 9.5e-06, "MEAN_MOTION_DDOT": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A format by name: example files, suffix, reader, and mutation.

    If a reader returns text, this is the outcome.
    """

    name: str
    seeds: tuple[bytes, ...]
    suffix: str
    read: Callable[[Path], str | None]
    mutated: Callable[[bytes, random.Random, list[bytes]], bytes] = mutated


def _scenario(file: Path) -> None:
    cautions(Scenario.from_toml(file))


def _over(**path: object) -> None:
    network: dict[str, Any] = {"kind": "dumbbell", "sources": 1, "path": path}
    cautions(
        Scenario(defaults="1996", framing="ip", duration="10 s", network=network, switch={"buffer": "100 packets"})
    )


def _path(file: Path) -> None:
    _over(file=str(file))


def _es_n0(file: Path) -> None:
    _over(symbol_rate="10 Mbaud", file=str(file))


def _modcods(file: Path) -> None:
    _over(symbol_rate="10 Mbaud", esn0=[["0 s", 9.0]], modcods=str(file))


def _arrivals(file: Path) -> None:
    traffic = {"kind": "arrivals", "file": str(file)}
    cautions(Scenario(defaults="1996", framing="ip", duration="1 s", traffic=traffic, switch={"buffer": "100 packets"}))


def _runs(file: Path) -> None:
    frame = read_frame(file, "a CSV file with a header")
    frame, _ = in_base_units(frame, column_named(frame, "rate"))
    anova(frame, column_named(frame, "rate"), ("tcp", "buffer"))


def _satellites(file: Path) -> None:
    Constellation.of_file(file)


def _script(file: Path) -> str:
    return str(run_script(file))


def _scheduler(file: Path) -> None:
    load_json(file, "a scheduler file of Dask")


def _reproduction(file: Path) -> None:
    file.replace(file.with_name(RECORD))
    for part in records(file.parent).values():
        list(part["files"])


def _store(file: Path) -> None:
    with closing(Store(file, readonly=True)) as store:
        for one in studies.overview(store):
            Study.open(one.name, store).frame()


def _run(study: Study) -> None:
    """Runs a study in a thread, because every process that collects the tests would start a pool of processes."""
    with ThreadPoolExecutor(1) as pool:
        study.run(executor=pool)


def _stored() -> bytes:
    """Returns a store with a study of two points."""
    base = Scenario(defaults="1996", name="lan", duration="2 ms")
    design = Design.full_factorial(base, [Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        with closing(Store(file)) as store:
            _run(Study(design, store, "small"))
        return file.read_bytes()


def _replayed(file: Path) -> None:
    replay(file)


def _recorded() -> bytes:
    """Returns a record of a live run: three packets and the end of the run."""
    with tempfile.TemporaryDirectory() as folder:
        entries = arrival(0) + arrival(10**9, circuit=1) + arrival(10**10) + end(10**11, 3)
        return record(Path(folder) / "a.live", entries).read_bytes()


def _captured() -> bytes:
    """Returns a capture of 30 ms of a simulated flow."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.pcapng"
        simulate(Scenario(defaults="1996", duration="30 ms"), captures={"host:source1": file})
        return file.read_bytes()


def _round_trips() -> bytes:
    """Returns three RTTs in irtt's format; the last probe is lost."""
    trips = [
        {
            "seqno": k, "lost": rtt is None, "delay": {} if rtt is None else {"receive": rtt // 2, "rtt": rtt, "send": rtt // 2},
            "timestamps": {"client": {"send": {"wall": 1508180723000000000 + sent, "monotonic": sent}}},
        }
        for k, (sent, rtt) in enumerate(((2776704, 134460), (202856692, 99455), (402975335, None)))
    ]  # fmt: skip
    return json.dumps({"version": {"irtt": "0.9"}, "round_trips": trips}).encode()


def _bundle(file: Path) -> None:
    bundle.read(file)


def _bundled() -> bytes:
    """Returns a bundle of a study of two runs."""
    factor = Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")
    design = Design.full_factorial(Scenario(defaults="1996", name="lan", duration="2 ms"), [factor])
    with tempfile.TemporaryDirectory() as folder, closing(Study(design, Store(), "small")) as study:
        _run(study)
        file = Path(folder) / "small.zip"
        bundle.write(study, file)
        return file.read_bytes()


def _jitter(file: Path) -> None:
    jitter = {"kind": "jitter", "delay": "20 ms", "jitter": "5 ms", "distribution": str(file)}
    network = {"kind": "dumbbell", "sources": 1, "conditioners": [jitter]}
    cautions(Scenario(defaults="1996", framing="ip", network=network, switch={"buffer": "100 packets"}))


def _links_of_satellites(file: Path) -> None:
    # The folder's name contains the file's name, so that errors name the file.
    folder = Path(f"{file}-folder")
    folder.mkdir(exist_ok=True)
    (folder / SATELLITES).write_bytes(b"3 1\n" + TLE * 3)
    file.replace(folder / LINKS)
    Constellation.of_file(folder)


def _of_linux_paths() -> bytes:
    """Returns the results of two runs in Linux."""
    return b"".join((ROOT / "tests/data/linux/control-paths.csv").read_bytes().splitlines(keepends=True)[:3])


def _linux_paths(file: Path) -> None:
    found = linux_paths.read(file)
    linux_paths.missing(found, linux_paths.CONTROLS, 2)


def _measured(file: Path) -> None:
    read_measured(file).as_json()


def _observed(file: Path) -> None:
    observe(file)


def _of_tools(*names: str) -> tuple[bytes, ...]:
    """Returns files of measurement tools, decompressed."""
    found = ((MEASURED / name).read_bytes() for name in names)
    return tuple(gzip.decompress(one) if one.startswith(b"\x1f\x8b") else one for one in found)


def _toml() -> Iterator[bytes]:
    for name in EXAMPLES:
        text = example(name)
        # Routes over a constellation take seconds to compute, whatever the file contains.
        if "shell" not in text:
            yield text.encode()
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        yield file.read_bytes()


_SHORT: Final = Scenario(
    defaults="1996",
    framing="ip", duration="200 ms", tcp={"profile": "linux-6"}, switch={"buffer": "20 packets"},
    network={"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "trunk_delay": "5 ms"},
)  # fmt: skip


def _headers(content: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Returns a TOML file with one damaged header of a table, or none, and with other mutations in a part of the cases."""
    lines = content.split(b"\n")
    if headers := [place for place, line in enumerate(lines) if _HEADER.match(line)]:
        place = draw.choice(headers)
        line, name = lines[place], lines[draw.choice(headers)].strip(b"[] ")
        lines[place] = draw.choice(
            (
                b"",
                line.strip(b"[]"),
                line[1:],
                line[:-1],
                b"[" + line,
                line + b"\n" + line,
                line.replace(b"t", b""),
                b"[" + name + b"]",
            )
        )
    found = b"\n".join(lines)
    return found if draw.random() < 0.8 else mutated(found, draw, others)


def _headed(file: Path) -> None:
    """Reads a scenario; raises TypeError if it lists the fields of one table in several lines."""
    try:
        _scenario(file)
    except ScenarioError as error:
        tables = [line.partition(": ")[0].rpartition(".")[0] for line in error.problems if ": unknown field" in line]
        if any(tables.count(table) > 3 for table in tables):
            raise TypeError(f"a line for each field: {error}") from None
        raise


def _module(file: Path) -> None:
    """Runs a module; raises TypeError if it ends the process, whose sandbox a WebAssembly module cannot leave."""
    control = {"kind": "module", "file": str(file)}
    with patch.object(isolation, "CALL_CPU_S", 0.3):
        try:
            simulate(_SHORT.with_(**{"tcp.congestion": control}), seed=1)
        except RunError as error:
            if re.search(r"crashed|exit status|closed the|Panic|killed", str(error)):
                raise TypeError(f"the process ended: {error}") from None
            raise


def _end(file: Path) -> None:
    simulate(path({"file": str(file), "stack": "window"}, duration="100 ms"), seed=1)


def _object(source: str, include: Path) -> bytes:
    """Returns a shared object compiled from C code."""
    with tempfile.TemporaryDirectory() as folder:
        (made := Path(folder) / "a.c").write_text(source)
        target = made.with_suffix(".so")
        subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-I", include, made, "-o", target], check=True)
        return target.read_bytes()


def _versions(content: bytes, draw: random.Random, _others: list[bytes]) -> bytes:
    """Returns an object with another version or length of its interface; other mutations could crash the process."""
    table = re.search(rb"\x01\0\0\0[\x30-\xff]\0\0\0" + rb"(?=.{4}\0{4})", content, re.DOTALL)
    assert table is not None
    version, size = struct.unpack("<II", content[table.start() : table.start() + 8])
    others = (0, 2, 1 << 31, (1 << 32) - 1, size - 8, size + 8, draw.getrandbits(32), draw.getrandbits(8))
    words = draw.choice(
        ((draw.choice(others), size), (version, draw.choice(others)), (draw.choice(others), draw.choice(others)))
    )
    return content[: table.start()] + struct.pack("<II", *words) + content[table.start() + 8 :]


def _kvn() -> bytes:
    head = {"CCSDS_OMM_VERS": "2.0", "CREATION_DATE": "2020-02-14T05:00:00", "ORIGINATOR": "CSSI"}
    return "".join(f"{name} = {value}\n" for name, value in {**head, **OMM}.items()).encode()


def _xml() -> bytes:
    parts = {name: f"<{name}>{value}</{name}>" for name, value in OMM.items()}
    about, orbit = list(parts)[:6], list(parts)[6:]
    segment = (
        f"<segment><metadata>{''.join(parts[n] for n in about)}</metadata>"
        f"<data><meanElements>{''.join(parts[n] for n in orbit)}</meanElements></data></segment>"
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ndm><omm><body>\n{segment}\n{segment}</body></omm></ndm>\n'.encode()
    )


def _table() -> bytes:
    rows = [(a, b, n) for a in ("reno", "sack") for b in ("1 BDP", "2 BDP") for n in (4.0, 4.2, 5.1)]
    return ("tcp,buffer,rate [Mbit/s]\n" + "".join(f"{a},{b},{n + len(a + b) % 3}\n" for a, b, n in rows)).encode()


CSV: Final = (
    b"time,rate,delay,loss\n0,10 Mbit/s,0.02,\n1.5,5e6,30 ms,0.25\n2,,,0\n",
    b"time [ms];rate [Mbit/s];rtt [ms]\r\n1686019808780;4;60\r\n1686019809780;3.5;61.5\r\n",
    b"time_s,from,to,rtt_ns,links\n0,a,b,40000000,4\n1,a,b,,0\n3,a,b,60000000.5,6\n",
    b"timestamp,rtt,uplink,downlink\n1705744800616897349,0,0,-1\n1705744800626565141,120.126123,72.4,47.6\n",
)
LENS_PING: Final = b"timestamp,rtt\n1705744800.533641,91.8\n1705744800.55492,-1\n"
SQLOG: Final = (
    b'\x1e{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"vantage_point":{"type":"client"}}}\n'
    b'\x1e{"time":1.5,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":1},"raw":{"length":1200}}}\n'
    b'\x1e{"time":51,"name":"quic:packet_received","data":{"header":{"packet_type":"1RTT"},"frames":[{"acked_ranges":[[0,1]]}]}}\n'
    b'\x1e{"time":51,"name":"quic:recovery_metrics_updated","data":{"congestion_window":14000,"latest_rtt":50.5}}\n'
)
_MESSAGE: Final = b'{"TCPInfo":{"ElapsedTime":250000,"BytesAcked":1000,"RTT":20000,"MinRTT":18000,"BytesRetrans":0},"Test":"download"}'
NDT7: Final = (
    b'{"Version":"v0.20","Download":{"StartTime":"2026-01-02T03:04:05Z","ServerMeasurements":[' + _MESSAGE + b"]}}"
)
NDT7_LINES: Final = _MESSAGE + b"\n" + _MESSAGE.replace(b"250000", b"500000") + b"\n"
ATLAS: Final = b'{"fw":5080,"type":"ping","prb_id":1,"dst_name":"example.org","timestamp":1700000000,"result":[{"rtt":12.5},{"x":"*"}]}'
NDT7_CLIENT: Final = b"".join(
    b'{"Key":"measurement","Value":%s}\n' % _MESSAGE.replace(b"250000", at) for at in (b"250000", b"500000")
)
PICOQUIC: Final = (
    b'{"qlog_version":"draft-00","traces":[{"configuration":{"time_units":"us"},"common_fields":{"reference_time":"1795860000000000"},'
    b'"event_fields":["relative_time","category","event","data"],"events":[[0,"transport","packet_sent",{"packet_type":"1RTT",'
    b'"header":{"packet_size":1440,"packet_number":"0"}}],[40000,"transport","packet_received",{"packet_type":"1RTT","header":{},'
    b'"frames":[{"acked_ranges":[[0,0]]}]}],[40000,"recovery","metrics_updated",{"cwnd":15360,"latest_rtt":40000}]]}]}'
)
SECONDS: Final = (
    SQLOG.replace(b'"latest_rtt":50.5', b'"latest_rtt":0.0505,"bytes_in_flight":1200')
    + SQLOG.splitlines(keepends=True)[3] * 3
)
DISH: Final = (
    b'{"dishGetHistory":{"current":"5","popPingDropRate":[0,1,0.5],"popPingLatencyMs":[20,21,22.5],"downlinkThroughputBps":[1e6,2e6,0],'
    b'"uplinkThroughputBps":[8,8,8]}}',
    b'{"dishGetStatus":{"deviceState":{"uptimeS":"9"},"popPingLatencyMs":22.5,"popPingDropRate":0.5}}\n' * 2,
    b"datetimestamp_utc,pop_ping_drop_rate,pop_ping_latency_ms,downlink_throughput_bps\n2026-11-28T10:00:00,0,25.5,8\n",
)
PINGS: Final = (
    b"PING 192.0.2.7 (192.0.2.7): 56 data bytes\n64 bytes from 192.0.2.7: seq=0 ttl=119 time=21.643 ms\n"
    b"64 bytes from 192.0.2.7: seq=2 ttl=119 time=20.940 ms\n\n--- 192.0.2.7 ping statistics ---\n4 packets transmitted, 2 packets received, 50% packet loss\n",
    b"\r\nPinging a [192.0.2.7] with 32 bytes of data:\r\nReply from 192.0.2.7: bytes=32 time=20ms TTL=53\r\nRequest timed out.\r\n",
    b"[1795860000.50000] 192.0.2.7 : [0], 64 bytes, 20.5 ms (20.5 avg, 0% loss)\n192.0.2.8 : [1], timed out (20.5 avg, 50% loss)\n",
    b"192.0.2.7 : 20.5 - 32.5\n", b"10:00:01.5 64 bytes from 192.0.2.7: icmp_seq=1 ttl=5 time=1.5 ms\n",
)  # fmt: skip
FPING_JSON: Final = (
    b'{"resp": {"timestamp": "1795860000.50000", "host": "a", "seq": 0, "size": 64, "rtt": 5.12}}\n'
    b'{"timeout": {"timestamp": "1795860001.50000", "host": "a", "seq": 1}}\n'
    b'{"summary": {"host": "a", "xmt": 2, "rcv": 1, "loss": 50, "rttMin": 5.12, "rttAvg": 5.12, "rttMax": 5.12}}\n',
    b'{"vSum": {"host": "192.0.2.7", "values": [0.054, null, 0.081]}}\n{"stats": {"targets": 1}}\n',
)
STARNET: Final = (
    b"2024-05-01 12:00:13.4 TP: 181 Mbits/sec\n2024-05-01 12:00:13.7 Lt: 41.2 ms\n2024-05-01 12:00:14.4 TP: 202 Mbits/sec\n",
    b",timestamp,throughput,latency,sat_name\n0,2024-05-01 12:00:13,181.5,41.2,STARLINK-1\n1,2024-05-01 12:00:14,202,nan,STARLINK-1\n",
)
WETLINKS: Final = (
    b"site_name,timestamp_start,timestamp_end,target,ip_protocol,packet_loss,packets_send,ping_avg\n"
    b"a,2023-09-28 12:33:03.1,2023-09-28 12:33:29.1,192.0.2.7,ipv4,0.390625,256,51.5\n",
    b"site_name,timestamp_start,timestamp_end,server,download,upload\na,2023-09-28 12:33:03,2023-09-28 12:33:04,b,100,\n",
    b"site_name,timestamp,uplink,downlink,pop_ping_latency,ping_drop\na,2023-09-28 12:33:03,1.5,100,41.5,0\n",
)
IPERF2: Final = (
    b"Client connecting to 192.0.2.2, TCP port 5001\n[  1] local 192.0.2.1 port 4 connected with 192.0.2.2 port 5001\n"
    b"[  1] 0.0000-1.0000 sec  1.25 MBytes  10.5 Mbits/sec  11/0         3       29K/21088(1142) us  68.37\n",
    b"[  3] local 192.0.2.1 port 4 connected with 192.0.2.2 port 5001\n[  3]  0.0- 1.0 sec   128 KBytes  1.05 Mbits/sec   0.008 ms    2/   89 (2.2%)\n",
    b"20261128100000,192.0.2.1,40000,192.0.2.2,5001,3,0.0-1.0,1312500,10500000\n",
)  # fmt: skip
_STATE: Final = (
    b"ESTAB 0 10 1.2.3.4:5 6.7.8.9:10\n1795860000.2 \t cubic rto:204 rtt:3.25/1.5 mss:1448 cwnd:10 bytes_acked:9\n"
)
STAMPED: Final = b"1795860000.1 State Recv-Q Send-Q Local Peer\n1795860000.2 " + _STATE + b"1795860001.2 " + _STATE
MM_LINK: Final = (
    b"# mahimahi mm-link (up) [uplink]\n# base timestamp: 100\n100 + 1504\n110 d 1 1504\n120 # 1504\n120 - 1504 20\n"
)
FORMATS: Final = (
    Format("scenario", tuple(_toml()), ".toml", _scenario),
    Format("headers", tuple(_toml()), ".toml", _headed, _headers),
    Format("webassembly", ((MODULES / "control.wasm").read_bytes(),), ".wasm", _module),
    Format("object", (_object((MODULES / "control.c").read_text(), sources.INCLUDE),), ".so", _module, _versions),
    Format("own-stack", (_object(code("window.c"), own_stacks.INCLUDE),), ".so", _end, _versions),
    Format("path", (*CSV, LENS_PING), ".csv", _path),
    Format("es-n0", (FADE,), ".csv", _es_n0),
    Format("modcods", (b"modcod,esn0,efficiency\nfast,8,2\nslow,0.5,0.25\n",), ".csv", _modcods),
    Format("arrivals", (b"time,bytes\n0,100\n0.5,200\n500 ms,1 KB\n",), ".csv", _arrivals),
    Format("schedule", (b"0\n2\n2\n5\n",), ".down", _path),
    Format("irtt", (_round_trips(),), ".json", _path),
    Format("irtt-gzip", (gzip.compress(_round_trips(), mtime=0),), ".json.gz", _path),
    Format("runs", (_table(), b"tcp;buffer;rate\na;1;4 Mbit/s\na;2;5 Mbit/s\nb;1;7 Mbit/s\nb;2;9 Mbit/s\n"), ".csv", _runs),
    Format("tle", (TLE, b"1 22\n" + TLE + TLE.partition(b"\n")[2]), ".tle", _satellites),
    Format("omm-json", (json.dumps([OMM, OMM]).encode(),), ".json", _satellites),
    Format("omm-csv", (",".join(OMM).encode() + b"\n" + ",".join(map(str, OMM.values())).encode() + b"\n",), ".csv", _satellites),
    Format("omm-xml", (_xml(),), ".xml", _satellites),
    Format("omm-kvn", (_kvn(), _kvn() + _kvn()), ".txt", _satellites),
    Format("hypatia", (b"0 1\n1 2\n\n2 0\n",), ".txt", _links_of_satellites),
    Format("jitter", (b"# a table of tc\n-8192 -4096\t0 # of three\n4096 8192 +16384\n",), ".dist", _jitter),
    Format("packetdrill", tuple(file.read_bytes() for file in sorted((ROOT / "tests/data/packetdrill").glob("*.pkt"))), ".pkt", _script),
    Format("live-record", (_recorded(),), ".live", _replayed),
    Format("scheduler", (b'{"type": "Scheduler", "address": "tcp://127.0.0.1:8786", "workers": {}}',), ".json", _scheduler),
    Format("store", (_stored(),), ".db", _store),
    Format("bundle", (_bundled(),), ".zip", _bundle),
    Format("linux-paths", (_of_linux_paths(),), ".csv", _linux_paths),
    Format("reproduction", (b'{"reproduction": {"document": "frr-96", "files": {"report.json": "0a"}}}',), ".json", _reproduction),
    Format("pcap", _of_tools("offload.pcap"), ".pcap", _measured),
    Format("pcapng", (_captured(),), ".pcapng", _measured),
    Format("fit", _of_tools("linux-cubic.pcap.gz"), ".pcap", _observed),
    Format("iperf3", _of_tools("iperf3.json.gz", "iperf3-parallel.json.gz", "iperf3-udp.json.gz"), ".json", _measured),
    Format("irtt-measured", _of_tools("irtt.json.gz"), ".json", _measured),
    Format("ss", (*_of_tools("ss.txt.gz"), STAMPED), ".txt", _measured),
    Format("ping", _of_tools("ping.txt"), ".txt", _measured),
    Format("ping-text", PINGS, ".txt", _measured),
    Format("iperf2", IPERF2, ".txt", _measured),
    Format("dish", DISH, ".json", _measured),
    Format("fping-json", FPING_JSON, ".json", _measured),
    Format("wetlinks", WETLINKS, ".csv", _measured),
    Format("starnet", STARNET, ".log", _measured),
    Format("tc", _of_tools("tc.txt", "tc.json"), ".txt", _measured),
    Format("flent", _of_tools("ping.flent.gz"), ".flent", _measured),
    Format("qlog", (_of_tools("aioquic.qlog.gz")[0][:20_000].rpartition(b", {")[0] + b"]}]}", SQLOG, PICOQUIC, SECONDS), ".qlog", _measured),
    Format("ndt7", (NDT7, NDT7_LINES, NDT7_CLIENT), ".json", _measured),
    Format("atlas", (ATLAS, b"[" + ATLAS + b"]"), ".json", _measured),
    Format("lens", (CSV[3], LENS_PING), ".csv", _measured),
    Format("mm-link", (MM_LINK, b"0\n2\n2\n5\n"), ".log", _measured),
    Format("pantheon", (b"# tunnel egress: 1700000000000.5\n0.5 - 1 - 1500\n", b"0.1 + 1500 1\n30.1 - 1500 30.0 1\n"), ".log", _measured),
    Format("pensieve", (b"0.5\t1.25\n1.5\t3\n2.5 0\n",), ".txt", _measured),
)  # fmt: skip
