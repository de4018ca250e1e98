"""Jitter, reordering and duplication, compared with netem's tables, its arithmetic and measured distributions of Linux."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from access_witnesses.tables import read
from longpipe import Result, Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.scenario.jitter import table_of
from longpipe.scenario.paths import paths

DELAYS = pd.read_csv(Path(__file__).parent / "data" / "linux" / "netem-delays.csv")
# Conditioners of longpipe for the tc arguments of each netem case.
FIELDS: dict[str, tuple[dict[str, Any], ...]] = {
    "uniform": ({"kind": "jitter", "delay": "20 ms", "jitter": "5 ms"},),
    "normal": ({"kind": "jitter", "delay": "20 ms", "jitter": "5 ms", "distribution": "normal"},),
    "pareto": ({"kind": "jitter", "delay": "20 ms", "jitter": "5 ms", "distribution": "pareto"},),
    "paretonormal": ({"kind": "jitter", "delay": "20 ms", "jitter": "5 ms", "distribution": "paretonormal"},),
    "correlated": ({"kind": "jitter", "delay": "20 ms", "jitter": "5 ms", "correlation": 0.5},),
    "early": ({"kind": "jitter", "delay": "2 ms", "jitter": "3 ms", "distribution": "normal"},),
    "reorder": (
        {"kind": "jitter", "delay": "20 ms", "jitter": "0 s"},
        {"kind": "reordering", "probability": 0.25, "correlation": 0.5},
    ),
    "gap": (
        {"kind": "jitter", "delay": "20 ms", "jitter": "2 ms"},
        {"kind": "reordering", "probability": 0.6, "gap": 5},
    ),
    # The correlation is omitted, which tc accepts for duplicates but does not pass to the kernel.
    "duplicate": ({"kind": "duplication", "probability": 0.1},),
}


def delayed(*conditioners: dict[str, Any], **changes: object) -> Scenario:
    """Returns 20 000 datagrams, one each 100 ms, over a trunk whose only delay is that of its conditioners."""
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": "2000.09 s",
        "switch": {"buffer": "100 packets"},
        "traffic": {"kind": "cbr", "rate": "80 kbit/s", "payload": "972 B"},
        "start": {"kind": "fixed", "at": "0 s"},
        "traces": {"arrivals": True},
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Tbit/s",
            "trunk_rate": "10 Tbit/s",
            "access_delay": "0 s",
            "trunk_delay": "0 s",
            "exit_delay": "0 s",
            "conditioners": list(conditioners),
        },
    }
    return Scenario(defaults="1996", **fields).with_(**changes)


def delays_ms(result: Result) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Returns the delays, which are all shorter than the time between two datagrams."""
    times_us = (result.traces["arrivals"]["time_s"] * 1e6).round(3).to_numpy()
    return np.asarray(times_us % 100_000) / 1000


@pytest.mark.parametrize(
    ("distribution", "first", "last", "total"),
    [
        ("normal", (-32768, -28307), 28858, -26163),
        ("pareto", (-5461,), 32767, -1123786),
        ("paretonormal", (-12305,), 31789, -848968),
    ],
)
def test_distribution_tables_equal_iproute2s(distribution: str, first: tuple[int, ...], last: int, total: int) -> None:
    """Compares entries and sums with /usr/lib/tc/*.dist of iproute2 6.1."""
    table = table_of(distribution)
    assert table is not None
    assert len(table) == 4096
    assert table[: len(first)] == first
    assert (table[-1], sum(table)) == (last, total)


@pytest.mark.parametrize("case", [name for name in FIELDS if name != "duplicate"])
def test_delays_are_distributed_as_those_of_netem(case: str) -> None:
    """The Kolmogorov-Smirnov distance is below 0.02, for 20 000 datagrams each.

    Linux 6.1 is recorded as 501 quantiles.
    """
    linux = DELAYS[(DELAYS["case"] == case) & (DELAYS["share"] >= 0)]["delay_ms"].to_numpy()
    found = np.sort(delays_ms(simulate(delayed(*FIELDS[case]))))
    assert len(found) > 19_990
    # Linux reports arrival times in steps of 256 ns.
    places = np.unique(linux[(linux > 0.01) & (linux < linux.max())])
    below = [np.searchsorted(found, places + shift) / len(found) for shift in (-0.002, 0.002)]
    linux_below = [np.searchsorted(linux, places, side=side) / len(linux) for side in ("left", "right")]
    apart = np.maximum(below[0] - linux_below[1], linux_below[0] - below[1])
    assert float(apart.max()) < 0.02
    at_once = (found < 0.01).mean(), (linux < 0.01).mean()
    assert at_once[0] == pytest.approx(at_once[1], abs=0.02)


