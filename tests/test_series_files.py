"""CSV files with paths, Es/N0, datagrams and runs: encodings, headers, units, Unix times, and errors."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commands import run
from longpipe import Scenario, ScenarioError, measured
from longpipe.cautions.cautions import cautions
from longpipe.cautions.files import read_from_files
from longpipe.scenario.rows import _short
from longpipe.units import TIME

MS = 10**9
S = 10**12


def over(file: Path, **path: object) -> Scenario:
    network: dict[str, Any] = {"kind": "dumbbell", "sources": 1, "path": {"file": str(file), **path}}
    return Scenario(defaults="1996", framing="ip", duration="1 s", network=network, switch={"buffer": "100 packets"})


def written(folder: Path, text: str | bytes, name: str = "path.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def rates(scenario: Scenario) -> list[list[int]]:
    found: list[list[int]] = scenario.resolve()["links"][2]["motion"]["service"]["steps"]
    return found


def delays(scenario: Scenario) -> list[list[int]]:
    found: list[list[int]] = scenario.resolve()["links"][2]["motion"]["delay"]["knots_ps"]
    return found


PLAIN = "time,rate\n0,1000000\n1,2000000\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        (PLAIN + "\n").encode(),
        (PLAIN + "\r\n  \r\n,\r\n").encode(),
        ("\n" + PLAIN.replace("\n1", "\n\n1")).encode(),
        PLAIN.replace(",", ";").encode(),
        PLAIN.replace(",", "\t").encode(),
        PLAIN.replace("time", ' "Time"').replace(",", ", ").replace("0,", "0 ,").encode(),
        gzip.compress(PLAIN.encode()),
    ],
    ids=["mark", "utf-16", "crlf", "cr", "blank", "blanks", "between", "semicolons", "tabs", "quotes", "gzip"],
)
def test_a_file_is_read_as_spreadsheets_and_systems_write_it(tmp_path: Path, content: bytes) -> None:
    assert rates(over(written(tmp_path, content))) == [[0, 10**6], [S, 2 * 10**6]]


@pytest.mark.parametrize(
    "text", ["time;rate\n0;1,5 Mbit/s\n0,5;2,5 Mbit/s\n", "time\trate [Mbit/s]\n0\t1,5\n0,5\t2,5\n"]
)
def test_decimal_commas_are_read_between_other_separators(tmp_path: Path, text: str) -> None:
    assert rates(over(written(tmp_path, text))) == [[0, 1_500_000], [S // 2, 2_500_000]]


LENS_ROWS: Final = st.lists(
    st.tuples(st.integers(1, 5_000_000), st.decimals("0.001", 3000, places=6), st.decimals(-50, 50, places=3), st.booleans()),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LENS_ROWS, st.sampled_from([1, 10**3, 10**6, 10**9]), st.booleans(), st.sampled_from([",", ";"]))
def test_a_path_has_the_rtts_that_read_shows(
    tmp_path: Path, rows: list[tuple[int, Decimal, Decimal, bool]], scale: int, both: bool, separator: str
) -> None:
    """RTTs and times are those of `longpipe read`, whatever the unit of the times and the offset of the clocks."""
    at, lines = 1_705_744_800_000_000_000, []
    for more, rtt, offset, lost in rows:
        # Whole units, so that every unit represents the times exactly.
        at += more * 10**9
        time = str(at // (10**9 // scale))
        up, down = rtt / 2 + offset, rtt / 2 - offset
        cells = (
            [time, "0", "0", "-1"]
            if lost and both
            else [time, "-1"]
            if lost
            else [time, str(rtt), f"{up:f}", f"{down:f}"]
        )
        lines.append(separator.join(cells if both else cells[:2]))
    if all(lost for *_, lost in rows) or at - 1_705_744_800_000_000_000 > 99 * 86_400 * 10**9:
        return
    heads = "timestamp,rtt,uplink,downlink" if both else "timestamp,rtt"
    text = "\n".join([heads.replace(",", separator), *lines])
    file = written(tmp_path, text if separator == "," else text.replace(".", ","))
    found = measured.read(file).subjects[0].of("rtt")
    assert found is not None
    points = delays(over(file))
    assert [2 * delay / 1e12 for _, delay in points] == pytest.approx(found.numbers.tolist(), abs=1e-12)
    # The delay before the first RTT equals the first one.
    assert [time / 1e12 for time, _ in points[1:]] == pytest.approx(found.time_s.tolist()[1:], abs=1e-9)


def test_latin_1_is_read_for_its_micro_sign(tmp_path: Path) -> None:
    file = written(tmp_path, "time,delay\n0,500 \N{MICRO SIGN}s\n1,2 ms\n".encode("latin-1"))
    assert delays(over(file)) == [[0, MS // 2], [S, 2 * MS]]


@pytest.mark.parametrize(
    ("head", "row", "step"),
    [
        ("time,rate [Mbit/s]", "0,152", 152 * 10**6),
        ("time [s],rate (kbit/s)", "0,152.5", 152_500),
        ("time_ms,rate_bps", "0,152", 152),
        ("Time_MS,rate_Mbps", "0,152", 152 * 10**6),
        ("time,rate_MBps", "0,10", 80 * 10**6),
        # 10 MB/s is 80 Mbit/s.
        ("time,rate [MB/s]", "0,10", 80 * 10**6),
        ("time,rate", "0,10 MB/s", 80 * 10**6),
        # The unit of a cell overrides that of the header.
        ("time,rate [Mbit/s]", "0,152 kbit/s", 152_000),
        # A rate that is not a whole number of bit/s is rounded.
        ("time,rate [Mbit/s]", "0,3.14159265", 3_141_593),
        ("time,rate", "0,1.52e8", 152 * 10**6),
    ],
)
def test_header_of_a_column_may_contain_its_unit(tmp_path: Path, head: str, row: str, step: int) -> None:
    assert rates(over(written(tmp_path, f"{head}\n{row}\n"))) == [[0, step]]


@pytest.mark.parametrize(
    ("head", "first", "second"),
    [
        ("time", "1686019808.78", "1686019809.78"),
        ("time", "1686019808780", "1686019809780"),
        ("timestamp", "1686019808780000", "1686019809780000"),
        ("timestamp", "1686019808780000123", "1686019809780000123"),
        ("time [ms]", "1686019808780", "1686019809780"),
        ("time", "5", "6"),
        ("time", "5 s", "6000 ms"),
    ],
)
def test_times_count_from_the_first_row(tmp_path: Path, head: str, first: str, second: str) -> None:
    scenario = over(written(tmp_path, f"{head},rate\n{first},4 Mbit/s\n{second},3.5 Mbit/s\n"))
    assert rates(scenario) == [[0, 4 * 10**6], [S, 3_500_000]]
    (line,) = read_from_files(scenario)
    assert "2 rows to 1 s, counted from the first row's" in line


def test_halving_of_round_trips_is_stated(tmp_path: Path) -> None:
    scenario = over(written(tmp_path, "time,rtt [ms]\n0,120\n1,40.5\n"))
    assert delays(scenario) == [[0, 60 * MS], [S, 20 * MS + MS // 4]]
    (line,) = read_from_files(scenario)
    assert line.endswith("path.csv: 2 rows to 1 s; one-way delay 20.25 ms to 60 ms (in ms, half of each round trip)")
    assert not [one for one in cautions(scenario) if "path.csv" in one]


def test_losses_that_were_read_are_stated(tmp_path: Path) -> None:
    (line,) = read_from_files(over(written(tmp_path, "time,loss\n0,0.01\n1,2.5 %\n")))
    assert line.endswith("path.csv: 2 rows to 1 s; loss 0.01 to 0.025")


def test_a_file_of_lens_is_read_without_its_lost_round_trips(tmp_path: Path) -> None:
    rows = [
        "timestamp,rtt,uplink,downlink",
        "1705744800616897349,0,0,-1",
        "1705744800626565141,120.126123,72.439368,47.68675",
        "1705744800636737402,109.976237,62.295097,47.681199",
    ]
    scenario = over(written(tmp_path, "\n".join(rows)))
    # The difference 636737402 - 616897349 is 19840053 ns; the delays are half of 120.126123 ms and of 109.976237 ms.
    assert delays(scenario) == [[0, 60_063_061_500], [19_840_053_000, 54_988_118_500]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,rate\n0,152\n1,149\n", "rate is at most 152 bit/s, which is implausibly low: the column names no unit, so bit/s was assumed; if Mbit/s is meant, name it 'rate [Mbit/s]'"),
        ("time,delay\n0,20\n1,25\n", "delay is at most 25 s, which is implausibly long: the column names no unit, so s was assumed; if ms is meant, name it 'delay [ms]'"),
        ("time,rtt\n0,120.5\n", "rtt is at most 120.5 s, which is implausibly long: the column names no unit, so s was assumed; if ms is meant, name it 'rtt [ms]'"),
        ("time,rate [bit/s]\n0,152\n1,149\n", "rate is at most 152 bit/s, which is implausibly low: the column names bit/s; if Mbit/s is meant, name it 'rate [Mbit/s]'"),
        ("time,rtt [s]\n0,20\n1,40\n", "rtt is at most 40 s, which is implausibly long: the column names s; if ms is meant, name it 'rtt [ms]'"),
        ("time,loss\n0,1\n1,1\n", "loss is 1 in all rows, so nothing arrives; if percent is meant, name the column 'loss [%]'"),
    ],
)  # fmt: skip
def test_implausible_values_are_questioned(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    assert f"{file}: {said}" in cautions(over(file))


def test_times_that_may_be_milliseconds_are_questioned(tmp_path: Path) -> None:
    file = written(tmp_path, "time,rate\n0,5e6\n100,6e6\n200,5e6\n")
    said = (
        f"{file}: the second row is at 100 s, after the end of the run of 1 s: the column names no unit, so s was "
        "assumed; if ms is meant, name it 'time [ms]'"
    )
    assert said in cautions(over(file))
    for text in (
        "time [s],rate\n0,5e6\n100,6e6\n200,5e6\n",
        "time,rate\n0,5e6\n100,6e6\n",
        "time,rate\n0,5e6\n.1,6e6\n9,5e6\n",
    ):
        file.write_text(text)
        assert not [line for line in cautions(over(file)) if str(file) in line]


@pytest.mark.parametrize(
    "text", ["time,rate\n0,152 bit/s\n", "time,rate\n0,5e6\n", "time,delay\n0,0.3\n", "time,delay\n0,20 s\n"]
)
def test_plausible_values_are_not_questioned(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    assert not [line for line in cautions(over(file)) if str(file) in line]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,delay,delay\n0,0.001,0.5\n", ":1: column 'delay' occurs twice; needs each once"),
        ("time,delay,delay [ms]\n0,0.001,0.5\n", ":1: columns 'delay' and 'delay [ms]'; needs one of them"),
        ("time,delay,rtt\n0,0.001,0.5\n", ":1: columns rtt and delay; needs one of them, because the delay is half of "
            "the RTT"),
        ("time,rate [furlongs]\n0,1\n", ":1: column 'rate': '1 furlongs' is not a bit rate; accepts bit/s, kbit/s, "
            "Mbit/s, Gbit/s, Tbit/s, as in '155.52 Mbit/s'"),
        ("time,rate_mbps\n0,1\n", ":1: column 'rate': '1 mbps' is not a bit rate, it may be 'MB/s' or 'Mbit/s'; "
            "accepts bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, as in '155.52 Mbit/s'"),
        ("time,rate\n0,10 mbps\n", ":2: rate '10 mbps', it may be 'MB/s' or 'Mbit/s'; needs a number, or one with a "
            "unit, as in '155.52 Mbit/s'"),
        ("time,rate\n0,\"1,5\"\n", ":2: rate '1,5', whose decimals need a point instead of a comma; needs a number, or one "
            "with a unit, as in '155.52 Mbit/s'"),
        ("time,rate\n0,1\n\"0,5\",1\n", ":3: time '0,5', whose decimals need a point instead of a comma; needs a number of "
            "seconds, or one with a unit, as in '5 ms'"),
        ("time,delay\n0,1e99999999\n", ":2: delay '1e99999999'; needs a number, or one with a unit, as in '5 ms'"),
        ("time,delay\n0,1/0\n", ":2: delay '1/0'; needs a number, or one with a unit, as in '5 ms'"),
        ("time,delay\n0," + "9" * 5000 + "\n", ":2: delay '" + "9" * 56 + "...; needs a number, or one with a unit, as "
            "in '5 ms'"),
        ("time,delay\n0,'\"1\n", None),
        ('time,delay\n0,"1\n1,2\n', ":3: not CSV, unexpected end of data; needs a CSV file of time and rate, delay, "
            "rtt or loss"),
        ("time,rate\n1e999,1e6\n", ":2: time 1e999; needs a time within 3000 years of 1970"),
        ("time,rate\n1e9,1e6\n8,1e6\n", ":3: time 8 s after 1000000000 s; needs increasing times"),
        (",".join(f"c{k}" for k in range(200_000)) + "\n", ":1: 200000 columns; needs a CSV file of time and rate, "
            "delay, rtt or loss of at most 10000"),
        ("", ": empty; needs a CSV file of time and rate, delay, rtt or loss"),
    ],
)  # fmt: skip
def test_error_names_line_and_column(tmp_path: Path, text: str, said: str | None) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ScenarioError) as caught:
        over(file)
    assert "\n" not in str(caught.value)
    assert said is None or str(caught.value) == f"{file}{said}"


@pytest.mark.parametrize("kind", ["file", "coded", "arrivals"])
def test_a_file_of_each_kind_is_guarded(tmp_path: Path, kind: str) -> None:
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    file = str(tmp_path / "zero.csv")
    kinds: dict[str, dict[str, Any]] = {
        "file": {"network": {"kind": "dumbbell", "path": {"file": file}}},
        "coded": {"network": {"kind": "dumbbell", "path": {"symbol_rate": "1 Mbaud", "file": file}}},
        "arrivals": {"traffic": {"kind": "arrivals", "file": file}},
    }
    with pytest.raises(ScenarioError, match=r"zero\.csv: cannot be read, it is a device; needs a CSV file"):
        Scenario(defaults="1996", framing="ip", switch={"buffer": "100 packets"}, **kinds[kind])


def test_es_n0_and_datagrams_accept_equal_headers_and_times(tmp_path: Path) -> None:
    fade = written(tmp_path, "\ufefftimestamp;esn0 [dB]\r\n1686019808.5;9\r\n1686019813.5;3 dB\r\n\r\n", "fade.csv")
    network: dict[str, Any] = {
        "kind": "dumbbell",
        "sources": 1,
        "path": {"symbol_rate": "1 Mbaud", "file": str(fade), "between": "hold"},
    }
    scenario = Scenario(defaults="1996", framing="ip", network=network, switch={"buffer": "9 packets"})
    assert [at for at, _ in rates(scenario)] == [0, 5 * S]
    sent = written(tmp_path, "time [ms],bytes [KB]\n1686019808500,1\n1686019808520,0.5\n", "sent.csv")
    scenario = Scenario(
        defaults="1996", framing="ip", traffic={"kind": "arrivals", "file": str(sent)}, switch={"buffer": "9 packets"}
    )
    assert scenario.resolve()["flows"][0]["traffic"]["sent_ps"] == [[0, 1000], [20 * MS, 500]]
    # Times that are not Unix times are relative to the start of the flow.
    sent.write_text("time,bytes\n0.5,100\n")
    assert scenario.with_(name="b").resolve()["flows"][0]["traffic"]["sent_ps"] == [[500 * MS, 100]]


def test_analysis_reads_units_in_cells_and_headers(tmp_path: Path) -> None:
    numbers = [4.0, 4.2, 5.0, 5.1, 8.0, 8.3, 9.0, 9.2]
    tcp, buffer = ["reno", "reno", "sack", "sack"] * 2, ["1 BDP"] * 4 + ["2 BDP"] * 4
    rows = [f"{a};{b};{n} Mbit/s;{n}" for a, b, n in zip(tcp, buffer, numbers, strict=True)]
    file = written(tmp_path, "\ufefftcp;buffer;rate;load [%]\r\n" + "\r\n".join(rows) + "\r\n\r\n")
    json_file = tmp_path / "rate.json"
    shown = run("analyse", file, "--response", "rate", "--factors", "tcp,buffer", "--json", json_file).stdout
    assert "rate [Mbit/s] over tcp, buffer: 8 runs\nmean 6.6000 [" in shown
    assert json.loads(json_file.read_text())["mean"] == pytest.approx(6.6e6)
    shown = run("analyse", file, "--response", "load", "--factors", "tcp,buffer").stdout
    assert "load [%] over tcp, buffer: 8 runs\nmean 6.6000 [" in shown


def test_a_note_states_times_in_a_readable_unit() -> None:
    assert [_short(TIME, value) for value in (21_410_029_556, 10**12, 999, 0)] == ["21.41 ms", "1 s", "999 ps", "0 ps"]
