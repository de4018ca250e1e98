import re
from collections.abc import Callable
from pathlib import Path

import pytest

from longpipe import Scenario, ScenarioError
from longpipe.cli import main
from longpipe.examples import EXAMPLES, example
from longpipe.scenario import Dumbbell, Policy, Switch
from longpipe.scenario.base import kinds
from longpipe.scenario.framings import FOR_PACKETS
from longpipe.scenario.reference import all_fields

ROOT = Path(__file__).parent.parent

POLICIES = ", ".join(kinds(Policy))
LOSSES = "none, packets, periodic, at-times, bernoulli, over-time, gilbert-elliott-in-time, gilbert-elliott, bit-errors"


def message(build: Callable[[], object]) -> str:
    with pytest.raises(ScenarioError) as error:
        build()
    return str(error.value)


NO_CELLS = "IP routers do not queue cells, needs packets, bytes, BDP or a time, as in '1 BDP'"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        # Unknown fields.
        (
            "switch.bufer",
            1,
            "switch.bufer: unknown field; did you mean 'buffer'? accepts buffer, policy, scheduler, ties, slot_phase",
        ),
        (
            "switch.policy",
            {"kind": "tail-drop", "threshold": 0.5},
            "switch.policy.threshold: unknown field; accepts kind; kinds with this field: epd, selective-drop, fba, step-marking",
        ),
        # The table that has the field is named.
        (
            "traffic",
            {"kind": "on-off", "rate": "1 Mbit/s", "on": "1 s", "off": "1 s", "times": "pareto", "shape": 1.5},
            "traffic.shape: unknown field; accepts kind, rate, payload, on, off, times; shape is a field of times",
        ),
        ("switch.policy.", 0, "switch.policy.'': unknown field; accepts kind"),
        (f"switch.policy.{'x' * 5000}", 0, f"switch.policy.{'x' * 77}...: unknown field; accepts kind"),
        # Units.
        (
            "switch.buffer",
            "10 Mbit/s",
            "switch.buffer: '10 Mbit/s' is not a buffer size; accepts cells, packets, BDP, B, KB, KiB, MB, MiB, "
            "GB, GiB, ps, ns, us, ms, s, min, h, as in '1000 cells', or 'unlimited'",
        ),
        (
            "switch.buffer",
            1000,
            "switch.buffer: 1000 has no unit; accepts cells, packets, BDP, B, KB, KiB, MB, MiB, "
            "GB, GiB, ps, ns, us, ms, s, min, h, as in '1000 cells', or 'unlimited'",
        ),
        ("tcp.mss", 512, "tcp.mss: 512 has no unit; accepts B, KB, KiB, MB, MiB, GB, GiB, as in '64 KiB'"),
        (
            "tcp.timer.min_rto",
            "2 s",
            "tcp.timer.min_rto: '2 s' is not a number of ticks; accepts ticks, as in '2 ticks'",
        ),
        (
            "network.trunk_rate",
            "155 mbit/s",
            "network.trunk_rate: '155 mbit/s' is not a bit rate, it is 'Mbit/s' here; "
            "accepts bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, as in '155.52 Mbit/s'",
        ),
        # Negative and excessive quantities.
        ("duration", "-5 s", "duration: -5 s; needs 1 ps to 2400 h"),
        ("duration", "1e99 s", "duration: 1e99 s; needs 1 ps to 2400 h"),
        ("network.access_delay", "-1 ms", "network.access_delay: -1 ms; needs 0 s to 1000 s"),
        ("network.trunk_rate", "0 Mbit/s", "network.trunk_rate: 0 Mbit/s; needs 1 kbit/s to 10 Tbit/s"),
        ("network.sources", 0, "network.sources: 0; needs at least 1"),
        ("network.sources", 10**9, "network.sources: 1000000000; needs at most 100000"),
        ("network.sources", "many", "network.sources: 'many'; needs a whole number"),
        # Text is no number, and neither text nor a number is a boolean.
        ("network.sources", "5", "network.sources: '5'; needs a whole number"),
        ("network.sources", True, "network.sources: True; needs a whole number"),
        ("tcp.ecn", {"kind": "dctcp", "ect": True}, "tcp.ecn.ect: True; accepts 0, 1"),
        ("switch.policy", {"kind": "fba", "z": "0.5"}, "switch.policy.z: '0.5'; needs a number"),
        ("switch.policy", {"kind": "fba", "z": True}, "switch.policy.z: True; needs a number"),
        ("tcp.pacing", "yes", "tcp.pacing: 'yes'; needs true or false"),
        ("tcp.pacing", "true", "tcp.pacing: 'true'; needs true or false"),
        ("tcp.pacing", 1, "tcp.pacing: 1; needs true or false"),
        ("switch.slot_phase", 1.0, "switch.slot_phase: 1.0; needs less than 1.0"),
        (
            "switch.buffer",
            "1e12 cells",
            "switch.buffer: 1e12 cells; needs at least one full packet and at most 1000000000 cells, or 'unlimited'",
        ),
        # Buffers smaller than a packet.
        ("switch.buffer", "0 cells", "switch.buffer: 0 cells; needs at least one full packet (12 cells at MSS 512)"),
        ("switch.buffer", "11 cells", "switch.buffer: 11 cells; needs at least one full packet (12 cells at MSS 512)"),
        (
            "switch.buffer",
            "1 BDP",
            "switch.buffer: 1 BDP (11 cells); needs at least one full packet (12 cells at MSS 512)",
        ),
        # Units that belong to the other framing.
        (
            "switch.buffer",
            "30 KB",
            "switch.buffer: 30 KB; ATM switches count cells, needs cells, packets, BDP or a time",
        ),
        (
            "switch.buffer",
            "1001 s",
            "switch.buffer: 1001 s; needs at least one full packet and at most 1000 s, or 'unlimited'",
        ),
        (
            "switch.buffer",
            "20 us",
            "switch.buffer: 20 us (7 cells); needs at least one full packet (12 cells at MSS 512)",
        ),
        ("framing", "atm", "framing: 'atm'; it is 'aal5' here; accepts aal5, ip"),
        # Segments and windows.
        ("tcp.mss", "0 B", "tcp.mss: 0 B; needs 1 B to 65000 B"),
        ("tcp.receiver_window", "256 B", "tcp.receiver_window: 256 B; needs at least one segment (512 B)"),
        ("tcp.window_scale", 15, "tcp.window_scale: 15; needs 0 to 14, or 'as needed'"),
        ("tcp.window_scale", 0, "tcp.window_scale: 0; needs 1 to 14 for a window of 64 KiB"),
        ("tcp.sack.blocks", 0, "tcp.sack.blocks: 0; needs at least 1"),
        ("tcp.initial_ssthresh", "511 B", "tcp.initial_ssthresh: 511 B; needs at least one segment (512 B)"),
        ("tcp.initial_window", "0 segments", "tcp.initial_window: 0 segments; needs 1 segment to 1000000 segments"),
        ("tcp.congestion", {"kind": "vegas", "alpha": 4}, "tcp.congestion: beta 3; needs at least alpha, 4"),
        ("tcp.congestion", {"kind": "vegas", "gamma": 0}, "tcp.congestion.gamma: 0; needs more than 0.0"),
        ("tcp.duplicate_ack_threshold", 0, "tcp.duplicate_ack_threshold: 0; needs at least 1"),
        # Timers.
        ("tcp.timer.max_rto", "1 tick", "tcp.timer.max_rto: 1 tick; needs at least min_rto, 2 ticks"),
        ("tcp.timer.initial_rto", "1 tick", "tcp.timer.initial_rto: 1 tick; needs 2 ticks to 640 ticks"),
        (
            "tcp.timer.phase",
            {"kind": "fixed", "at": "100 ms"},
            "tcp.timer.phase.at: 100 ms; needs less than one tick (100 ms)",
        ),
        # Injected losses.
        (
            "network.trunk_loss",
            {"kind": "bernoulli", "probability": 1.5},
            "network.trunk_loss.probability: 1.5; needs at most 1.0",
        ),
        (
            "network.trunk_loss",
            "packets",
            "network.trunk_loss.indices: missing; needs a list of packet numbers, counted from 0, as in [14, 28]",
        ),
        # Service classes.
        (
            "switch.scheduler",
            {"kind": "guaranteed-rate", "share": 1.5},
            "switch.scheduler.share: 1.5; needs at most 1.0",
        ),
        (
            "switch.scheduler",
            {"kind": "guaranteed-rate", "share": -0.1},
            "switch.scheduler.share: -0.1; needs at least 0.0",
        ),
        (
            "switch.scheduler",
            {"kind": "guaranteed-rate", "share": 0.12345678901},
            "switch.scheduler.share: 0.12345678901; needs at most 9 decimals",
        ),
        (
            "switch.scheduler",
            "guaranteed-rate",
            "switch.scheduler.share: missing; needs a share of the slots for UBR while VBR cells wait "
            "[fraction of the link]; ATM Forum/97-0424 GR",
        ),
        (
            "switch.scheduler",
            "prio",
            "switch.scheduler: 'prio'; did you mean 'priority'? accepts fifo, priority, guaranteed-rate, wfq",
        ),
        ("network.vbr", {}, "switch.scheduler: fifo has no queue for VBR; needs priority or guaranteed-rate"),
        ("network.vbr", {"period": "0 s"}, "network.vbr.period: 0 s; needs 1 us to 1000000 s"),
        ("network.vbr", {"duty": 0}, "network.vbr.duty: 0; needs more than 0.0"),
        # Names of variants.
        (
            "tcp.recovery",
            "new-reno",
            "tcp.recovery: 'new-reno'; did you mean 'newreno'? accepts vanilla, tahoe, reno, newreno, sack, rfc6675, rack",
        ),
        (
            "switch.policy",
            "edp",
            f"switch.policy: 'edp'; did you mean 'epd'? accepts {POLICIES}",
        ),
        (
            "switch.policy",
            {},
            f"switch.policy: {{}}; needs a kind: {POLICIES}",
        ),
        (
            "switch.policy",
            "RED",
            f"switch.policy: 'RED'; it is 'red' here; accepts {POLICIES}",
        ),
        ("tcp.ecn", True, "tcp.ecn: True; accepts off, classic, dctcp, accurate"),
        (
            "network.trunk_loss",
            0.01,
            f"network.trunk_loss: 0.01; accepts {LOSSES}, as in {{kind = 'bernoulli', probability = 0.01}}",
        ),
        (
            "network.trunk_loss",
            "1 %",
            f"network.trunk_loss: '1 %'; accepts {LOSSES}, as in {{kind = 'bernoulli', probability = 0.01}}",
        ),
        ("network", "ring", "network: 'ring'; accepts dumbbell, graph"),
        # Values of a wrong type.
        (
            "switch",
            3,
            "switch: 3; needs a table of fields: buffer, policy, scheduler, ties, slot_phase",
        ),
        (
            "network.path",
            {"kind": "moving", "outages": [["8 s", "20 s"]]},
            "network.path.outages: [['8 s', '20 s']]; needs a table of fields: intervals, every, phase, gap, arriving, "
            "waiting, in_service, in_flight",
        ),
        ("switch.buffer.cells", 3, "switch.buffer.cells: switch.buffer is a value; needs a field that has parts"),
        ("tcp.silly_window_avoidance", "maybe", "tcp.silly_window_avoidance: 'maybe'; needs true or false"),
        ("start", "random", "start.over: missing; needs length of the interval [time], as in '100 ms'"),
        # Flows that would never start.
        ("start.at", "10 s", "start.at: 10 s; needs less than the duration, 10 s"),
    ],
)
def test_invalid_field_is_named_with_value_and_accepted_values(field: str, value: object, expected: str) -> None:
    assert message(lambda: Scenario(defaults="1996").with_(**{field: value})) == expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("switch.buffer", "551 B", "switch.buffer: 551 B; needs at least one full packet (552 B at MSS 512)"),
        ("switch.buffer", "0.5 packets", "switch.buffer: 0.5 packets (0 packets); needs at least one packet"),
        ("switch.buffer", "0.5 BDP", "switch.buffer: 0.5 BDP (0 packets); needs at least one packet"),
        ("switch.buffer", "20 us", "switch.buffer: 20 us (0 packets); needs at least one packet"),
        ("switch.buffer", "0.1 B", "switch.buffer: 0.1 B; needs a whole number of bytes"),
        (
            "switch.buffer",
            "1001 GB",
            "switch.buffer: 1001 GB; needs at least one full packet and at most 1000 GB, or 'unlimited'",
        ),
        ("switch.buffer", "900 cells", f"switch.buffer: 900 cells; {NO_CELLS}"),
        (
            "switch.policy",
            "epd",
            f"switch.policy: epd; is for cells, IP routers accept {', '.join(FOR_PACKETS)}",
        ),
        ("switch.scheduler", "priority", "switch.scheduler: priority; is for cells, IP routers accept fifo"),
        ("switch.ties", "rotating", "switch.ties: rotating; is for cells, IP routers accept port-order, random"),
        ("network.vbr", {}, "network.vbr: sends cells, which IP links do not carry; needs framing 'aal5'"),
    ],
)  # fmt: skip
def test_setting_that_ip_routers_lack_is_rejected(field: str, value: object, expected: str) -> None:
    ip = Scenario(defaults="1996").with_(framing="ip", **{"switch.buffer": "20 packets"})
    assert message(lambda: ip.with_(**{field: value})) == expected


