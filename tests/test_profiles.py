from pathlib import Path

import pytest
from typer.testing import CliRunner

from longpipe import Scenario, ScenarioError, simulate
from longpipe.cli import app
from longpipe.scenario import Tcp
from longpipe.scenario.congestion import Cubic, HighSpeed
from longpipe.scenario.profiles import PROFILES


def test_set_fields_take_precedence_over_the_profile() -> None:
    linux = Tcp(profile="linux-6")
    assert (linux.recovery.kind, linux.congestion.kind, linux.initial_window) == ("rack", "cubic", "10 segments")
    assert linux.timer.model_dump()["granularity"] == "200 ms"
    own = Tcp.model_validate({"profile": "linux-6", "congestion": "linux-reno", "mss": "9000 B"})
    assert (own.recovery.kind, own.congestion.kind, own.mss) == ("rack", "linux-reno", "9000 B")


def test_classic_profile_keeps_its_digest() -> None:
    assert Tcp(profile="classic") == Tcp()
    assert Scenario(defaults="1996").with_(**{"tcp.profile": "classic"}).digest() == Scenario(defaults="1996").digest()
    assert "profile" not in str(Scenario(defaults="1996").with_(**{"tcp.profile": "linux-6"}).resolve())


IP = {"framing": "ip", "switch": {"buffer": "100 packets"}}


@pytest.mark.parametrize("named", ["cubic", {"kind": "cubic"}, Cubic()])
def test_a_control_that_is_named_follows_the_profiles_rules(named: object) -> None:
    plain = Scenario.model_validate({"defaults": "1996", **IP, "tcp": {"profile": "linux-6"}})
    assert plain.with_(**{"tcp.congestion": named}).digest() == plain.digest()
    assert Tcp.model_validate({"profile": "linux-6", "congestion": "highspeed"}).congestion == HighSpeed(rules="linux")
    assert Tcp.model_validate({"congestion": named}).congestion == Cubic(rules="rfc-9438")


def test_options_without_a_kind_are_those_of_the_profiles_control() -> None:
    tcp = Tcp.model_validate({"profile": "linux-6", "congestion": {"beta": 0.8}, "recovery": {"frto": False}})
    whole = {"kind": "cubic", "beta": 0.8}, {"kind": "rack", "dsack": True, "successive": True}
    assert tcp == Tcp.model_validate({"profile": "linux-6", "congestion": whole[0], "recovery": whole[1]})


def test_specified_rules_take_precedence_over_the_profile() -> None:
    said = {"kind": "cubic", "rules": "rfc-9438"}
    assert Tcp.model_validate({"profile": "linux-6", "congestion": said}).congestion == Cubic(rules="rfc-9438")
    changed = Scenario.model_validate({"defaults": "1996", **IP, "tcp": {"profile": "linux-6"}}).with_(
        **{"tcp.congestion.rules": "rfc-9438"}
    )
    assert changed.tcp.congestion == Cubic(rules="rfc-9438")
    assert Scenario.from_toml(changed.to_toml()).digest() == changed.digest()


def resolved(tcp: dict[str, object], **network: object) -> dict[str, object]:
    scenario = Scenario.model_validate({"defaults": "1996", **IP, "tcp": tcp, **network})
    assert Scenario.from_toml(scenario.to_toml()).resolve() == scenario.resolve()
    first: dict[str, object] = scenario.resolve()["flows"][0]["tcp"]
    return first


LINUX_VEGAS = {"alpha": 2.0, "beta": 4.0, "gamma": 1.0, "rules": "linux"}


@pytest.mark.parametrize(
    ("tcp", "options"),
    [
        ({"congestion": "vegas"}, LINUX_VEGAS),
        ({"congestion": {"kind": "vegas", "alpha": 1}}, LINUX_VEGAS | {"alpha": 1.0}),
        ({"congestion": "vegas", "vegas": {"beta": 7}}, LINUX_VEGAS | {"beta": 7.0}),
        ({"congestion": {"kind": "vegas", "rules": "brakmo-1995"}}, {"alpha": 1.0, "beta": 3.0, "gamma": 1.0}),
        ({"profile": "classic", "congestion": "vegas"}, {"alpha": 1.0, "beta": 3.0, "gamma": 1.0}),
    ],
)
def test_vegas_follows_linux_in_the_profile_of_linux(tcp: dict[str, object], options: object) -> None:
    assert resolved({"profile": "linux-6", **tcp})["vegas"] == options
    base = {name: value for name, value in tcp.items() if name == "profile"}
    group = [{"name": "one", "tcp": {name: value for name, value in tcp.items() if name not in base}}]
    of_group = resolved({"profile": "linux-6", **base}, network={"kind": "dumbbell", "group": group})
    assert of_group["vegas"] == options


