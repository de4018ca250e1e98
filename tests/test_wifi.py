"""Wi-Fi links: a shared channel, errors, counters, the limit `contention`, and agreement of both engines."""

import csv
from pathlib import Path
from typing import Any, Final

import pytest

from access_witnesses import dcf
from longpipe import Scenario, ScenarioError, simulate
from longpipe.cautions.cautions import seedless
from longpipe_evidence.validate.bianchi import MODES, goodput_mbps, saturated, simulated_mbps

FOLDER: Final = Path(__file__).parent / "data" / "access"
WIFI = {"kind": "wifi", "cell": "home"}
HOME: dict[str, Any] = {
    "framing": "ip",
    "duration": "3 s",
    "network": {
        "kind": "dumbbell",
        "sources": 2,
        "trunk_rate": "143.4 Mbit/s",
        "trunk_delay": "0 s",
        "access_delay": "5 ms",
        "access": WIFI,
        "return_access": WIFI,
    },
    "switch": {"buffer": "200 packets"},
    "tcp": {"profile": "linux-6"},
}
# Field of each mode of the independent simulation.
WITNESSES = {
    "802.11a, 54 Mbit/s": "11a-54",
    "802.11g, 54 Mbit/s": "11g-54",
    "802.11n, 72.2 Mbit/s": "11n-mcs7",
    "802.11ac, 86.7 Mbit/s": "11ac-mcs8",
    "802.11ax, 143.4 Mbit/s": "11ax-mcs11",
}


def home(**changes: object) -> Scenario:
    return Scenario.model_validate({"defaults": "1996", **HOME}).with_(**changes)


def both(**fields: object) -> dict[str, object]:
    return {f"network.{way}.{name}": value for way in ("access", "return_access") for name, value in fields.items()}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"standard": "n", "frame_error": 0.1, "scheduler": "frames"},
        {"max_frames": 1, "retry_limit": 2, "cw_min": 0, "cw_max": 1},
        {"suspend_every": "200 ms", "suspend_for": "50 ms"},
    ],
)
def test_reference_engine_gives_equal_results(fields: dict[str, object]) -> None:
    changes = {**both(**fields), "network.trunk_rate": "72.2 Mbit/s" if "standard" in fields else "143.4 Mbit/s"}
    runs = [simulate(home(engine=engine, **changes), seed=2) for engine in ("trains", "reference")]
    assert runs[0].state_hash == runs[1].state_hash
    assert sum(runs[0].throughputs_bps) > 1e6


def test_acknowledgements_share_the_channel_of_data() -> None:
    shared = simulate(home(**both(max_frames=1)))
    apart = simulate(home(**both(max_frames=1), **{"network.return_access.cell": "other"}))
    assert sum(shared.throughputs_bps) < 0.9 * sum(apart.throughputs_bps)
    ports = shared.ports.set_index("port")
    data, acks = ports.loc["switch1->switch2"], ports.loc["switch2->switch1"]
    assert 0 < data["collisions"] == acks["collisions"]
    assert data["airtime_s"] + acks["airtime_s"] < 3


def test_frames_are_repeated_below_ip() -> None:
    port = simulate(home(**both(frame_error=0.2))).ports.set_index("port").loc["switch1->switch2"]
    # Each frame is transmitted 1.25 times; collisions repeat further ones.
    assert 0.24 < port["retransmissions"] / port["packets_out"] < 0.4
    assert port["packets_lost_access"] < 1e-3 * port["packets_out"]


def test_frames_are_lost_at_the_retry_limit() -> None:
    port = simulate(home(**both(frame_error=0.2, retry_limit=1))).ports.set_index("port").loc["switch1->switch2"]
    assert port["retransmissions"] == 0
    lost, left = port["packets_lost_access"], port["packets_out"]
    assert 0.15 < lost / (lost + left) < 0.3
    assert port["packets_in"] == left + lost + port["packets_lost_overflow"] + port["packets_held"]