def test_every_problem_has_its_line() -> None:
    assert message(lambda: Scenario(defaults="1996").with_(duration="5", **{"tcp.mss": "0 B"})).splitlines() == [
        "duration: '5' has no unit; accepts ps, ns, us, ms, s, min, h, as in '5 ms'",
        "tcp.mss: 0 B; needs 1 B to 65000 B",
    ]


TEXTS = {
    **{name: example(name) for name in EXAMPLES if "shell" not in example(name)},
    **{path.name: path.read_text() for path in sorted((ROOT / "scenarios").glob("*.toml"))},
}


def problems(text: str) -> tuple[str, ...]:
    try:
        Scenario.from_toml(text)
    except ScenarioError as error:
        return error.problems
    return ()


HEADER = re.compile(r"\s*\[+[\w.]+\]+")


@pytest.mark.parametrize("name", TEXTS)
def test_missing_header_of_a_table_is_one_line(name: str) -> None:
    lines = TEXTS[name].splitlines()
    for place, line in enumerate(lines):
        if HEADER.match(line):
            without = "\n".join(lines[:place] + lines[place + 1 :])
            assert len(problems(without)) <= 1, line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind = 'dumbbell'\nsources = 2", "kind: unknown field, as is sources; all are fields of network, "),
        (
            "[network]\nkind = 'dumbbell'\nat = 'a'\nbuffer = '3 MB'\n[network.tcp]",
            "network.at: unknown field, as are ",
        ),
        ("[tcp]\na1 = 1\nb2 = 2\nc3 = 3\nd4 = 4", "tcp.a1: unknown field, as are b2, c3, d4; accepts profile, "),
    ],
)
def test_fields_of_a_missing_table_name_it(text: str, expected: str) -> None:
    told = message(lambda: Scenario.from_toml(text))
    assert told.startswith(expected)
    assert "\n" not in told


