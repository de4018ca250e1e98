import pytest

from longpipe import Scenario, ScenarioError, simulate
from longpipe.scenario import Ubr

# Cells per second of a link of 155.52 Mbit/s.
LINK = 155_520_000 // 424


def guaranteed(shares: list[float], **changes: object) -> Scenario:
    group = [
        {"name": f"vc{number}", "service": {"kind": "gfr", "mcr": int(share * LINK)}}
        for number, share in enumerate(shares)
    ]
    wan = {f"network.{part}_delay": "5 ms" for part in ("access", "trunk", "exit")}
    tcp = {"tcp.recovery": "sack", "tcp.receiver_window": "600000 B"}
    switch = {"switch.scheduler": "wfq", "switch.policy": "selective-drop", "switch.buffer": "12000 cells"}
    return Scenario(defaults="1996").with_(
        **{"network.group": group, **wan, **tcp, **switch, "duration": "5 s", **changes}
    )


def test_vcs_get_their_guarantees_and_share_the_rest() -> None:
    shares = [0.1, 0.14, 0.18, 0.22, 0.26]
    result = simulate(guaranteed(shares, duration="20 s"))
    cells_s = result.guaranteed["cells_delivered"] / 20
    assert (cells_s >= [0.95 * share * LINK for share in shares]).all()
    assert cells_s.sum() > 0.93 * LINK
    assert (result.guaranteed["cells_ineligible"] > 0).all()


@pytest.mark.parametrize("policy", ["selective-drop", "dfba"])
def test_queue_per_vc_over_a_constant_path_equals_a_static_link(policy: str) -> None:
    static = guaranteed([0.1, 0.3], **{"switch.policy": policy})
    path = static.with_(**{"network.path": {"rate": [["0 s", "155.52 Mbit/s"]]}})
    assert simulate(path).guaranteed.equals(simulate(static).guaranteed)


def test_a_flow_without_a_category_equals_one_over_ubr() -> None:
    plain = Scenario(defaults="1996").with_(**{"network.group": [{"name": "a"}], "duration": "1 s"})
    ubr = plain.with_(**{"network.group": [{"name": "a", "service": Ubr()}]})
    assert simulate(plain).state_hash == simulate(ubr).state_hash
    assert simulate(plain).guaranteed.empty


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"network.access_rate": "10 Mbit/s"},
            "network.group[0].service.mcr: 36679, 36679 cells/s in total over source1->switch1; needs at most the 23584 "
            "cells/s of the link",
        ),
        (
            {"framing": "ip", "switch.scheduler": "fifo", "switch.buffer": "1 BDP"},
            "network.group[0].service: gfr; needs framing 'aal5', because IP packets have no VCs",
        ),
        (
            {"network.vbr": {}},
            "switch.scheduler: wfq has no queue for VBR; needs priority or guaranteed-rate",
        ),
        ({"switch.policy": {"kind": "dfba", "low": 0.9}}, "switch.policy.high: 0.9; needs more than low, 0.9"),
    ],
)
def test_impossible_guarantees_are_rejected_in_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        guaranteed([0.1, 0.2], **changes)
    assert str(refused.value) == message


def test_guarantees_that_exceed_the_trunk_together_are_rejected() -> None:
    with pytest.raises(ScenarioError, match=r"network\.group\[2\]\.service\.mcr: .* in total over switch1->switch2"):
        guaranteed([0.4, 0.4, 0.4])
