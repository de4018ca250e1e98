"""Policers and shapers beside Linux, packet by packet: policed-datagrams.csv.gz, policed-paths.csv and shaped-datagrams.csv.gz."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

from longpipe import Result, Scenario, simulate
from longpipe.validate.linux_compare import scenario
from longpipe.validate.linux_conditioners import ETHERNET_BYTES, HEADERS_BYTES, POLICED, SHAPED, TCP, DatagramCase

DATA = Path(__file__).parent / "data" / "linux"
POLICED_DATAGRAMS = pd.read_csv(DATA / "policed-datagrams.csv.gz")
SHAPED_DATAGRAMS = pd.read_csv(DATA / "shaped-datagrams.csv.gz")
POLICED_PATHS = pd.read_csv(DATA / "policed-paths.csv")
# tc's words of each case as longpipe's fields.
FIELDS: Final = {
    "police": {"rate": "8 Mbit/s", "burst": "20000 B"},
    "police-lengths": {"rate": "10 Mbit/s", "burst": "6000 B"},
    "police-peak": {"rate": "8 Mbit/s", "burst": "30000 B", "peak": "12 Mbit/s", "mtu": "1514 B"},
    "police-odd": {"rate": "1777 kbit/s", "burst": "5000 B"},
    "tbf": {"rate": "8 Mbit/s", "burst": "5000 B"},
    "tbf-lengths": {"rate": "10 Mbit/s", "burst": "3000 B"},
    "tbf-peak": {"rate": "8 Mbit/s", "burst": "30000 B", "peak": "12 Mbit/s", "mtu": "1514 B"},
    "tbf-odd": {"rate": "1777 kbit/s", "burst": "2000 B"},
}


def conditioned(rows: pd.DataFrame, folder: Path, conditioner: dict[str, Any], **changes: object) -> Result:
    """Sends the datagrams of a table through a conditioner of a line that is fast and short."""
    file = folder / "datagrams.csv"
    times = [f"{at} ns" for at in rows["sent_ns"]]
    pd.DataFrame({"time": times, "bytes": rows["bytes"] - HEADERS_BYTES}).to_csv(file, index=False)
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": "5 s",
        "switch": {"buffer": "100000 packets"},
        "traffic": {"kind": "arrivals", "file": str(file)},
        "traces": {"drops": True, "delay": True},
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "10 Tbit/s",
            "trunk_rate": "10 Tbit/s",
            "access_delay": "0 s",
            "trunk_delay": "0 s",
            "exit_delay": "0 s",
            "conditioners": [conditioner],
        },
    }
    return simulate(Scenario(**fields).with_(**changes))


@pytest.mark.parametrize("case", POLICED, ids=lambda case: case.name)
def test_a_policer_drops_the_datagrams_that_tc_police_drops(case: DatagramCase, tmp_path: Path) -> None:
    rows = POLICED_DATAGRAMS[POLICED_DATAGRAMS["case"] == case.name]
    assert [length for _, length in case.datagrams] == list(rows["bytes"])
    result = conditioned(rows, tmp_path, {"kind": "policer", **FIELDS[case.name]})
    # A datagram reaches the policer a few nanoseconds after it was sent; the closest two were sent 256 ns apart.
    dropped = (result.traces["drops"]["time_s"] * 1e9 // 64).astype(int)
    linux = rows[rows["arrived_ns"] < 0]["sent_ns"] // 64
    assert len(linux) > 0.1 * len(rows)
    # A nanosecond decides about a packet where tokens just suffice.
    assert len(set(dropped) ^ set(linux)) <= 0.02 * len(linux)


@pytest.mark.parametrize("case", SHAPED, ids=lambda case: case.name)
def test_a_shaper_drops_and_delays_the_datagrams_as_tbf_does(case: DatagramCase, tmp_path: Path) -> None:
    """Linux's tbf counts Ethernet's header, so that the datagrams are longer by it here."""
    rows = SHAPED_DATAGRAMS[SHAPED_DATAGRAMS["case"] == case.name]
    buffer = case.words.split()[case.words.split().index("limit") + 1]
    shaper = {"kind": "tbf", **FIELDS[case.name]}
    longer = rows.assign(bytes=rows["bytes"] + ETHERNET_BYTES)
    result = conditioned(longer, tmp_path, shaper, **{"switch.buffer": f"{buffer} B"})
    dropped = set((result.traces["drops"]["time_s"] * 1e9 // 64).astype(int))
    arrived = rows[rows["arrived_ns"] >= 0]
    linux = set(rows[rows["arrived_ns"] < 0]["sent_ns"] // 64)
    assert len(linux) > 0.05 * len(rows)
    assert len(dropped ^ linux) <= 0.02 * len(linux)
    delays = result.traces["delay"].query("port == 'switch1->switch2'")["delay_s"].to_numpy()
    apart = np.sort(delays) - np.sort(arrived["arrived_ns"] - arrived["sent_ns"])[: len(delays)] / 1e9
    assert float(np.median(np.abs(apart))) < 2e-6


@pytest.mark.parametrize("number", range(len(TCP)))
def test_over_policed_paths_tcp_loses_what_it_loses_in_linux(number: int) -> None:
    """Drops within 15 %."""
    case, linux = TCP[number], POLICED_PATHS.iloc[number]
    assert linux["police"] == case.police
    _, rate, _, burst = case.police.split()
    policer = {"kind": "policer", "rate": rate.replace("mbit", " Mbit/s"), "burst": f"{burst} B"}
    result = simulate(scenario(case).with_(**{"network.conditioners": [policer]}))
    policed = result.ports.set_index("port")["packets_lost_policer"]["switch1->switch2"]
    assert policed == pytest.approx(linux["policed"], rel=0.15)