@pytest.mark.parametrize("mean_ms", ["0.999", "3", "7", "12", "40"])
def test_wifi_delays_are_distributed_as_in_picoquic(mean_ms: str) -> None:
    """Compares 20 000 delays with `tests/data/access/wifi-jitter.csv`, within four standard errors and 0.002."""
    jitter = {"kind": "jitter", "delay": "0 s", "jitter": f"{mean_ms} ms", "distribution": "wifi"}
    apart = {"duration": "5000.09 s", "traffic.rate": "32 kbit/s"}
    times_ms = simulate(delayed(jitter, **apart)).traces["arrivals"]["time_s"].to_numpy() * 1e3
    found = times_ms.round(6) % 250
    assert len(found) > 19_990
    rows = [row for row in read("wifi-jitter") if row.given()["jitter-ms"] == mean_ms]
    assert len(rows) == 10
    for row in rows:
        if row.quantity == "mean ms":
            error = found.std() / len(found) ** 0.5
            assert found.mean() == pytest.approx(float(row.value), abs=4 * (error + float(row.error))), row
        else:
            share, place_ms = float(row.value), float(row.given()["delay-ms"])
            tolerance = 0.002 + 4 * (share * (1 - share) / len(found)) ** 0.5
            assert (found <= place_ms + 0.004).mean() == pytest.approx(share, abs=tolerance), row


def test_fraction_of_duplicates_equals_that_of_netem() -> None:
    """The number of arrivals per datagram is within 5 standard deviations, and in + duplicated = out + lost + held."""
    linux = float(DELAYS[(DELAYS["case"] == "duplicate") & (DELAYS["share"] < 0)]["delay_ms"].iloc[0])
    scenario = delayed(*FIELDS["duplicate"])
    result = simulate(scenario)
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash
    flow = result.datagrams.iloc[0]
    arrived = flow["received"] + flow["duplicates"]
    assert arrived / flow["sent"] == pytest.approx(linux, abs=5 * (2 * 0.09 / 20_000) ** 0.5)
    assert (flow["received"], flow["lost"]) == (flow["sent"], 0)
    port = result.ports.set_index("port").loc["switch1->switch2"]
    assert flow["duplicates"] == port["packets_duplicated"]
    assert port["packets_in"] + port["packets_duplicated"] == port["packets_out"] + port["packets_held"]


def test_packets_in_order_wait_for_those_before_them() -> None:
    jitter = {"kind": "jitter", "delay": "60 ms", "jitter": "60 ms"}
    crowded = {"traffic.rate": "8 Mbit/s", "duration": "20 s"}
    free = simulate(delayed(jitter, **crowded)).ports.set_index("port").loc["switch1->switch2"]
    fifo = simulate(delayed({**jitter, "order": "fifo"}, **crowded)).ports.set_index("port").loc["switch1->switch2"]
    assert free["overtakings"] > 1000
    assert fifo["overtakings"] == 0


@pytest.mark.parametrize("recovery", ["reno", "sack", "rack"])
def test_both_engines_jitter_reorder_and_duplicate_tcp(recovery: str) -> None:
    conditioners = (
        {"kind": "jitter", "delay": "10 ms", "jitter": "3 ms", "distribution": "pareto"},
        {"kind": "reordering", "probability": 0.02},
        {"kind": "duplication", "probability": 0.02},
        {"kind": "tbf", "rate": "20 Mbit/s", "burst": "10 KB"},
    )
    changes = {"traffic": "greedy", "duration": "5 s", "tcp.recovery": recovery, "traces.arrivals": False}
    scenario = delayed(*conditioners, **changes, **{"network.return_conditioners": list(conditioners)})
    result = simulate(scenario)
    assert simulate(scenario.with_(engine="reference")).state_hash == result.state_hash
    assert result.flows["delivered_bytes"].sum() > 100_000