def test_scalable_follows_linux_in_its_profile_and_kelly_otherwise() -> None:
    assert resolved({"profile": "linux-6", "congestion": "scalable"})["congestion"]["rules"] == "linux"  # type: ignore[index]
    assert "rules" not in resolved({"congestion": "scalable"})["congestion"]  # type: ignore[operator]


def test_kernel_clock_other_than_250_hz_is_resolved() -> None:
    assert "hz" not in resolved({"profile": "linux-6", "hz": 250})
    assert resolved({"profile": "linux-6", "hz": 100})["hz"] == 100
    with pytest.raises(ScenarioError, match=r"tcp\.hz: 0; .*24"):
        Scenario(defaults="1996").with_(**{"tcp.hz": 0})


RFC_6675 = {"congestion": "linux-reno", "recovery": "rfc6675"}
LOSSY = {"trunk_rate": "10 Mbit/s", "trunk_delay": "10 ms", "trunk_loss": {"kind": "packets", "indices": [9, 40, 90]}}
# The last segments of 100 KB wait for a delayed ACK.
WAITING = {"trunk_rate": "50 Mbit/s", "trunk_delay": "42 ms"}


@pytest.mark.parametrize(
    ("tcp", "network", "counts_ticks"),
    [
        ({"congestion": "cubic", "ack": "immediate"}, LOSSY, True),
        ({"congestion": "westwood", "ack": "immediate"}, LOSSY, True),
        # The reordering timer of `rack` and the delayed ACKs of Linux count ticks with every control.
        ({"congestion": "bbr", "ack": "immediate"}, LOSSY, True),
        ({"congestion": "linux-reno", "ack": "immediate"}, LOSSY, True),
        ({**RFC_6675, "ack": {"kind": "linux", "write_every": "20 ms"}}, WAITING, True),
        ({**RFC_6675, "ack": "immediate"}, LOSSY, False),
        ({**RFC_6675, "ack": "immediate"}, WAITING, False),
        ({**RFC_6675, "ack": "delayed"}, WAITING, False),
    ],
)
def test_the_kernel_s_clock_counts_for_these_parts(
    tcp: dict[str, object], network: dict[str, object], *, counts_ticks: bool
) -> None:
    fields = {
        "network": {"kind": "dumbbell", "sources": 1, **network},
        "traffic": {"kind": "transfer", "size": "100 KB"},
    }
    base = Scenario.model_validate({"defaults": "1996", **IP, "duration": "3 s", **fields})
    clocks = (base.with_(tcp={"profile": "linux-6", **tcp, "hz": hz}) for hz in (100, 250))
    slow, fast = (simulate(one).state_hash for one in clocks)
    assert (slow != fast) == counts_ticks


def test_flow_with_another_control_follows_the_scenarios_profile(tmp_path: Path) -> None:
    groups = [{"name": "named", "tcp": {"congestion": "cubic"}}, {"name": "unnamed"}]
    mixed = Scenario.model_validate(
        {**IP, "tcp": {"profile": "linux-6"}, "network": {"kind": "dumbbell", "group": groups}}
    )
    named, unnamed = (flow["tcp"] for flow in mixed.resolve()["flows"])
    assert named == unnamed
    assert mixed.with_(name="again").digest() == mixed.digest()
    path = tmp_path / "mixed.toml"
    path.write_text(mixed.to_toml())
    assert Scenario.from_toml(path).digest() == mixed.digest()


def test_another_profile_changes_the_fields_that_were_not_set() -> None:
    said = Scenario(defaults="1996").with_(**{"tcp.mss": "1000 B", "framing": "ip", "switch.buffer": "100 packets"})
    linux = said.with_(**{"tcp.profile": "linux-6"})
    assert (linux.tcp.mss, linux.tcp.recovery.kind, str(linux.tcp.timer.kind)) == ("1000 B", "rack", "fine")
    back = linux.with_(**{"tcp.profile": "classic"})
    assert back.digest() == said.digest()


def test_profile_of_a_flow_is_kept_in_a_file(tmp_path: Path) -> None:
    scenario = Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "switch": {"buffer": "100 packets"},
            "network": {
                "kind": "dumbbell",
                "group": [{"name": "new", "tcp": {"profile": "linux-6"}}, {"name": "old", "tcp": {"mss": "1460 B"}}],
            },
        }
    )
    kinds = [flow["tcp"]["recovery"] for flow in scenario.resolve()["flows"]]
    assert kinds[0]["kind"] == "rack"
    assert kinds[1] == "reno"
    path = tmp_path / "mixed.toml"
    path.write_text(scenario.to_toml())
    assert Scenario.from_toml(path).digest() == scenario.with_(name="mixed").digest()