def neighbors(policy: str = "tail-drop", *, rate: str = "20 Mbit/s") -> Scenario:
    """Returns a download over Wi-Fi, whose channel has four stations of a neighbor."""
    names = [f"neighbor{i}" for i in range(4)]
    air = {"rate": "143.4 Mbit/s", "delay": "0 s", "access": WIFI}
    return Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": "5 s",
            "network": {
                "kind": "graph",
                "nodes": [{"name": name, "kind": "host"} for name in ("server", "laptop", "elsewhere", *names)]
                + [{"name": name, "kind": "switch"} for name in ("ap", "other-ap")],
                "links": [
                    {"between": ["server", "ap"], "rate": "1 Gbit/s", "delay": "10 ms"},
                    {"between": ["ap", "laptop"], **air, "return_access": WIFI, "policy": policy},
                    {"between": ["other-ap", "elsewhere"], "rate": "1 Gbit/s", "delay": "0 s"},
                    *({"between": [name, "other-ap"], **air} for name in names),
                ],
                "flows": [
                    {"name": "download", "from": "server", "to": "laptop", "traffic": "greedy"},
                    *({"name": name, "from": name, "to": "elsewhere"} for name in names),
                ],
            },
            "traffic": {"kind": "poisson", "rate": rate, "payload": "1472 B"},
            "switch": {"buffer": "500 packets"},
            "tcp": {"profile": "linux-6"},
        }
    )


def test_busy_channel_limits_a_download_by_contention() -> None:
    busy = simulate(neighbors())
    limit = busy.flow_limits[0]
    assert limit.limited_by == "contention"
    assert limit.remedy is not None
    assert limit.remedy.field == "network.links.1.access.cell"
    other = simulate(limit.remedy.applied_to(neighbors()))
    assert other.throughputs_bps[0] > 1.5 * busy.throughputs_bps[0]


def test_idle_neighbors_do_not_limit_a_download() -> None:
    assert simulate(neighbors(rate="1 kbit/s")).flow_limits[0].limited_by != "contention"


def test_slow_client_takes_its_share_of_airtime_or_of_packets() -> None:
    rates = {"fast": "143.4 Mbit/s", "slow": "8.6 Mbit/s"}
    found = {}
    for scheduler in ("airtime", "frames"):
        access = {**WIFI, "scheduler": scheduler, "max_frames": 1}
        links = [
            {"between": ["ap", name], "rate": rate, "delay": "0 s", "access": access} for name, rate in rates.items()
        ]
        scenario = Scenario.model_validate(
            {
                "defaults": "1996",
                "framing": "ip",
                "duration": "5 s",
                "network": {
                    "kind": "graph",
                    "nodes": [{"name": name, "kind": "host"} for name in ("server", "fast", "slow")]
                    + [{"name": "ap", "kind": "switch"}],
                    "links": [{"between": ["server", "ap"], "rate": "1 Gbit/s", "delay": "0 s"}, *links],
                    "flows": [{"name": name, "from": "server", "to": name} for name in rates],
                },
                "traffic": {"kind": "cbr", "rate": "60 Mbit/s", "payload": "1472 B"},
                "switch": {"buffer": "100 packets"},
            }
        )
        result = simulate(scenario)
        airtime = result.ports.set_index("port").loc[["ap->fast", "ap->slow"], "airtime_s"]
        found[scheduler] = list(airtime / airtime.sum()), list(result.throughputs_bps)
    assert found["airtime"][0] == pytest.approx([0.5, 0.5], abs=0.01)
    assert found["frames"][1][0] == pytest.approx(found["frames"][1][1], rel=0.01)
    assert found["airtime"][1][0] > 3 * found["frames"][1][0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network.trunk_rate": "100 Mbit/s"}, "network.access.standard: ax; needs a link rate of 8.6, 17.2, 25.8, 34.4, 51.6, 68.8, 77.4, 86.0, 103.2, 114.7, 129.0, 143.4 Mbit/s at 20 MHz with streams = 1, not 100.0"),
        ({"network.return_access.standard": "ac", "network.return_rate": "86.7 Mbit/s"}, "network.return_access.standard: ac; needs ax, as the first link of its cell"),
        ({"network.access.standard": "g"}, "network.access.standard: g; needs a link rate of 6.0, 9.0, 12.0"),
        ({"network.access.width": "80 MHz", "network.access.standard": "n"}, "network.access.width: 80 MHz; needs at most 40 MHz with n"),
        ({"network.access.max_frames": 65, "network.access.standard": "ac"}, "network.access.max_frames: 65; needs at most 64 with ac"),
        ({"network.access.streams": 2, "network.access.standard": "a"}, "network.access.streams: 2; needs 1 with a"),
        ({"network.access.cw_min": 14}, "network.access.cw_min: 14; needs a power of 2, less 1"),
        ({"network.access.cw_max": 7}, "network.access.cw_max: 7; needs at least cw_min, 15"),
        ({"network.access.suspend_every": "10 ms", "network.access.suspend_for": "10 ms"}, "network.access.suspend_for: 10 ms; needs less than suspend_every"),
        ({"network.access.aifsn": 7}, "network.return_access.aifsn: 3; needs 7, as the first link of its cell"),
        ({"network.access.width": "30 MHz"}, "network.access.width: '30 MHz'; "),
        ({"network.access.frame_error": 2}, "network.access.frame_error: 2; "),
        ({"network.return_access": {"kind": "dvb-rcs2", "cell": "home"}}, "network.return_access.kind: of another access; needs one kind in each cell"),
    ],
)  # fmt: skip
def test_unsuitable_wifi_is_rejected_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        home(**changes)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_contention_depends_on_the_seed() -> None:
    assert not seedless(home())
    assert simulate(home(), seed=1).state_hash != simulate(home(), seed=2).state_hash
    assert simulate(home(), seed=1).state_hash == simulate(home(), seed=1).state_hash


