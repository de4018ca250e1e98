"""Every example with every command that takes a scenario, and with every kind of each part that a user may set first."""

import re
from functools import partial
from itertools import product
from pathlib import Path

import pytest

import commands
from longpipe import Scenario, ScenarioError
from longpipe.examples import EXAMPLES, MOVING
from longpipe.live import plan
from longpipe.scenario.base import kinds
from longpipe.scenario.congestion import Congestion
from longpipe.scenario.ecn import Ecn
from longpipe.scenario.policies import Policy
from longpipe.scenario.profiles import PROFILES
from longpipe.scenario.recovery import Recovery
from longpipe.scenario.remedies import of_control, with_remedies

# Kinds with a required field: a file, a threshold or weights.
NEED_MORE = {"module", "python", "step-marking", "weighted-priority"}
# The policy of cells that exists only for links of constant rate, so that no setting makes it valid on a path.
CONSTANT_ONLY = "dfba"
FIRST_SETTINGS = [
    ("tcp.profile", list(PROFILES)),
    ("tcp.congestion", kinds(Congestion)),
    ("tcp.recovery", kinds(Recovery)),
    ("tcp.ecn", kinds(Ecn)),
    ("switch.policy", kinds(Policy)),
]
# Links with medium access carry IP packets.
WITH_ACCESS = ("geo-rcs2", "geo-acm")
FOR_CELLS = ("partial-packet-discard", "epd", "dfba")
SHORT = ("--set", "duration=1500 ms", "--set", "start={kind = 'random', over = '100 ms'}")
# What the lab's page lacks it says itself: an example opens there as a preset.
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "FILE", *SHORT, "--no-store"),
    "plot": ("plot", "FILE", "window", *SHORT, "-o", "window.svg"),
    "path": ("plot", "FILE", "path", "-o", "path.svg"),
    "design": ("design", "FILE", *SHORT, "--factor", "tcp.congestion=cubic,bbr", "--replications", "2", "--run", "study"),
    "advise": (
        "advise", "FILE", *SHORT, "--choose", "tcp.congestion=cubic,bbr", "--maximise", "throughput", "--budget", "4 runs",
    ),
    "attack": (
        "attack", "FILE", *SHORT, "--control", "bbr", "--may", "switch.buffer=0.5..2 BDP", "--defect", "efficiency < 1 %",
        "--budget", "4 runs",
    ),
    "whatif": ("whatif", "FILE", "--set", "tcp.congestion=bbr", "--seeds", "3"),
    "lab": ("lab", "FILE", "--print"),
}  # fmt: skip
# The message of each refusal; all other cells of the matrix work.
REFUSED = {
    ("home", "attack"): r"--group: absent; needs the group that the control drives",
    ("web-and-bulk", "attack"): r"--group: absent; needs the group that the control drives",
    # A graph has no efficiency.
    ("geo-acm", "attack"): r"accepts fairness, throughput_bps, ",
    **{
        (name, "path"): r"path: no link is time-varying; needs network\.path" for name in EXAMPLES if name not in MOVING
    },
    ("lan-96", "design"): r"add --set tcp.recovery=rack",
    ("lan-96", "advise"): r"add --set tcp.recovery=rack",
    ("lan-96", "attack"): r"add --set tcp.recovery=rack",
}


def with_named_remedies(example: Scenario, changes: dict[str, object]) -> dict[str, object] | None:
    """Returns the changes with the settings that their refusal names; None if the changes are valid."""
    try:
        with_remedies(lambda added: example.with_(**added), changes)
    except ScenarioError as error:
        more = {one.field: one.value for one in error.remedies if one.field not in changes}
        if not more:
            raise
        return {**more, **changes}
    return None


@pytest.mark.parametrize(
    ("name", "field", "kind"),
    [
        (name, field, kind)
        for name, (field, found) in product(EXAMPLES, FIRST_SETTINGS)
        for kind in found
        if kind not in NEED_MORE
        and not (kind == CONSTANT_ONLY and name in MOVING)
        and not (kind in FOR_CELLS and name in WITH_ACCESS)
    ],
)
def test_example_accepts_each_kind_or_names_a_remedy(name: str, field: str, kind: str) -> None:
    example = Scenario.example(name)
    changes: dict[str, object] | None = {field: kind}
    rounds = 0
    while changes is not None:
        changes, rounds = with_named_remedies(example, changes), rounds + 1
        assert rounds <= 3