@pytest.mark.parametrize(
    ("conditioners", "line"),
    [
        (
            [{"kind": "reordering", "probability": 0.1}],
            "network.conditioners[0]: reordering; needs jitter at the same port, because reordered packets skip its delay",
        ),
        (
            [{"kind": "jitter", "delay": "9 s"}],
            "network.conditioners[0].jitter: missing; needs a scale of the distribution [time], as in '5 ms'; netem's "
            "jitter, at most 2 s",
        ),
        (
            [{"kind": "jitter", "delay": "9 s", "jitter": "3 s"}],
            "network.conditioners[0].jitter: 3 s; needs at most 2 s",
        ),
        (
            [{"kind": "jitter", "delay": "9 s", "jitter": "1 s", "distribution": "nosuch.dist"}],
            "network.conditioners[0].distribution: nosuch.dist: cannot be read, no such file or directory; needs uniform, "
            "normal, pareto, paretonormal, wifi or a readable file",
        ),
        (
            [{"kind": "jitter", "delay": "9 s", "jitter": "1 s", "distribution": "a\0b"}],
            "network.conditioners[0].distribution: 'a\\x00b': not a file name; needs uniform, normal, pareto, "
            "paretonormal, wifi or a readable file",
        ),
        (
            [{"kind": "jitter", "delay": "9 s", "jitter": "1 s", "distribution": "/dev/null"}],
            "network.conditioners[0].distribution: /dev/null: cannot be read, it is a device; needs uniform, normal, pareto, "
            "paretonormal, wifi or a readable file",
        ),
        (
            [{"kind": "jitter", "delay": "0 s", "jitter": "86 ms", "distribution": "wifi"}],
            "network.conditioners[0].jitter: 86 ms; needs at most 85 ms with wifi, whose mean it is",
        ),
        (
            [{"kind": "duplication", "probability": 0.1}] * 2,
            "network.conditioners[1]: duplication; needs at most one duplication",
        ),
    ],
)
def test_invalid_conditioners_are_rejected_in_one_line(conditioners: list[dict[str, Any]], line: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        delayed(*conditioners).resolve()
    assert str(caught.value) == line


def test_conditioners_are_checked_before_automatic_windows() -> None:
    jitter = {"kind": "jitter", "delay": "9 s", "jitter": "1 s", "distribution": "nosuch.dist"}
    with pytest.raises(ScenarioError, match=r"^network\.conditioners\[0\]\.distribution: nosuch\.dist: cannot be read"):
        delayed(jitter, **{"traffic": "greedy", "tcp.receiver_window": "auto"})


def test_a_distribution_may_be_a_table_of_tc(tmp_path: Path) -> None:
    file = tmp_path / "two.dist"
    file.write_text("# Half a jitter above and below.\n-4096 4096\n")
    jitter = {"kind": "jitter", "delay": "20 ms", "jitter": "10 ms", "distribution": str(file)}
    found = delays_ms(simulate(delayed(jitter, duration="200.09 s")))
    assert {round(delay) for delay in found} == {15, 25}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1 2\n3 x # 5\n", "2: 'x'; needs integers of -32768 to 32767, and comments from # on"),
        ("1 40000\n", "1: '40000'; needs integers"),
        ("1_0\n", "1: '1_0'; needs integers"),
        ("\u0663\n", "1: '\u0663'; needs integers"),
        ("9" * 5000, "1: '9999"),
        ("# nothing\n", " no integers; needs integers"),
        ("1 " * 16385, "1: more than 16384 integers; needs at most this number, as tc"),
    ],
)
def test_a_table_that_tc_does_not_read_is_rejected_with_its_line(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "a.dist"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        table_of(str(file))
    assert f"{file}:{problem}" in str(error.value)
    assert len(str(error.value)) - len(str(file)) < 200


def test_buffers_windows_and_limits_include_the_mean_delay_of_jitter() -> None:
    bulk: dict[str, Any] = {
        "duration": "20 s", "traffic": "greedy", "traces": {}, "tcp": {"profile": "linux-6"},
        "switch": {"buffer": "1 BDP"}, "network.trunk_rate": "10 Mbit/s", "network.trunk_delay": "25 ms",
    }  # fmt: skip
    back = {"kind": "jitter", "delay": "100 ms", "jitter": "0 s"}
    wired = delayed(**bulk | {"network.trunk_delay": "225 ms", "network.return_delay": "125 ms"})
    jittered = delayed({**back, "delay": "200 ms"}, **bulk, **{"network.return_conditioners": [back]})
    one, other = (scenario.resolve() for scenario in (wired, jittered))
    window = one["flows"][0]["tcp"]["receiver_window_bytes"]
    assert window == 2 * (10e6 * 0.35 / 8 + 291 * 1500)
    assert other["flows"][0]["tcp"]["receiver_window_bytes"] == window
    assert [link["buffer"] for link in other["links"]] == [link["buffer"] for link in one["links"]]
    assert paths(jittered.resolve())[0].round_trip_s == paths(wired.resolve())[0].round_trip_s
    first, second = simulate(wired), simulate(jittered)
    assert second.efficiency == pytest.approx(first.efficiency, rel=0.001)
    assert list(second.limits["limited_by"]) == list(first.limits["limited_by"])
