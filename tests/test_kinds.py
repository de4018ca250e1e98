"""Properties that are stated for kinds of parts, compared with runs of one scenario per kind."""

from pathlib import Path
from typing import Any

import pytest

from longpipe import Scenario, simulate
from longpipe.advise.theory import LOSS_BASED
from longpipe.cautions.cautions import MARK, SELECTIVE, cautions, seedless
from longpipe.scenario.acks import Ack
from longpipe.scenario.base import kinds
from longpipe.scenario.conditioners import Conditioner
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.framings import FOR_PACKETS
from longpipe.scenario.loss import Loss
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.remedies import of_control
from longpipe.scenario.source import OVER_TCP
from longpipe.scenario.starts import Start
from longpipe.scenario.timers import Timer
from longpipe.scenario.traffic import Traffic

BASE = Scenario.from_toml("""
framing = "ip"
duration = "6 s"
start = { kind = "fixed", at = "0 s" }
switch.buffer = "20 packets"
tcp.profile = "linux-6"
network = { kind = "dumbbell", sources = 1, trunk_rate = "5 Mbit/s", trunk_delay = "10 ms", access_rate = "100 Mbit/s" }
""")
RANDOM_CLASS = """
from longpipe.control import Control, Grant

class Random(Control):
    def on_ack(self, ack):
        return Grant(window=(4 + 8 * self.random.random()) * ack.mss)
"""
# Required fields of kinds.
REQUIRED: dict[str, dict[str, Any]] = {
    "weighted-priority": {"weights": [1, 2]},
    "step-marking": {"threshold": 5, "unit": "packets"},
    "packets": {"indices": [5]},
    "at-times": {"instants": ["1 s"]},
    "bernoulli": {"probability": 0.01},
    "bit-errors": {"rate": 1e-6},
    "gilbert-elliott": {"good_to_bad": 0.001, "bad_to_good": 0.3},
    "gilbert-elliott-in-time": {"good": "1 s", "bad": "50 ms"},
    "over-time": {"steps": [["0 s", 0.01]]},
    "policer": {"rate": "4 Mbit/s", "burst": "20 KB"},
    "tbf": {"rate": "4 Mbit/s", "burst": "20 KB"},
    "jitter": {"delay": "2 ms", "jitter": "1 ms"},
    "reordering": {"probability": 0.1},
    "duplication": {"probability": 0.1},
    "aggregation": {"interval": "5 ms"},
    "cbr": {"rate": "1 Mbit/s"},
    "poisson": {"rate": "1 Mbit/s"},
    "on-off": {"rate": "1 Mbit/s"},
    "self-similar": {"rate": "50 kbit/s"},
    "video": {"rate": "1 Mbit/s"},
    "transfer": {"size": "1 MB"},
    "stream": {"rate": "1 Mbit/s"},
    "periodic": {"interval": 50},
    "flow-arrivals": {"load": 0.5, "sizes": {"kind": "fixed", "size": "50 KB"}},
    "staggered": {"interval": "10 ms"},
    "random": {"over": "100 ms"},
}
# Kinds that other tests run, because they need a compiler, a program or a file.
WITH_FILES = {"module", "stack", "stack-path", "own-stack", "arrivals"}
# Load under which a discipline draws, if TCP alone does not make it draw: BLUE of CAKE and PI react to overload.
OVERLOAD = {"traffic": {"kind": "cbr", "rate": "20 Mbit/s"}}


def table(kind: str) -> dict[str, Any]:
    return {"kind": kind, **REQUIRED.get(kind, {})}


def of_control_with_needs(kind: str) -> dict[str, Any]:
    fields = {f"tcp.{name}": value for name, value in of_control(kind, "linux-6").items()}
    return {"tcp.congestion": kind, **fields}


def conditioned(kind: str) -> dict[str, Any]:
    # Packets skip the delay of the jitter.
    constant = [{"kind": "jitter", "delay": "2 ms", "jitter": "0 ms"}] if kind == "reordering" else []
    return {"network.conditioners": [*constant, table(kind)]}