def test_output_header_names_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(Scenario(defaults="1996").with_(**{"tcp.profile": "linux-6", "duration": "50 ms"}).to_toml())
    assert (
        "cubic TCP with rack (linux-6), MSS 1448 B" in CliRunner().invoke(app, ["run", str(path), "--no-store"]).stdout
    )


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_runs_as_packets_and_as_cells(name: str) -> None:
    for framing, buffer in (("ip", "100 packets"), ("aal5", "3000 cells")):
        changes = {"tcp.profile": name, "framing": framing, "switch.buffer": buffer, "duration": "1 s"}
        assert simulate(Scenario(defaults="1996").with_(**changes), 1).efficiency > 0.3


def test_unknown_profile_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ScenarioError, match=r"tcp\.profile: 'linux-2'; .*accepts classic, linux-6"):
        Scenario(defaults="1996").with_(**{"tcp.profile": "linux-2"})


def opens(scenario: Scenario) -> list[bool]:
    """Returns whether each flow uses a handshake."""
    return [bool(flow["tcp"].get("handshake")) for flow in scenario.resolve()["flows"]]


def test_linux_opens_with_a_handshake_unless_the_round_trip_is_known() -> None:
    one = {**IP, "network": {"kind": "dumbbell", "sources": 1}}
    linux = Scenario.model_validate({"defaults": "1996", **one, "tcp": {"profile": "linux-6"}})
    assert opens(linux) == [True]
    assert opens(linux.with_(**{"tcp.handshake": False})) == [False]
    # If the RTT is known, from a file or because it is set later, no handshake is needed to measure it.
    known = linux.with_(**{"tcp.initial_rtt": "100 ms"})
    assert opens(known) == [False]
    assert known == Scenario.model_validate(
        {"defaults": "1996", **one, "tcp": {"profile": "linux-6", "initial_rtt": "100 ms"}}
    )
    assert opens(Scenario.from_toml(known.to_toml())) == [False]
    assert opens(
        Scenario.model_validate({"defaults": "1996", **one, "tcp": {"profile": "linux-6", "initial_rtt": "0 s"}})
    ) == [True]
    with pytest.raises(ScenarioError, match=r"tcp\.initial_rtt: 100 ms; needs 0 s with a handshake"):
        linux.with_(**{"tcp.handshake": True, "tcp.initial_rtt": "100 ms"})


@pytest.mark.parametrize(
    ("shared", "own", "opened"),
    [
        ({"profile": "linux-6"}, {"initial_rtt": "10 ms"}, [False, True]),
        ({"profile": "linux-6", "initial_rtt": "10 ms"}, {"congestion": "bbr"}, [False, False]),
        ({"initial_rtt": "10 ms"}, {"profile": "linux-6"}, [True, False]),
    ],
)
def test_flow_overrides_the_scenarios_handshake_or_round_trip(
    shared: dict[str, object], own: dict[str, object], opened: list[bool]
) -> None:
    network = {"kind": "dumbbell", "group": [{"name": "own", "tcp": own}, {"name": "shared"}]}
    assert opens(Scenario.model_validate({"defaults": "1996", **IP, "tcp": shared, "network": network})) == opened


def test_lost_first_window_waits_for_the_measured_timeout() -> None:
    # Incast: the SYNs of 64 senders fit in 64 KB, but their initial windows do not. 16.4 MB take 0.14 s on the trunk.
    delays = dict.fromkeys(("access_delay", "exit_delay", "trunk_delay"), "10 us")
    timer = {"kind": "fine", "granularity": "1 ms", "min_rto": "1 ms", "max_rto": "120 s", "timestamps": True}
    incast = Scenario.model_validate(
        {
            "defaults": "1996",
            "framing": "ip",
            "duration": "5 s",
            "switch": {"buffer": "64 KB"},
            "network": {
                "kind": "dumbbell",
                "sources": 64,
                "access_rate": "1 Gbit/s",
                "trunk_rate": "1 Gbit/s",
                **delays,
            },
            "traffic": {"kind": "transfer", "size": "256 KB"},
            "tcp": {"profile": "linux-6", "timer": timer},
        }
    )
    assert 0.136 < simulate(incast).flows["completion_s"].max() < 0.25
