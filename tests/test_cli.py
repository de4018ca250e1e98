import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from commands import run
from longpipe import Flow, Graph, Link, Scenario, _core, simulate
from longpipe.cli import app
from longpipe.cli.toolkit.help import MORE
from longpipe.examples import EXAMPLES
from longpipe.scenario import Policy
from longpipe.scenario.base import kinds

LONGPIPE = [str(Path(sys.executable).with_name("longpipe"))]
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}

POLICIES = ", ".join(kinds(Policy))


@pytest.fixture
def lan(tmp_path: Path) -> Path:
    path = tmp_path / "lan.toml"
    path.write_text('schema = 1\nname = "lan"\nduration = "200 ms"\n')
    return path


def test_help_shows_the_first_two_commands() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    assert "longpipe init geo.toml --example geo" in shown.stdout
    assert "longpipe run geo.toml" in shown.stdout


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 - Click's Command
    """Yields the words of each command and group, and its object."""
    yield words, command
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*words, name))


COMMANDS = {" ".join(words): command for words, command in commands(get_command(app))}


def help_of(name: str, *more: str) -> list[str]:
    """Returns the lines of the help in 100 columns."""
    result = CliRunner().invoke(app, [*name.split(), "--help", *more], env={"COLUMNS": "100"}, prog_name="longpipe")
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_two_screens(name: str) -> None:
    lines = help_of(name)
    assert len(lines) <= 48
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", [name for name in COMMANDS if name and " " not in name])
def test_summary_of_command_is_one_line(name: str) -> None:
    [line] = [line for line in help_of("", "--all") if line.startswith(f"│ {name} ")]
    assert line.rstrip(" │").endswith(".")


@pytest.mark.parametrize("name", ["run", "design", "advise", "live run", "study run", "validate ns2-drops"])
def test_help_with_all_shows_rare_options(name: str) -> None:
    rare = sum(param.rich_help_panel == MORE for param in COMMANDS[name].params)
    words = " ".join(line.rstrip("│ ").split("  ")[-1].strip() for line in help_of(name))
    assert f"with --all, also {rare} rarely needed entries." in words
    assert MORE not in words
    shown, everything = (
        sum(line.lstrip("│* ").startswith("--") for line in help_of(name, *more)) for more in ([], ["--all"])
    )
    assert everything - shown == rare > 0


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("", "help", "version")])
def test_help_of_command_begins_with_example(name: str) -> None:
    paragraphs = str(COMMANDS[name].help).split("\n\n")
    if " " not in name and not hasattr(COMMANDS[name], "list_commands") and COMMANDS[name].params:
        assert paragraphs[1].startswith(f"longpipe {name} ")


def test_help_groups_commands_by_purpose() -> None:
    titles = [line.strip("╭─╮ ") for line in help_of("") if line.startswith("╭")]
    assert titles == ["Options", "Run and look", "Measure and fit", "Decide", "Experiments", "Evidence", "Tools"]


@pytest.mark.parametrize(
    "option", ["--executor", "--factor", "--memory", "--no-store", "--replications", "--set", "--store", "--workers"]
)
def test_option_has_one_meaning(option: str) -> None:
    own = {"--set": {"fit", "whatif", "validate c4", "validate linux path"}, "--replications": {"study run"}}
    helps = {
        (param.help, param.metavar)
        for name, command in COMMANDS.items()
        for param in command.params
        if option in param.opts and name not in own.get(option, ())
    }
    assert len(helps) == 1


def test_run_shows_flows_ports_and_indexes_in_80_columns(lan: Path) -> None:
    shown = run("run", lan)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for word in ("flow5", "switch1->switch2", "efficiency", "fairness"):
        assert word in shown.stdout