PARTS: dict[str, dict[str, Any]] = {
    **{f"tcp.congestion={kind}": of_control_with_needs(kind) for kind in kinds(Congestion) if kind != "python"},
    **{f"tcp.recovery={kind}": {"tcp.recovery": kind} for kind in kinds(Recovery)},
    **{f"switch.policy={kind}": {"switch.policy": table(kind)} for kind in FOR_PACKETS},
    **{f"switch.policy={kind}": {"switch.policy": kind, **OVERLOAD} for kind in ("cake", "pi")},
    **{f"loss={kind}": {"network.trunk_loss": table(kind)} for kind in kinds(Loss)},
    **{f"traffic={kind}": {"traffic": table(kind)} for kind in kinds(Traffic) if kind not in WITH_FILES},
    **{f"start={kind}": {"start": table(kind)} for kind in kinds(Start)},
    **{f"timer={kind}": {"tcp.timer": kind} for kind in kinds(Timer)},
    **{
        f"phase={kind}": {"tcp.timer": {"kind": "coarse", "phase": kind}, "network.trunk_loss": table("packets")}
        for kind in ("common", "per-flow")
    },
    **{f"ack={kind}": {"tcp.ack": kind} for kind in kinds(Ack)},
    **{f"conditioner={kind}": conditioned(kind) for kind in kinds(Conditioner)},
    "constant jitter": {"network.conditioners": [{"kind": "jitter", "delay": "2 ms", "jitter": "0 ms"}]},
    "send jitter": {"network.send_jitter": "1 ms"},
}
for file_kind in WITH_FILES:
    PARTS.pop(f"tcp.congestion={file_kind}", None)


@pytest.mark.parametrize("part", PARTS)
def test_seed_has_an_effect_unless_a_warning_denies_it(part: str) -> None:
    scenario = BASE.with_(**PARTS[part])
    hashes = {simulate(scenario, seed=seed).state_hash for seed in range(1, 6)}
    assert (len(hashes) > 1) == (seedless(scenario) == "")


def test_class_that_draws_random_numbers_depends_on_the_seed(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(RANDOM_CLASS)
    scenario = BASE.with_(**{"tcp.congestion": {"kind": "python", "class": f"{file}:Random"}})
    assert simulate(scenario, seed=1).state_hash != simulate(scenario, seed=2).state_hash
    assert seedless(scenario) == ""


@pytest.mark.parametrize("ecn", [True, False])
@pytest.mark.parametrize("kind", FOR_PACKETS)
def test_policies_that_mark_are_those_without_a_warning(kind: str, *, ecn: bool) -> None:
    own = table(kind) | ({"ecn": ecn} if has_ecn(kind) else {})
    scenario = BASE.with_(**{"switch.policy": own, "tcp.ecn": "classic", "switch.buffer": "100 packets"})
    marked = int(simulate(scenario).ports["packets_marked"].sum())
    assert (marked > 0) == (kind in MARK if not has_ecn(kind) else ecn)
    assert (marked > 0) != any("no packet is marked" in line for line in cautions(scenario))


def has_ecn(kind: str) -> bool:
    return hasattr(BASE.with_(**{"switch.policy": table(kind)}).switch.policy, "ecn")


@pytest.mark.parametrize("kind", kinds(Recovery))
def test_sack_delay_matters_for_selective_recoveries(kind: str) -> None:
    lossy = BASE.with_(**{"tcp.recovery": kind, "network.trunk_loss": {"kind": "bernoulli", "probability": 0.01}})
    delays = ("0 s", "8 ms")
    hashes = {simulate(lossy.with_(**{"tcp.ack.sack_delay": delay})).state_hash for delay in delays}
    assert (len(hashes) == 2) == (kind in SELECTIVE)


@pytest.mark.parametrize("kind", [kind for kind in kinds(Traffic) if kind not in WITH_FILES])
def test_kinds_over_tcp_are_those_that_are_acknowledged(kind: str) -> None:
    # Requests of web pages and of video players flow back as well; all of them are over TCP.
    result = simulate(BASE.with_(traffic=table(kind)))
    back = result.ports.set_index("port")["packets_in"]["switch2->switch1"]
    assert (back > 0) == (kind in OVER_TCP)


@pytest.mark.parametrize("kind", [kind for kind in kinds(Congestion) if kind not in (*WITH_FILES, "python")])
def test_loss_based_controls_overflow_a_buffer_repeatedly(kind: str) -> None:
    changes = {"duration": "30 s", "switch.buffer": "1 BDP", "network.trunk_delay": "50 ms", "traces.events": True}
    events = simulate(BASE.with_(**of_control_with_needs(kind), **changes)).traces["events"]
    reductions = events[(events["kind"] == "reduction") & (events["drop_cause"] == "overflow")]
    # The first one may end slow start.
    assert (len(reductions) > 1) == (kind in LOSS_BASED)
