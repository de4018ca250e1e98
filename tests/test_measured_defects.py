"""Damaged, truncated and surrounded measured files: what is whole is read, and a note names each defect."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longpipe import ScenarioError
from longpipe.measured import Recording, read
from longpipe.measured.json_text import values

DATA: Final = Path(__file__).parent / "data/measured"
IPERF3: Final = gzip.decompress((DATA / "iperf3.json.gz").read_bytes()).decode()
EACH: Final = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(folder: Path, text: str | bytes) -> Recording:
    file = folder / "file"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(file)


def rates(found: Recording) -> list[float]:
    rate = found.subjects[0].of("rate")
    assert rate is not None
    numbers: list[float] = rate.numbers.tolist()
    return numbers


@pytest.fixture(scope="module")
def whole() -> Recording:
    return read(DATA / "iperf3.json.gz")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_json_is_read_in_every_encoding(tmp_path: Path, encoding: str, whole: Recording) -> None:
    text = IPERF3.replace('"Linux', '"Büro Linux' if encoding == "latin-1" else '"Linux')
    assert rates(opened(tmp_path, text.encode(encoding))) == rates(whole)


@pytest.mark.parametrize("name", ["ping.txt", "ss.txt.gz", "tc.txt", "tc.json"])
def test_text_is_read_in_utf_16(tmp_path: Path, name: str) -> None:
    content = (DATA / name).read_bytes()
    text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    for encoding in ("utf-16", "utf-16-le", "utf-8-sig"):
        assert opened(tmp_path, text.encode(encoding)).as_json()["subjects"] == read(DATA / name).as_json()["subjects"]


def outcome(folder: Path, text: str) -> Recording | str:
    """Returns the recording, or the line of the error."""
    try:
        return opened(folder, text)
    except ScenarioError as error:
        return str(error)


@EACH
@given(st.integers(1, len(IPERF3) - 1))
def test_truncated_json_has_the_whole_intervals(tmp_path: Path, whole: Recording, length: int) -> None:
    found = outcome(tmp_path, IPERF3[:length])
    # An interval ends with its sum.
    ended = IPERF3[:length].count('"sum":')
    if isinstance(found, str):
        assert ended <= 1
        assert "\n" not in found
    else:
        assert rates(found) == rates(whole)[: len(rates(found))]
        assert len(rates(found)) >= ended - 1
        assert any("ends early" in note for note in found.notes) or IPERF3[length:].strip() == ""


@EACH
@given(st.integers(1, 3), st.sampled_from(["#", "'", '""', "nul", ",,"]), st.booleans())
def test_a_defect_in_one_interval_leaves_the_others(
    tmp_path: Path, whole: Recording, interval: int, garbage: str, replaces: bool
) -> None:
    place = [at for at in range(len(IPERF3)) if IPERF3.startswith('"bits_per_second":', at)][2 * interval]
    found = opened(tmp_path, IPERF3[:place] + garbage + IPERF3[place + replaces :])
    assert rates(found) == rates(whole)[:interval] + rates(whole)[interval + 1 :]
    assert any("an element is damaged and skipped, at line" in note for note in found.notes)


@EACH
@given(st.integers(0, len(IPERF3) - 1), st.characters(max_codepoint=126))
def test_any_wrong_character_is_noted_or_rejected(tmp_path: Path, whole: Recording, at: int, wrong: str) -> None:
    found = outcome(tmp_path, IPERF3[:at] + wrong + IPERF3[at + 1 :])
    assert isinstance(found, Recording) or "\n" not in found


@EACH
@given(
    st.text(st.characters(blacklist_characters="\x00\r\x1e", blacklist_categories=["Cs"]), max_size=60),
    st.text("ab [](){}\n:,", max_size=60),
)
def test_text_around_json_is_ignored(before: str, after: str) -> None:
    value = {"a": [{"b": 1}, {"c": "}"}], "d": None}
    found = values("f", json.dumps(value) + "\n" + after, "JSON")
    assert found.values[0][1] == value
    if "{" not in before and "[" not in before and '"' not in before:
        found = values("f", before + "\n" + json.dumps(value), "JSON")
        assert value in [one for _, one in found.values]


@EACH
@given(
    st.lists(
        st.dictionaries(st.text("abc", min_size=1), st.integers(-(2**53), 2**53) | st.text('{["\\]}'), min_size=1),
        min_size=2,
        max_size=4,
    )
)
def test_several_values_in_a_row_are_read(several: list[dict[str, Any]]) -> None:
    for indent, between in ((None, "\n"), (2, "\n"), (2, "")):
        text = between.join(json.dumps(value, indent=indent) for value in several)
        assert [value for _, value in values("f", text, "JSON").values] == several


def test_non_finite_numbers_are_unknown(tmp_path: Path, whole: Recording) -> None:
    text = IPERF3.replace('"rttvar":', '"jitter_ms":-nan,"x":[inf, NaN],"note":"nan: -nan","rttvar":')
    assert text != IPERF3
    found = opened(tmp_path, text)
    assert rates(found) == rates(whole)
    assert any("written as nan or inf, and unknown" in note for note in found.notes)


def test_a_damaged_record_of_a_sequence_is_skipped(tmp_path: Path) -> None:
    header = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {}}
    metric = {"time": 5, "name": "quic:recovery_metrics_updated", "data": {"latest_rtt": 50.5}}
    records = [json.dumps(one) for one in (header, metric, metric, metric)]
    whole = "".join(f"\x1e{record}\n" for record in records)
    cut = "".join(f"\x1e{record[: 20 if k == 2 else None]}\n" for k, record in enumerate(records))
    for text, count in ((whole, 3), (cut, 2), (whole[:-9], 2), (whole.replace("\n", "\r\n"), 3)):
        found = opened(tmp_path, text)
        rtt = found.subjects[0].of("rtt")
        assert rtt is not None
        assert len(rtt.numbers) == count
        assert len(found.notes) == (count < 3)
    assert "a record is damaged and skipped, in line 3" in opened(tmp_path, cut).notes[0]


def test_hostile_json_is_rejected_in_bounded_time(tmp_path: Path) -> None:
    for text in (
        "[" * 300_000,
        '{"a":' * 100_000,
        "{" * 3_000_000,
        "{" + "[{]" * 100_000,
        '{"a": ' + "9" * 5000 + "}{",
    ):
        with pytest.raises(ScenarioError) as caught:
            opened(tmp_path, text)
        assert "\n" not in str(caught.value)


def _lens() -> str:
    return "timestamp,rtt,uplink,downlink\n" + "".join(
        f"{1_705_744_800 + k}.5,{50 + k}.25,20.5,29.75\n" for k in range(9)
    )


def _mm_link() -> str:
    return "# mahimahi mm-link (up) [uplink]\n# base timestamp: 0\n" + "".join(
        f"{k}0 + 1504\n{k}5 - 1504 5\n" for k in range(10, 20)
    )


TEXTS: Final[dict[str, str]] = {
    "lens": _lens(), "mm-link": _mm_link(), "trace": "".join(f"{k}\n" for k in range(100, 200)),
    "pantheon": "".join(f"{k}.125 + 1500 1\n{k}.500 - 1500 30.125 1\n" for k in range(10, 20)),
    "pensieve": "".join(f"{k}.5\t1.25\n" for k in range(10, 20)),
    "ping": (DATA / "ping.txt").read_text(), "tc": (DATA / "tc.txt").read_text(),
    "ss": gzip.decompress((DATA / "ss.txt.gz").read_bytes()).decode(),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_without_its_end_is_read_up_to_its_last_line(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    # Cuts are in the second half of the text, and are densest near its end.
    cuts = {
        *range(len(text) // 2, len(text), max(1, len(text) // 60)),
        *range(max(len(text) // 2, len(text) - 120), len(text)),
    }
    for cut in sorted(cuts):
        found = outcome(tmp_path, text[:cut])
        assert isinstance(found, Recording), (cut, text[cut - 40 : cut], found)


def test_decimal_commas_of_pensieve_are_read(tmp_path: Path) -> None:
    commas = TEXTS["pensieve"].replace(".", ",")
    assert rates(opened(tmp_path, commas)) == rates(opened(tmp_path, TEXTS["pensieve"]))


def _of_ss() -> str:
    return gzip.decompress((DATA / "ss.txt.gz").read_bytes()).decode()


def _of_tc() -> str:
    """Returns ten snapshots of two queues, each snapshot with its time."""
    queues = "".join(
        f"qdisc {kind} {handle}: dev eth0 {place}\n Sent {{sent}} bytes {{packets}} pkt (dropped 0, overlimits 0 requeues 0)\n"
        " backlog 0b 0p requeues 0\n"
        for kind, handle, place in (("tbf", "1", "root"), ("pfifo", "10", "parent 1:1"))
    )
    return "".join(f"{1_700_000_000 + k}.5\n" + queues.format(sent=1500 * k, packets=k) for k in range(10))


LOGS: Final = {"ping -D": (DATA / "ping.txt").read_text(), "ss -tin": _of_ss(), "tc -s qdisc": _of_tc()}


@pytest.mark.parametrize("tool", LOGS)
@pytest.mark.parametrize("damage", ["x#@!~", "\0\0\0", ""])
def test_damaged_line_inside_a_log_leaves_the_others(tmp_path: Path, tool: str, damage: str) -> None:
    lines = LOGS[tool].splitlines(keepends=True)
    whole = opened(tmp_path, LOGS[tool])
    most = {(one.name, each.quantity): len(each.time_s) for one in whole.subjects for each in one.series}
    for at in range(12, 40):
        left = [*lines[:at], *([damage + "\n"] if damage else []), *lines[at + 1 :]]
        found = opened(tmp_path, "".join(left))
        assert found.format == whole.format
        changed = found.as_json()["subjects"] != whole.as_json()["subjects"]
        notes = [note for note in found.notes if note not in whole.notes]
        # Without a trace in the file, only the effect of an absent line is visible.
        assert notes or not damage or not changed, (at, lines[at])
        names = {one.name for one in whole.subjects}
        assert names <= {one.name for one in found.subjects}
        kept = {(one.name, each.quantity): len(each.time_s) for one in found.subjects for each in one.series}
        for key in most.keys() - {key for key in most if key[1] == "losses"}:
            assert kept[key] >= most[key] - 4, (at, lines[at], key)


def test_a_log_with_many_damaged_lines_is_refused(tmp_path: Path) -> None:
    lines = _of_ss().splitlines(keepends=True)
    damaged = ["x#@!~\n" if k % 4 == 3 else line for k, line in enumerate(lines)]
    with pytest.raises(ScenarioError, match="x#@!~"):
        opened(tmp_path, "".join(damaged))