def test_run_shows_losses_outside_the_queue_by_cause(tmp_path: Path) -> None:
    network = {
        "kind": "dumbbell",
        "trunk_loss": {"kind": "bernoulli", "probability": 0.01},
        "conditioners": [{"kind": "policer", "rate": "5 Mbit/s", "burst": "20 KB"}],
    }
    scenario = Scenario(defaults="1996", framing="ip", duration="2 s", switch={"buffer": "9 packets"}, network=network)
    (tmp_path / "own.toml").write_text(scenario.to_toml())
    shown = run("run", "own.toml", "--no-store", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    (trunk,) = simulate(scenario).ports.query("port == 'switch1->switch2'").to_dict("records")
    overflow, injected, policer = (trunk[f"packets_lost_{cause}"] for cause in ("overflow", "injected", "policer"))
    assert overflow > 0 < policer
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("packets lost at")]
    assert (
        line.rstrip()
        == f"packets lost at switch1->switch2: overflow {overflow}, injected {injected}, policer {policer}"
    )
    # The columns of the table are enough for losses by a full buffer.
    plain = run(
        "run",
        "own.toml",
        "--no-store",
        *("--set", "network.trunk_loss=none"),
        *("--set", "network.conditioners=[]"),
        cwd=tmp_path,
    )
    assert "packets lost at" not in plain.stdout


