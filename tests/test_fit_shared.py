"""Fits of captures with several connections of one host, which share a bottleneck or do not."""

import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

from longpipe import Scenario, simulate
from longpipe.fit import fit, observe
from longpipe.fit.features import features
from longpipe.fit.path_file import write
from longpipe.fit.reported import estimates, report
from longpipe.fit.series import TRACES, simulated
from longpipe.fit.whatif import whatif
from longpipe.units import RATE

MSS = {"mss": "1448 B", "receiver_window": "auto"}


def captured(path: Path, *, rate: str, delays: list[str], buffer: int, controls: list[str], policy: str) -> Path:
    """Returns a capture at a host whose flows share a trunk to several receivers, one per delay."""
    nodes = [{"name": name, "kind": "switch" if name in "st" else "host"} for name in ("a", "s", "t")]
    nodes += [{"name": f"b{place}", "kind": "host"} for place in range(len(delays))]
    links = [
        {"between": ["a", "s"], "rate": "1 Gbit/s", "delay": "1 ms"},
        {"between": ["s", "t"], "rate": rate, "delay": "10 ms"},
        *({"between": ["t", f"b{place}"], "rate": "1 Gbit/s", "delay": delay} for place, delay in enumerate(delays)),
    ]
    flows: list[dict[str, Any]] = [
        {
            "name": f"f{place}",
            "from": "a",
            "to": f"b{place % len(delays)}",
            "tcp": {"congestion": control},
            "start": {"kind": "fixed", "at": f"{place * 0.6} s"},
        }
        for place, control in enumerate(controls)
    ]
    fields = {
        "framing": "ip",
        "duration": "7 s",
        "network": {"kind": "graph", "nodes": nodes, "links": links, "flows": flows},
        "switch": {"buffer": f"{buffer} packets", "policy": policy},
        "tcp": {"profile": "linux-6", **MSS},
    }
    simulate(Scenario.model_validate({"defaults": "1996", **fields}), captures={"host:a": str(path)})
    return path


@pytest.mark.parametrize("seed", range(8))
def test_rate_and_buffer_are_those_of_all_flows(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    rate, buffer = random.uniform(5, 20), random.randint(30, 120)
    controls = [random.choice(("cubic", "linux-reno", "htcp")) for _ in range(random.randint(2, 3))]
    delays = [f"{random.uniform(5, 40):.3f} ms" for _ in range(random.randint(1, 2))]
    path = captured(
        tmp_path / "host.pcapng",
        rate=f"{rate:.3f} Mbit/s",
        delays=delays,
        buffer=buffer,
        controls=controls,
        policy="tail-drop",
    )
    for flow in range(len(controls)):
        found = features(observe(path, flow))
        assert len(found.shared) == len(controls) - 1
        assert found.rate_bps is not None
        assert found.rate_bps.value == pytest.approx(RATE.parse(f"{rate:.3f} Mbit/s"), rel=0.002)
        assert found.buffer is not None
        assert found.buffer.low <= buffer <= found.buffer.high + 1
        assert not found.elsewhere.any()


def test_scenario_contains_the_flows_that_share_the_bottleneck(tmp_path: Path) -> None:
    path = captured(
        tmp_path / "host.pcapng",
        rate="8 Mbit/s",
        delays=["20 ms"],
        buffer=60,
        controls=["cubic", "linux-reno"],
        policy="tail-drop",
    )
    found = report(fit(observe(path), ["cubic", "linux-reno"]))
    first, second = (flow["tcp"]["congestion"] for flow in found.scenario.resolved["flows"])
    assert (first["kind"], second) == ("cubic", "linux-reno")
    assert next(iter(found.controls)) == "cubic"
    write(found, tmp_path / "path.toml")
    told = whatif(tmp_path / "path.toml", {"tcp.congestion": "bbr"}, 3)
    goodput = told.measures[0]
    assert told.flows == ("fitted",)
    # Both flows together have 7.7 Mbit/s.
    assert goodput.baseline[0] == pytest.approx(goodput.observed, rel=0.1)
    assert goodput.changed[0] < 7e6


def test_flows_in_separate_queues_leave_the_buffer_uncertain(tmp_path: Path) -> None:
    path = captured(
        tmp_path / "host.pcapng",
        rate="8 Mbit/s",
        delays=["20 ms"],
        buffer=1000,
        controls=["cubic", "bbr"],
        policy="fq-codel",
    )
    found = fit(observe(path), ["cubic", "linux-reno"])
    told = report(found)
    assert any("share the path" in doubt for doubt in told.doubts)
    assert (told.controls, told.queues) == ({}, {})
    assert estimates(found)["rate"]["high"] is None
    write(told, tmp_path / "path.toml")
    predicted = whatif(tmp_path / "path.toml", {"tcp.congestion": "bbr"}, 3)
    assert all(math.isnan(one.changed[1]) for one in predicted.measures)


def test_losses_of_a_run_are_attributed_to_each_flow(tmp_path: Path) -> None:
    path = captured(
        tmp_path / "host.pcapng",
        rate="8 Mbit/s",
        delays=["20 ms"],
        buffer=60,
        controls=["cubic", "linux-reno"],
        policy="tail-drop",
    )
    found = fit(observe(path), ["cubic", "linux-reno"])
    result = simulate(report(found).scenario.with_(**TRACES))
    lost = [simulated(result, found.observation.duration_s, flow).lost for flow in (0, 1)]
    assert min(lost) > 0
    assert sum(lost) == result.ports["packets_lost_overflow"].sum()