@pytest.mark.parametrize(("name", "command"), list(product(EXAMPLES, COMMANDS)))
def test_example_works_with_each_command(name: str, command: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.toml"
    assert commands.run("init", file, "--example", name).returncode == 0
    if command == "whatif":
        # Settings change only one run of each pair.
        file.write_text(Scenario.example(name).with_(duration="1500 ms").to_toml())
    words = [str(file) if word == "FILE" else word for word in COMMANDS[command]]
    environment = {**commands.PLAIN, "LONGPIPE_STORE": str(tmp_path / "runs.db")}
    done = commands.run(*words, cwd=tmp_path, environment=environment)
    if (refusal := REFUSED.get((name, command))) is not None:
        assert done.returncode == 2
        assert re.search(refusal, done.stderr)
    else:
        # `attack` and `advise` end with status 1 if they have no answer within their budget.
        assert done.returncode in ((0, 1) if command in ("attack", "advise") else (0,)), done.stderr


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_has_a_live_path_or_one_reason(name: str) -> None:
    scenario = Scenario.example(name)
    flow = scenario.resolved["flows"][0]
    nodes, links = scenario.resolved["nodes"], scenario.resolved["links"]
    ends = nodes[links[flow["route"][0]]["from"]]["name"], nodes[links[flow["route"][-1]]["to"]]["name"]
    if name == "geo-pep":
        with pytest.raises(ScenarioError, match=r"network\.pep: a proxy splits the connections"):
            plan(scenario, ends)
    else:
        plan(scenario, ends)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_an_environment_or_names_the_setting(name: str) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("longpipe.gym")
    if name == "lan-96":
        with pytest.raises(ScenarioError, match=r"^agents: 'flow1' .*; needs tcp\.recovery = 'rack', as in "):
            gymnasium.make("longpipe/Link-v0", scenarios=name)
        changed = Scenario.example(name).with_(**{"tcp.recovery": "rack"})
        gymnasium.make("longpipe/Link-v0", scenarios=changed).reset(seed=1)
    else:
        gymnasium.make("longpipe/Link-v0", scenarios=name).reset(seed=1)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_accepts_a_real_stack(name: str) -> None:
    traffic = {"kind": "stack", "stack": "quinn", "congestion": "cubic", "size": "100 KB"}
    scenario = Scenario.example(name).with_(traffic=traffic)
    assert all("foreign" in flow for flow in scenario.resolved["flows"] if flow["traffic"]["kind"] == "stack")


def test_default_environment_starts() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("longpipe.gym")
    gymnasium.make("longpipe/Link-v0").reset(seed=1)


SACK = """
schema = 1
framing = "ip"
switch.buffer = "100 packets"
duration = "1 s"
tcp = { recovery = "sack", mss = "1448 B" }
network = { kind = "dumbbell", sources = 1, trunk_rate = "10 Mbit/s", trunk_delay = "10 ms" }
"""


@pytest.fixture
def sack(tmp_path: Path) -> Path:
    file = tmp_path / "sack.toml"
    file.write_text(SACK)
    return file


def test_setting_adds_its_requirements_and_reports_them(sack: Path) -> None:
    done = commands.run("run", sack, "--set", "tcp.congestion=prague", "--no-store")
    assert done.returncode == 0
    assert "prague TCP with rack" in done.stdout
    assert "note: --set tcp.congestion also sets tcp.recovery=rack, which it needs\n" in done.stderr
    assert "note: --set tcp.congestion also sets tcp.ecn={kind = 'accurate', ect = 1}, which it needs\n" in done.stderr


def test_other_setting_of_the_command_line_is_not_replaced(sack: Path) -> None:
    words = ("--set", "tcp.congestion=bbr", "--set", "tcp.recovery=newreno", "--no-store")
    done = commands.run("run", sack, *words)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: tcp.recovery: newreno; needs 'rack' with congestion 'bbr', which needs a report of each loss",
        "error: add --set tcp.recovery=rack",
    ]


def test_invalid_file_is_not_repaired_by_an_unrelated_setting(sack: Path) -> None:
    sack.write_text(SACK.replace('recovery = "sack"', 'recovery = "sack", congestion = "bbr"'))
    assert commands.run("run", sack, "--set", "duration=2 s", "--no-store").returncode == 2


def test_setting_of_a_group_does_not_change_other_groups(sack: Path) -> None:
    sack.write_text(SACK.replace("sources = 1", "group = [{name = 'one'}, {name = 'other'}]"))
    build = partial(Scenario.from_toml, sack)
    scenario, added = with_remedies(build, {"network.group.1.tcp.congestion": "bbr"})
    assert [one.field for one in added] == ["network.group.1.tcp.recovery"]
    recoveries = [flow["tcp"]["recovery"] for flow in scenario.resolve()["flows"]]
    assert recoveries[0] == "sack"
    assert recoveries[1]["kind"] == "rack"


def test_profile_names_the_fields_that_it_does_not_determine(sack: Path) -> None:
    done = commands.run("run", sack, "--set", "tcp.profile=linux-6", "--no-store")
    assert (
        "note: --set tcp.profile=linux-6 leaves recovery as in the file; --set 'tcp={profile = \"linux-6\"}'"
        in done.stderr
    )
    whole = commands.run("run", sack, "--set", 'tcp={profile = "linux-6"}', "--no-store")
    assert "cubic TCP with rack (linux-6)" in whole.stdout
    assert "note" not in whole.stderr


def test_atm_example_over_packets_needs_framing_and_buffer(tmp_path: Path) -> None:
    file = tmp_path / "lan.toml"
    commands.run("init", file, "--example", "lan-96")
    done = commands.run("run", file, "--set", "switch.policy=fq-codel", "--no-store")
    assert done.stderr.splitlines()[-1] == 'error: add --set framing=ip --set "switch.buffer=1 BDP"'


@pytest.mark.parametrize("kind", [kind for kind in kinds(Congestion) if kind not in NEED_MORE])
def test_control_with_its_needs_is_valid_in_the_profile_of_linux(kind: str) -> None:
    Scenario.from_toml(SACK).with_(tcp={"profile": "linux-6", "congestion": kind, **of_control(kind, "linux-6")})
