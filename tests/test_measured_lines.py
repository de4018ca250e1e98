"""Lines of measured files and their numbers in memory: the same as lists and dictionaries, but compact."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longpipe.errors import ScenarioError
from longpipe.inputs.text import split_lines
from longpipe.measured import lines as lines_of
from longpipe.measured import read
from longpipe.measured.columns import Named, Replies
from longpipe.measured.content import Content
from longpipe.measured.lines import Lines, Parts
from thorough import examples

CASES: Final = settings(max_examples=examples(100, 3000), deadline=None)
TEXTS: Final = st.lists(
    st.sampled_from(["a", "ä", "\n", "\r\n", "\r", " ", "b c", "a\u2028b", "\x0c"]), min_size=1, max_size=40
)


@CASES
@given(TEXTS, st.integers(1, 8), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), st.data())
def test_lines_are_those_of_the_whole_text(parts: list[str], step: int, encoding: str, data: st.DataObject) -> None:
    text = "x" + "".join(parts)
    if encoding == "latin-1":
        # A text that is not UTF-8.
        text = "ä" + text.replace("\u2028", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_of, "_STEP", step)
        expected = list(enumerate(split_lines("file", text, ""), 1))
        found = Content("file", text.encode(encoding)).lines
        assert isinstance(found, Lines)
        assert (len(found), list(found)) == (len(expected), expected)
        omitted = data.draw(st.sets(st.integers(1, len(expected)), max_size=3))
        left = [one for one in expected if one[0] not in omitted]
        part = found.without(*omitted)
        assert (len(part), list(part)) == (len(left), left)
        begin, end = data.draw(st.integers(0, len(left))), data.draw(st.integers(0, len(left)))
        assert list(part[begin:end]) == left[begin:end]
        for place in range(-len(left), len(left)):
            assert part[place] == left[place]
        chosen = sorted(data.draw(st.sets(st.integers(0, len(left) - 1)))) if left else []
        some = Parts(part)
        for place in chosen:
            some.append(place)
        assert (len(some), list(some)) == (len(chosen), [left[place] for place in chosen])
        assert not chosen or some[0] == left[chosen[0]]


def test_undecodable_utf_16_is_rejected_with_its_line() -> None:
    with pytest.raises(ScenarioError, match="file:2: not UTF-16 text"):
        _ = Content("file", "a\nb".encode("utf-16") + b"\x00\xd8").lines


@CASES
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.none() | st.integers(-5, 10**18), st.none() | st.floats(0, 1e6)), max_size=30
    )
)
def test_replies_equal_a_dictionary_based_reader(replies: list[tuple[int, int | None, float | None]]) -> None:
    found, expected = Replies("file"), dict[int, tuple[int | None, float | None]]()
    for number, at, rtt in replies:
        assert (number in found) == (number in expected)
        found.add(number, at, rtt)
        expected[number] = (at, rtt)
    assert len(found) == len(expected)
    assert {number: found[number] for number in range(61) if number in found} == expected
    numbers, arrivals, rtts, is_known = found.arrays()
    assert numbers.tolist() == sorted(expected)
    rows = zip(numbers.tolist(), arrivals.tolist(), rtts.tolist(), is_known.tolist(), strict=True)
    for number, one, delay, known in rows:
        assert (one if known else None, None if math.isnan(delay) else delay) == expected[number]


@pytest.mark.parametrize(
    "text",
    [
        "[17958600000000] 192.0.2.7 : [0], 64 bytes, 20.5 ms (20.5 avg, 0% loss)\n",
        '{"resp": {"timestamp": "9795860000.5", "host": "a", "seq": 0, "size": 64, "rtt": 5.12}}\n',
    ],
)
def test_replies_beyond_2262_are_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "late.txt"
    file.write_text(text * 3, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"time .* s after 1970; needs times from 1970 to 2262$"):
        read(file)


def test_numbers_of_replies_are_bounded() -> None:
    found = Replies("file")
    found.add(5, 0, 0.0)
    with pytest.raises(ScenarioError, match="file: 20000001 requests; needs at most 10000000"):
        found.add(20_000_005, 0, 0.0)


@CASES
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(-1e9, 1e9)), max_size=20))
def test_missing_cells_are_missing_in_named_columns(rows: list[dict[str, float]]) -> None:
    found = Named()
    for place, row in enumerate(rows):
        found.append({"at": place, **row})
    assert len(found) == len(rows)
    for name in "abc":
        points = [(float(place), row[name]) for place, row in enumerate(rows) if name in row]
        assert list(found.points(name, "at")) == points
        if rows:
            assert found.lacking(name, "at") == [place for place, row in enumerate(rows) if name not in row]


# Lines of about 100 bytes, as the tools write them, for the second `t` of a log.
LOGS: Final = {
    "ping": "[{t}.500000] 64 bytes from a-host-with-a-long-name.example.net (192.0.2.7): icmp_seq={seq} ttl=53 time=20.5 ms\n",
    "ping-text": "64 bytes from a-host-with-a-very-long-name.example.net (192.0.2.7): icmp_seq={seq} ttl=53 time=20.5 ms\n",
    "fping": "[{t}.50000] a-host-with-a-long-name.example.net : [{k}], 64 bytes, 20.5 ms (20.5 avg, 0% loss)            \n",
    "mm-link": "{k} - 1504 20                                                                                           \n",
    "ss": (
        "{t}\nESTAB 0 0 192.0.2.1:40000 192.0.2.2:5201\n\t cubic wscale:7,7 rto:240 rtt:40.1/0.5 ato:40 mss:1448 pmtu:1500 "
        "rcvmss:536 advmss:1448 cwnd:10 ssthresh:7 bytes_sent:{k} bytes_acked:{k} segs_out:{k} segs_in:{k} data_segs_out:{k} "
        "send 2888000bps lastsnd:1 lastrcv:1000 lastack:1 pacing_rate 3465000bps delivery_rate 2800000bps delivered:{k} "
        "busy:{k}ms unacked:10 retrans:0/0 rcv_space:14480 rcv_ssthresh:64088 notsent:100000 minrtt:40\n"
    ),
    "tc": (
        "{t}\nqdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms "
        "memory_limit 32Mb ecn drop_batch 64\n Sent {k} bytes {k} pkt (dropped 0, overlimits 0 requeues 0)\n"
        " backlog 1500b 1p requeues 0\n  maxpacket 1514 drop_overlimit 0 new_flow_count 10 ecn_mark 0\n"
    ),
    "lens": "{t}.000000000,30.500000000,15.250000000,15.250000000                                                     \n",
}
_SIZES: Final = (4 << 20, 12 << 20)
# The maximum of `getrusage` includes the memory of the process that started this one.
_MEASURE: Final = (
    "import sys; from longpipe.measured import read; read(sys.argv[1]); "
    "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("kind", LOGS)
def test_a_long_log_takes_less_than_twice_its_length(kind: str, tmp_path: Path) -> None:
    """A log of 1 GiB then takes less than 2 GB."""
    head = {
        "mm-link": "# mahimahi mm-link (a) [b] > c\n# base timestamp: 0\n",
        "lens": "timestamp,rtt,uplink,downlink\n",
    }
    line = LOGS[kind]

    def text(count: int) -> str:
        lines = (line.format(t=1_795_860_000 + k, k=k, seq=k % 65536) for k in range(1, count + 1))
        return head.get(kind, "") + "".join(lines)

    used = []
    for size in _SIZES:
        file = tmp_path / str(size)
        file.write_text(text(size // len(line.format(t=1_795_860_000, k=0, seq=0))))
        command = [sys.executable, "-c", _MEASURE, str(file)]
        used.append(1024 * int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
    assert used[1] - used[0] < 1.85 * (_SIZES[1] - _SIZES[0])
