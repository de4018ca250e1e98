"""Tests the answers to well-known names of features that longpipe lacks, or for which it uses another name."""

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.errors.alternatives import CALLED, NAMES, known


def refused(**changes: object) -> str:
    with pytest.raises(ScenarioError) as error:
        Scenario(defaults="1996").with_(**changes)
    (line,) = error.value.problems
    return line


@pytest.mark.parametrize(
    ("field", "value", "nearest"),
    [
        ("switch.policy", "WRED", "nearest is switch.policy = 'red' or 'pie'"),
        ("switch.policy", "cobalt", "nearest is switch.policy = 'cake'"),
        ("switch.policy", "fair-queueing", "nearest is switch.policy = 'fq-codel'"),
        ("tcp.congestion", "compound", "nearest is tcp.congestion = 'cubic'"),
        ("tcp.congestion", "bbr2", "nearest is tcp.congestion = 'bbr3'"),
        ("tcp.congestion", "BBRv2", "nearest is tcp.congestion = 'bbr3'"),
        ("tcp.congestion", "tcp_bbr2", "nearest is tcp.congestion = 'bbr3'"),
        ("tcp.ecn", "l4s", "nearest is tcp = {congestion = 'prague', ecn = {kind = 'accurate', ect = 1}}"),
    ],
)
def test_absent_name_suggests_the_nearest_alternative(field: str, value: object, nearest: str) -> None:
    line = refused(**{field: value})
    assert line.startswith(f"{field}: ")
    assert nearest in line
    assert "longpipe does not have (README.md, 'What it does not have')" in line
    assert "did you mean" not in line
    assert "; accepts " in line


def test_name_from_other_programs_is_translated() -> None:
    assert "it is 'tail-drop' here; accepts tail-drop" in refused(**{"switch.policy": "DropTail"})
    assert "it is 'transfer' here" in refused(traffic="ftp")
    assert "it is 'cbr' here" in refused(traffic="udp")
    reno = (
        "it is a loss recovery, tcp.recovery = 'reno'; its window is 'linux-reno' as in Linux, 'aimd' as in RFC 5681; "
    )
    reno += "accepts aimd, "
    assert reno in refused(**{"tcp.congestion": "reno"})
    for control in ("vegas", "cubic", "hybla"):
        line = refused(**{"tcp.recovery": control})
        assert f"it is a congestion control, tcp.congestion = '{control}'; accepts vanilla" in line
    assert "it is a buffer policy, switch.policy = 'epd'" in refused(**{"tcp.recovery": "epd"})
    assert "it is 'fq-codel' here" in refused(**{"switch.policy": "fq_codel"})
    assert "it is 'classic' here" in refused(**{"tcp.ecn": "RFC3168"})
    for other, own in (("min_th", "min"), ("max_th", "max")):
        line = refused(**{"framing": "ip", "switch.policy": {"kind": "red", other: 5}})
        assert f"switch.policy.{other}: unknown field; it is '{own}' here; accepts kind, min, " in line
    assert "it is 'rfc6675' here" in refused(**{"tcp.recovery": "FACK"})
    assert "it is 'prague' here" in refused(**{"tcp.congestion": "TCP-Prague"})
    assert "it is 'bbr3' here" in refused(**{"tcp.congestion": "BBR-v3"})
    assert "it is 'bit-errors' here" in refused(**{"network.trunk_loss": "BER"})


def test_mistyped_name_gets_a_suggestion() -> None:
    assert "did you mean 'epd'?" in refused(**{"switch.policy": "epdd"})


def test_accepted_names_are_not_reported_as_absent() -> None:
    described = Scenario.model_json_schema()
    # Linux as an end of a flow has its own controls, some of which are available elsewhere only as modules.
    assert "'cdg'" in str(described["$defs"].pop("Stack"))
    schema = str(described)
    assert not [name for name in NAMES if f"'{name}'" in schema]
    assert all(known(name, [called]) == f"it is {called!r} here" for name, called in CALLED.items())