def test_summary_of_many_flows_shows_fastest_others_and_total(tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    group = '[[network.group]]\nname = "web"\ncount = 30\ntraffic = "web"\n[[network.group]]\nname = "bulk"\n'
    path.write_text(f'duration = "2 s"\n[network]\nkind = "dumbbell"\n{group}')
    few = run("run", path).stdout
    lines = few.splitlines()
    shown = [float(line.split()[1]) for line in lines if line.startswith(("web", "bulk"))]
    assert len(shown) == 20
    assert shown == sorted(shown, reverse=True)
    assert any(line.startswith("11 others") for line in lines)
    assert any(line.startswith("all 31") for line in lines)
    assert "20 of 31 flows, the fastest; --all shows all" in few
    every = run("run", path, "--all").stdout
    assert "others" not in every
    assert sum(line.startswith("web") for line in every.splitlines()) == 30


def test_capture_with_another_suffix_reports_its_format(lan: Path, tmp_path: Path) -> None:
    shown = run(
        "run", lan, "--capture", f"host:source1={tmp_path}/a.pcap", "--capture", f"host:sink1={tmp_path}/b.pcapng"
    )
    assert f"of host:source1 in {tmp_path}/a.pcap, in pcapng's format\n" in shown.stdout
    assert shown.stdout.endswith(f"of host:sink1 in {tmp_path}/b.pcapng\n")


def test_init_writes_a_scenario_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert run("init", path).returncode == 0
    assert run("init").stdout == run("init", "-").stdout == path.read_text()
    assert run("run", path, "--set", "duration=10 ms").returncode == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_a_scenario_that_needs_no_warning(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert run("init", path, "--example", name).returncode == 0
    assert Scenario.from_toml(path).with_(name=name) == Scenario.example(name)
    shown = run("run", path, "--set", "duration=5 s", "--no-store")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_an_unknown_example_lists_the_known_ones() -> None:
    refused = run("init", "--example", "gto")
    assert refused.returncode == 2
    assert refused.stderr.endswith(
        "accepts fiber, geo, geo-pep, geo-rcs2, geo-acm, leo, starlink, cellular, rain-fade, aqm, home, web-and-bulk, lan-96\n"
    )


def test_file_without_a_schema_causes_a_warning_that_names_its_absent_fields(tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text("# nothing yet\n")
    done = run("run", tmp_path / "none.toml", "--set", 'duration="10 ms"')
    assert done.returncode == 0
    assert done.stderr == (
        f"warning: {tmp_path / 'none.toml'}: no line 'schema', so that framing, network.sources, network.access_rate, "
        "network.trunk_rate, network.access_delay, network.trunk_delay, network.exit_delay, tcp.profile have the "
        "defaults of 1996; add 'schema = 1' to keep them, or 'schema = 2' for today's\n"
    )
    (tmp_path / "none.toml").write_text('schema = 2\nswitch.buffer = "1 BDP"\nduration = "10 ms"\n')
    assert run("run", tmp_path / "none.toml").stderr == ""


def test_fields_are_listed_with_unit_default_and_range() -> None:
    shown = run("fields", "receiver_window").stdout
    assert shown.startswith("tcp.receiver_window [bytes]\n")
    assert "  default: 64 KiB (linux-6: auto)\n  accepts: 1 B to 1 GiB, or auto\n  source: ATM Forum/96-1761" in shown
    policy = run("fields", "switch.policy").stdout
    assert f"accepts: {POLICIES}\n" in policy
    assert "switch.policy.threshold (of epd) [fraction of the buffer]" in policy
    every = run("fields").stdout.split("\n\n")
    assert len(every) > 100
    # Each name contains the argument as a whole word; "packet" and "sack" do not count.
    names = [field.split()[0] for field in run("fields", "ack").stdout.split("\n\n")]
    assert {"tcp.ack", "tcp.duplicate_ack_threshold"} <= set(names)
    assert all("ack" in re.split(r"[._]", name) for name in names), names
    assert [field.split()[0] for field in run("fields", "bbr").stdout.split("\n\n")] == ["tcp.congestion"]
    discipline = run("fields", "fq-codel").stdout
    assert discipline.startswith("switch.policy\n")
    assert "switch.policy.target (of fq-codel)" in discipline
    refused = run("fields", "recever_window")
    assert refused.returncode == 2
    assert "did you mean" in refused.stderr


def test_init_shows_the_alternatives() -> None:
    text = run("init").stdout
    assert f"\n# One of {POLICIES}.\n[switch.policy]\n" in text
    assert "\n# Accepts aal5, ip.\nframing = " in text


def test_a_file_can_be_simulated_at_once(lan: Path) -> None:
    assert simulate(lan).state_hash == simulate(str(lan)).state_hash == simulate(Scenario.from_toml(lan)).state_hash


def test_init_keeps_an_existing_file(lan: Path) -> None:
    before = lan.read_text()
    refused = run("init", lan)
    assert (refused.returncode, lan.read_text()) == (2, before)
    assert refused.stderr == f"error: FILE: {lan} exists; needs the name of a new file\n"


def test_standard_output_has_only_json(lan: Path) -> None:
    first, again, other = (
        run("run", lan, "--json", "-"),
        run("run", lan, "--json", "-"),
        run("run", lan, "--seed", "2", "--json", "-"),
    )
    assert json.loads(first.stdout)["seed"] == 1
    assert json.loads(first.stdout)["engine"] == _core.__engine__
    assert first.stdout == again.stdout
    assert json.loads(first.stdout)["state_hash"] != json.loads(other.stdout)["state_hash"]


def test_files_are_written_whole(lan: Path, tmp_path: Path) -> None:
    done = run(
        "run", lan, "--json", tmp_path / "out.json", "--csv", tmp_path / "csv", "--trace", "cwnd", "--trace", "queue"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [f"JSON: {tmp_path / 'out.json'}", f"Tables: {tmp_path / 'csv'}"]
    assert json.loads((tmp_path / "out.json").read_text())["scenario"] == "lan"
    names = ("run", "flows", "ports", "classes", "vbr", "cwnd", "queue")
    assert {path.name for path in (tmp_path / "csv").iterdir()} == {"scenario.toml", *(f"{name}.csv" for name in names)}


def test_a_run_with_vbr_shows_its_delay_and_loss(lan: Path) -> None:
    shown = run("run", lan, "--set", "network.vbr={period='50 ms'}", "--set", "switch.scheduler=priority").stdout
    row = next(line.split() for line in shown.splitlines() if line.startswith("vbr "))
    assert row[2] == "0"
    assert 0.02 < float(row[3]) <= float(row[4]) < 0.03


def test_set_changes_fields(lan: Path) -> None:
    changed = run("run", lan, "--set", "network.sources=2", "--set", "switch.policy=epd", "--json", "-")
    assert len(json.loads(changed.stdout)["flows"]) == 2


def test_set_clears_a_field_that_may_be_absent(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        'framing = "ip"\nduration = "1 s"\nnetwork = {kind = "dumbbell", return_buffer = "1 packets"}\n'
        'switch.buffer = "50 packets"'
    )
    peaks = []
    for words in ((), ("--set", "network.return_buffer=none")):
        found = json.loads(run("run", file, "--set", "network.return_rate=1 Mbit/s", *words, "--json", "-").stdout)
        (back,) = [port for port in found["ports"] if port["port"] == "switch2->switch1"]
        peaks.append(back["peak_queue_packets"])
    assert peaks[0] == 1 < peaks[1]
    # One of the kinds of this field is called "none".
    assert run("run", file, "--set", "network.trunk_loss=none").returncode == 0
    assert "tcp.recovery: 'none'; accepts" in run("run", file, "--set", "tcp.recovery=none").stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["--set", "switch.buffer=0 cells"],
            "switch.buffer: 0 cells; needs at least one full packet (12 cells at MSS 512)",
        ),
        (["--set", "switch.buffer"], "--set: 'switch.buffer'; accepts FIELD=VALUE, as in switch.buffer='3000 cells'"),
        (["--trace", "cwnd"], "--trace: needs --csv DIR"),
        (["--seed", "-1"], "seed: -1; needs a whole number from 0 to 18446744073709551615"),
        (
            ["--csv", "/dev/null/x"],
            "--csv: /dev/null/x cannot be written (not a directory); needs a writable directory",
        ),
        (["--json", "/"], "--json: / is a directory; needs a file name"),
    ],
)
def test_bad_input_is_rejected_in_one_line_with_status_2(lan: Path, arguments: list[str], error: str) -> None:
    refused = run("run", lan, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"error: {error}\n"


def test_every_problem_of_a_file_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('schema = 1\nduration = "5"\n[tcp]\nmss = "0 B"\n')
    refused = run("run", path)
    assert refused.returncode == 2
    assert [line.split(":")[1].strip() for line in refused.stderr.splitlines()] == ["duration", "tcp.mss"]


def test_unknown_option_is_status_2(lan: Path) -> None:
    assert run("run", lan, "--sed", "2").returncode == 2
    assert run("simulate", lan).returncode == 2


def test_unwritable_path_is_rejected_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text('schema = 1\nduration = "10000 s"\n')
    began = time.monotonic()
    assert run("run", path, "--csv", "/dev/null/x").returncode == 2
    assert time.monotonic() - began < 30


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on files")
def test_full_disk_is_reported_in_one_line_with_the_file(lan: Path, tmp_path: Path) -> None:
    import resource

    full = subprocess.run(
        [*LONGPIPE, "run", lan, "--no-store", "--set", "duration=2 s", "--csv", tmp_path / "csv", "--trace", "sequence"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        # Compiled modules are not written, because Python would not detect those that the size limit has truncated.
        capture_output=True, text=True, env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
    )  # fmt: skip
    assert (full.returncode, full.stderr) == (1, f"error: {tmp_path / 'csv' / 'sequence.csv'}: file too large\n")
    assert not list((tmp_path / "csv").glob("*.partial")) + list((tmp_path / "csv").glob(".*"))


def test_ctrl_c_is_status_130(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text('schema = 2\nduration = "1 ms"\n')
    path.write_text('schema = 1\nduration = "100000 s"\n')
    capture = tmp_path / "a.pcapng"
    command = [*LONGPIPE, "run", str(path), "--capture", f"host:source1={capture}"]
    status, errors = interrupted(command, capture.exists)
    assert (status, "Traceback" in errors) == (130, False)


@pytest.mark.parametrize("loading", ["longpipe/cli", "_core"])
def test_ctrl_c_during_loading_causes_no_traceback(loading: str, tmp_path: Path) -> None:
    mark = tmp_path / "loading"
    hook = (
        "import pathlib, sys, time\n"
        "def wait(event, arguments):\n"
        f"    if event == 'import' and {loading!r} in str(arguments[1] or arguments[0]).replace('.', '/'):\n"
        f"        pathlib.Path({str(mark)!r}).touch(); time.sleep(60)\n"
        "sys.addaudithook(wait)\n"
        "from longpipe.__main__ import main; sys.argv = ['longpipe', 'run', 'x.toml']; main()"
    )
    assert interrupted([sys.executable, "-c", hook], mark.exists) == (130, "interrupted\n")


def interrupted(command: list[str], ready: Callable[[], bool]) -> tuple[int, str]:
    """Returns the exit status and the errors of a command that is interrupted as soon as it is ready.

    If the command hangs, a traceback shows where.
    """
    environment = {**ENVIRONMENT, "PYTHONFAULTHANDLER": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not ready():
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            try:
                _, errors = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)
                _, errors = process.communicate()
        finally:
            process.kill()
    return process.returncode, errors


def test_output_header_names_flows_with_different_settings(tmp_path: Path) -> None:
    from longpipe.scenario.summary import summary_lines

    hosts = [("a", "r1"), ("b", "r1"), ("r2", "c"), ("r2", "d")]
    links = [Link(between=ends, rate="1 Gbit/s", delay="1 ms") for ends in hosts]
    links.append(
        Link.model_validate({"between": ("r1", "r2"), "rate": "50 Mbit/s", "delay": "5 ms", "policy": "fq-codel"})
    )
    flows = [
        Flow.model_validate({"name": "x1", "from": "a", "to": "c", "tcp": {"congestion": "cubic"}}),
        Flow.model_validate({"name": "x2", "from": "b", "to": "d", "tcp": {"congestion": "bbr", "mss": "1000 B"}}),
    ]
    scenario = Scenario.model_validate(
        {
            "defaults": "1996",
            "duration": "10 ms", "framing": "ip", "switch": {"buffer": "100 packets"},
            "tcp": {"profile": "linux-6"}, "network": Graph.of(links, flows),
        }
    )  # fmt: skip
    assert summary_lines(scenario)[-1] == "but x2: bbr, mss 1000 B; r1->r2: fq-codel"
    assert not summary_lines(Scenario(defaults="1996", duration="1 ms"))[-1].startswith("but")
    file = Path(__file__).parent / "data" / "classes" / "aimd.py"
    of_class = Scenario(defaults="1996").with_(**{"tcp.congestion": {"kind": "python", "class": f"{file}:Aimd"}})
    assert summary_lines(of_class)[1].startswith("python aimd.py:Aimd TCP with reno, ")


@pytest.mark.parametrize(
    ("buffer", "head"),
    [("0.5 BDP", "0.5 BDP (552 cells)"), ("100 ms", "100 ms (36679 cells)"), ("300 cells", "300 cells")],
)
def test_output_header_states_buffer_sizes_in_bdp_or_time(buffer: str, head: str) -> None:
    from longpipe.scenario.summary import summary_lines

    scenario = Scenario(defaults="1996").with_(**{"network.trunk_delay": "1495 us", "switch.buffer": buffer})
    assert summary_lines(scenario)[1].endswith(f"; tail-drop at {head}")


def test_output_header_states_the_queue_of_the_return_trunk() -> None:
    from longpipe.scenario.summary import summary_lines

    groups = [{"name": "down"}, {"name": "up", "direction": "back"}]
    back = {"network.return_policy": "fq-codel", "network.return_buffer": "128 KB", "network.return_rate": "1 Mbit/s"}
    lines = summary_lines(Scenario().with_(**{"network.group": groups, "switch.buffer": "100 ms", **back}))
    assert lines[1].endswith("; tail-drop at 100 ms (833 packets)")
    assert lines[2] == "but switch2->switch1: fq-codel at 128 KB"


def test_output_header_states_rtos_that_follow_from_the_tick() -> None:
    from longpipe.scenario.summary import summary_lines

    def timer(**fields: str) -> dict[str, str]:
        return {"kind": "coarse", **fields}

    def head(**fields: str) -> str:
        return summary_lines(Scenario(defaults="1996").with_(**{"tcp.timer": timer(**fields)}))[1]

    assert ", ticks of 100 ms; " in head()
    assert ", ticks of 500 ms (RTO 15 s at first, 320 s at most); " in head(tick="500 ms")
    bsd = head(tick="500 ms", initial_rto="12 ticks", max_rto="128 ticks")
    assert ", ticks of 500 ms (RTO 6 s at first, 64 s at most); " in bsd
    groups = [{"name": "old", "tcp": {"timer": timer(tick="500 ms")}}, {"name": "new"}]
    mixed = Scenario(defaults="1996").with_(network={"kind": "dumbbell", "group": groups})
    assert summary_lines(mixed)[-1] == "but old: ticks of 500 ms (RTO 15 s at first, 320 s at most)"


@pytest.mark.parametrize(
    ("traffics", "head"),
    [
        (["cbr"], "datagrams; "),
        (["noq"], "noq "),
        (["noq", "path"], "noq "),
        (["noq", "cbr"], " with cubic and datagrams; "),
        (["noq", "path", "greedy"], "reno TCP, MSS 512 B, "),
    ],
)
def test_output_header_describes_tcp_only_if_used(traffics: list[str], head: str) -> None:
    from longpipe.scenario.summary import summary_lines

    traffic = {
        "cbr": {"kind": "cbr", "rate": "1 Mbit/s"},
        "noq": {"kind": "stack", "stack": "noq"},
        "path": {"kind": "stack-path", "of": "noq"},
        "greedy": {"kind": "greedy"},
    }
    groups = [{"name": name, "traffic": traffic[name]} for name in traffics]
    network = {"kind": "dumbbell", "group": groups}
    line = summary_lines(
        Scenario.model_validate(
            {"defaults": "1996", "framing": "ip", "network": network, "switch": {"buffer": "50 packets"}}
        )
    )[1]
    assert head in line
    assert ("TCP" in line) == ("greedy" in traffics)


@pytest.mark.parametrize(
    ("tcp", "policy", "head"),
    [
        ({"profile": "linux-6"}, "codel", "cubic TCP with rack (linux-6), "),
        (
            {"profile": "linux-6", "congestion": {"kind": "cubic", "beta": 0.8}},
            "codel",
            "cubic (beta 0.8) TCP with rack ",
        ),
        ({"congestion": {"kind": "vegas", "alpha": 3}}, "codel", "vegas (alpha 3) TCP with reno, "),
        ({"recovery": {"kind": "rack", "dsack": True}}, "codel", "rack (dsack true) TCP, "),
        ({}, {"kind": "codel", "target": "1 ms"}, "; codel (target 1 ms) at "),
        ({}, "codel", "; codel at "),
    ],
)
def test_output_header_contains_changed_parameters(tcp: dict[str, Any], policy: object, head: str) -> None:
    from longpipe.scenario.summary import summary_lines

    scenario = Scenario(defaults="1996", framing="ip", tcp=tcp, switch={"buffer": "50 packets", "policy": policy})
    assert head in summary_lines(scenario)[1]


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["version"], ["--version"]),
        (["help"], ["--help"]),
        (["help", "study", "export"], ["study", "export", "--help"]),
    ],
)
def test_version_and_help_are_also_commands(words: list[str], same: list[str]) -> None:
    told = run(*words)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == run(*same).stdout