def test_two_misspelt_fields_have_a_line_each() -> None:
    told = message(lambda: Scenario.from_toml("[tcp]\nmsss = 1\nreciver_window = 2"))
    assert [
        "did you mean 'mss'?" in line or "did you mean 'receiver_window'?" in line for line in told.splitlines()
    ] == [True, True]


def test_cross_field_problems_have_one_line_each() -> None:
    changes = {"tcp.receiver_window": "256 B", "tcp.timer.initial_rto": "1 tick"}
    with pytest.raises(ScenarioError) as error:
        Scenario(defaults="1996").with_(**changes)
    assert error.value.problems == (
        "tcp.receiver_window: 256 B; needs at least one segment (512 B)",
        "tcp.timer.initial_rto: 1 tick; needs 2 ticks to 640 ticks",
    )


def test_separately_created_part_is_validated() -> None:
    assert message(lambda: Dumbbell(sources=0)) == "sources: 0; needs at least 1"
    assert message(lambda: Switch(buffer="-1 cells")) == (
        "buffer: -1 cells; needs at least one full packet and at most 1000000000 cells, or 'unlimited'"
    )


def test_a_scenario_error_is_a_value_error() -> None:
    assert issubclass(ScenarioError, ValueError)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"duration = ", 'not TOML, Invalid value (at end of document); needs lines such as: duration = "10 s"'),
        (b"\xff\xfe", "UTF-16 text, not UTF-8 text; needs a TOML file"),
    ],
)
def test_file_that_is_not_toml_is_rejected(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    assert message(lambda: Scenario.from_toml(path)) == f"{path}: {expected}"


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert (
        message(lambda: Scenario.from_toml(path))
        == f"{path}: cannot be read, no such file or directory; needs a TOML file"
    )


def test_smallest_buffer_holds_exactly_one_packet() -> None:
    Scenario(defaults="1996").with_(**{"switch.buffer": "12 cells"})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run --seed abc a.toml", "--seed: 'abc'; needs a whole number"),
        ("run a.toml --set", "--set: no value given; needs FIELD=VALUE: change a field, as in switch.buffer='1 BDP'"),
        ("run a.toml --seed", "--seed: no value given; needs a value: seed of every random stream"),
        (
            "design a.toml --run",
            "--run: no value given; needs STUDY: run the design as a study of this name, as in --run buffers",
        ),
        (
            "run a.toml --seeds 1..10",
            "--seeds: no such option of longpipe run; did you mean '--seed' or --replications of longpipe design?",
        ),
        (
            "design a.toml --seeds 1..10",
            "--seeds: no such option of longpipe design; did you mean '--first-seed' or '--replications'?",
        ),
        ("design a.toml --no-store", "--no-store: needs --run STUDY"),
        (
            "study export --where",
            "--where: no value given; needs COLUMN=VALUE: use only the runs that meet this condition, such as 'efficiency>0.9'",
        ),
        (
            "run a.toml --trace=cwn",
            "--trace: 'cwn'; accepts cwnd, queue, vc_queue, sequence, rtt, delay, drops, grants, arrivals, control, events, "
            "flight, packets",
        ),
        (
            "run a.toml --measure x=throughput",
            "--measure: no such option of longpipe run; did you mean --measure of longpipe design?",
        ),
        ("run a.toml --sed 1", "--sed: no such option of longpipe run; did you mean '--seed'?"),
        (
            "run a.toml --set duration=20 s --seed 1",
            "'s': follows 'duration=20'; needs quotes around a value with spaces, as in --set 'duration=20 s'; "
            "`longpipe run --help` shows what is accepted",
        ),
        (
            "run a.toml --no-store -",
            "'-': follows --no-store, which has no value; `longpipe run --help` shows what is accepted",
        ),
        ("run a.toml b.toml", "'b.toml': needs no further argument; `longpipe run --help` shows what is accepted"),
        (
            "run a.toml --duration 5s",
            "--duration: no such option; did you mean --set duration=VALUE? `longpipe run --help` lists the options",
        ),
        (
            "plot a.toml window --mean-burst 5",
            "--mean-burst: no such option; `longpipe plot --help` lists the options",
        ),
        ("version --duration", "--duration: no such option; `longpipe version --help` lists the options"),
        (
            "live a.toml ping -c 2 sink1",
            "-c: no such option; an option of 'ping' needs -- before: live a.toml -- ping -c; "
            "`longpipe live --help` lists the options",
        ),
        (
            "live a.toml --at source1 iperf3 -c sink1 --at sink1 'iperf3 -s'",
            "-c: no such option; a command with options needs quotes: --at source1 'iperf3 -c sink1'; "
            "`longpipe live --help` lists the options",
        ),
        ("live a.toml -c 2", "-c: no such option; `longpipe live --help` lists the options"),
        ("live mm-linc up down", "FILE.toml: no file or command 'mm-linc'; did you mean 'mm-link'?"),
        ("sweep a.toml", "no such command 'sweep'; did you mean 'design'?; `longpipe --help` shows what is accepted"),
        (
            "fields bufer",
            "PATTERN: 'bufer' is in no field's name; did you mean 'buffer' or 'host_buffer' or 'burst'? "
            f"longpipe fields lists all {len(all_fields())}",
        ),
        ("run", "FILE.toml: missing; `longpipe run --help` describes it"),
        ("reproduce", "PAPER: missing; `longpipe reproduce --help` describes it"),
        ("reproduce frr-96 --seeds 0", "--seeds: '0'; needs at least 1"),
        ("rum", "no such command 'rum'; did you mean 'run'?; `longpipe --help` shows what is accepted"),
    ],
)
def test_bad_command_line_is_rejected_in_one_line(
    arguments: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["longpipe", *arguments.split()])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err == f"error: {expected}\n"