@pytest.mark.parametrize("name", MODES)
def test_closed_form_is_that_of_the_independent_witness(name: str) -> None:
    mode = dcf.MODES[WITNESSES[name]]
    for stations in dcf.STATIONS:
        times = (mode.slot_us, mode.success_us, mode.collision_us("eifs"))
        expected = dcf.bianchi(stations, 16, 6, mode.payload_bits, *times)
        assert goodput_mbps(stations, MODES[name]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("stations", [5, 20])
def test_saturated_stations_have_the_goodput_of_bianchi(stations: int) -> None:
    mode = MODES["802.11n, 72.2 Mbit/s"]
    assert simulated_mbps(saturated(stations, mode, 10), seed=1) == pytest.approx(
        goodput_mbps(stations, mode), rel=0.02
    )


def suspended(conditions: dict[str, str]) -> dict[str, Any]:
    """Returns the path of a test of picoquic: no packet is sent, or received, during the suspensions."""
    latency = int(conditions["latency"])
    count, length = map(int, conditions["suspensions"].split("x"))
    begins = [1000 + number * int(conditions.get("every", 0)) for number in range(count)]
    if conditions["blocked"] == "transmit":
        steps = [
            [f"{at} ms", rate] for begin in begins for at, rate in ((begin, "0 bit/s"), (begin + length, "10 Mbit/s"))
        ]
        return {"kind": "moving", "rate": [["0 s", "10 Mbit/s"], *steps]}
    # Packets that would arrive in a suspension arrive at its end.
    delays = [["0 s", f"{latency} ms"]]
    for arrival in begins:
        sent = arrival - latency
        delays += [[f"{sent} ms", f"{latency} ms"], [f"{sent}.000001 ms", f"{latency + length} ms"]]
        delays.append([f"{sent + length} ms", f"{latency} ms"])
    return {"kind": "moving", "delay": delays}


def suspensions() -> list[tuple[dict[str, str], float]]:
    """Returns the conditions and the maximum completion times [s] of picoquic's tests."""
    lines = (FOLDER / "published.csv").read_text().splitlines()
    rows = csv.reader(line for line in lines if not line.startswith("#"))
    bounds = [
        (dict(pair.split("=", 1) for pair in row[1].split()), float(row[2])) for row in rows if "at most" in row[0]
    ]
    # picoquic's first BBR has no counterpart.
    return [(conditions, bound) for conditions, bound in bounds if conditions["control"] != "bbr1"]


@pytest.mark.parametrize(("conditions", "bound"), suspensions())
def test_linux_sender_completes_within_the_bounds_of_picoquic(conditions: dict[str, str], bound: float) -> None:
    control, latency = conditions["control"], f"{conditions['latency']} ms"
    queue = conditions["queue-ms"]
    network = {
        "kind": "dumbbell", "sources": 1, "access_rate": "1 Gbit/s", "access_delay": "0 s", "exit_delay": "0 s",
        "trunk_rate": "10 Mbit/s", "trunk_delay": latency, "path": suspended(conditions),
        "return_path": {"kind": "moving", "delay": [["0 s", latency]]},
    }  # fmt: skip
    scenario = Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": "6 s",
            "network": network,
            "switch": {"buffer": "unlimited" if queue == "none" else f"{queue} ms"},
            "tcp": {
                "profile": "linux-6",
                "congestion": "linux-reno" if control == "reno" else control,
                "handshake": True,
            },
            "traffic": {"kind": "transfer", "size": "3 MB"},
        }
    )
    completed_s = simulate(scenario).flows["completion_s"].iloc[0]
    # The transfer takes 2.4 s at 10 Mbit/s, and the sender stays busy except in the suspensions.
    assert 2.4 < completed_s <= bound
