"""A path's delay from round trips measured by irtt, in the format of its manual (irtt-client(1), round_trips)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from longpipe import Scenario, ScenarioError, simulate


def request(number: int, sent_ns: int, rtt_ns: int | None, lost: object = None) -> dict[str, Any]:
    """Returns an entry of the list, without the fields that are missing for a lost packet."""
    client: dict[str, Any] = {"receive": {}, "send": {"wall": 1508180723000000000 + sent_ns, "monotonic": sent_ns}}
    delay = {}
    if rtt_ns is not None:
        client["receive"] = {"wall": 1508180723000000000 + sent_ns + rtt_ns, "monotonic": sent_ns + rtt_ns}
        delay = {"receive": rtt_ns - rtt_ns // 2, "rtt": rtt_ns, "send": rtt_ns // 2}
    lost = rtt_ns is None if lost is None else lost
    return {"seqno": number, "lost": lost, "timestamps": {"client": client}, "delay": delay, "ipdv": {}}


# The three round trips of the manual were sent at 2.8, 202.9 and 403.0 ms; the last one was lost.
MANUAL = [request(0, 2776704, 134460), request(1, 202856692, 99455), request(2, 402975335, None)]


def over(file: Path) -> Scenario:
    return Scenario(defaults="1996").with_(
        **{
            "framing": "ip",
            "duration": "1 s",
            "switch.buffer": "100 packets",
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                "trunk_rate": "10 Mbit/s",
                "trunk_delay": "10 ms",
                "path": {"file": str(file)},
            },
        }
    )


def written(file: Path, requests: object) -> Path:
    text = json.dumps({"version": {}, "round_trips": requests}).encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    return file


def knots(scenario: Scenario) -> list[list[int]]:
    links = json.loads(scenario.resolved_json())["links"]
    return next(link["motion"]["delay"]["knots_ps"] for link in links if "delay" in link.get("motion", {}))


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_half_of_each_round_trip_holds_from_its_request_on(tmp_path: Path, name: str) -> None:
    scenario = over(written(tmp_path / name, MANUAL))
    assert knots(scenario) == [[0, 67_230_000], [200_079_988_000, 49_727_500]]
    listed = {"delay": [["0 s", "67230 ns"], ["200079988 ns", "49727500 ps"]], "between": "hold"}
    assert simulate(scenario).state_hash == simulate(scenario.with_(**{"network.path": listed})).state_hash


def test_lost_probes_add_no_delays(tmp_path: Path) -> None:
    ms = 10**6
    lost = [
        request(0, 5 * ms, None, "true"),
        request(1, 105 * ms, 40 * ms, "false"),
        request(2, 205 * ms, None, "true_up"),
        request(3, 305 * ms, 60 * ms, "false"),
    ]
    assert knots(over(written(tmp_path / "a.json", lost))) == [[0, 20 * 10**9], [300 * 10**9, 30 * 10**9]]


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        (None, "no list round_trips; needs the output of `irtt client -o`"),
        ([], "0 round trips; needs 1 to "),
        ([request(0, 5, None)], "all 1 round trips were lost; needs one that was not"),
        ([request(0, 5, 10), request(1, 5, 10)], "round_trips[1]: sent at 5 ns after 5 ns; needs increasing times"),
        (
            [request(0, 5, 10), request(1, 10**16, 10)],
            "round_trips[1]: sent 9999999999999995 ns after the first; needs at",
        ),
        ([request(0, 5, -10)], "round_trips[0].delay.rtt: -10 ns; needs 0 to 2000000000000 ns"),
        ([{"lost": False}], "round_trips[0].timestamps.client.send.monotonic: missing; needs a whole number of ns"),
        ([7], "round_trips[0]: 7; needs the output of `irtt client -o`"),
    ],
)
def test_unknown_line_in_irtt_output_is_rejected(tmp_path: Path, requests: object, said: str) -> None:
    file = written(tmp_path / "a.json", requests)
    with pytest.raises(ScenarioError) as caught:
        over(file).resolve()
    assert f"{file}: {said}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "held", "said"),
    [
        ("a.json", b"{", "not JSON, "),
        ("a.json", b"\xff\xfe\x00", "not UTF-16 text; "),
        ("a.json.gz", b"no gzip", "not JSON, "),
        ("none.json", None, "cannot be read, no such file or directory; needs the output of `irtt client -o`"),
    ],
)
def test_other_file_is_rejected_as_irtt_output_in_one_line(
    tmp_path: Path, name: str, held: bytes | None, said: str
) -> None:
    if held is not None:
        (tmp_path / name).write_bytes(held)
    with pytest.raises(ScenarioError, match=said):
        over(tmp_path / name).resolve()