def test_change_may_replace_an_invalid_field_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('[switch]\nbuffer = "12 parsec"\n[tcp]\nrecovery = "reno"\n')
    changes = {"switch.buffer": "3000 cells", "tcp.recovery": "sack"}
    found = Scenario.from_toml(path, changes)
    assert (found.switch.buffer, found.tcp.recovery.kind) == ("3000 cells", "sack")
    assert "12 parsec" in message(lambda: Scenario.from_toml(path, {"tcp.recovery": "sack"}))
    assert "recovery" in message(lambda: Scenario.from_toml(path, {"switch.buffer": "3000 cells", "tcp.recovery": "x"}))


@pytest.mark.parametrize(
    ("field", "kinds"),
    [
        ("switch.policy.interval", "codel, fq-codel"),
        ("tcp.congestion.gain", "dctcp, ledbat"),
        ("traffic.size", "transfer, stack"),
    ],
)
def test_field_of_another_kind_names_the_kinds_that_have_it(field: str, kinds: str) -> None:
    with pytest.raises(ScenarioError, match=f"{field}: unknown field; .*; kinds with this field: {kinds}$"):
        Scenario.example("fiber").with_(**{field: "1 s"})


def test_field_within_a_group_is_not_compared_with_other_networks() -> None:
    with pytest.raises(ScenarioError) as error:
        Scenario.example("home").with_(**{"network.group.0.links": []})
    assert "kinds with this field" not in str(error.value)


@pytest.mark.parametrize("groups", [True, 5, 0.5, 10**30, "web", {"name": "web"}, [5], [[]], [{"count": "2"}]])
def test_groups_of_another_type_are_rejected_in_one_line(groups: object) -> None:
    with pytest.raises(ScenarioError, match=r"network\.group") as caught:
        Scenario(defaults="1996", network={"kind": "dumbbell", "group": groups})
    assert "\n" not in caught.value.problems[0]


@pytest.mark.parametrize("duty", [1e-9, 2.9e-7])
def test_pauses_beyond_every_run_are_rejected(duty: float) -> None:
    vbr = {"period": "300 ms", "duty": duty}
    changes = {"switch.scheduler": "priority", "network.vbr": vbr}
    with pytest.raises(ScenarioError) as caught:
        Scenario(defaults="1996").with_(**changes)
    expected = f"network.vbr.duty: {duty:g}; needs a mean pause of at most 1000000 s after bursts of 300 ms"
    assert caught.value.problems == (expected,)
    assert Scenario(defaults="1996").with_(**{**changes, "network.vbr": {**vbr, "duty": 3.1e-7}}).digest()
