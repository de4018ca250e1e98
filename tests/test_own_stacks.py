"""The user's own stacks (programs and shared objects) at the ends of flows, with the code in docs/own-stacks.md."""

import math
import os
import pickle
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from rich.console import Console

from commands import run
from longpipe import Result, RunError, Scenario, ScenarioError, own_stacks, simulate
from longpipe.cli.run.tables import show
from longpipe.controls import isolation
from longpipe.scenario.own_stack import OwnStack
from longpipe.store import Store
from longpipe.study.bundle import hash_of
from longpipe.study.bundled_controls import controls_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stacks need Linux")

PAGE: Final = (Path(__file__).parent.parent / "docs" / "own-stacks.md").read_text()
SETTINGS: Final = {"window": 20, "size": 2_000_000, "timeout_s": 0.3}


def code(name: str) -> str:
    """Returns the code that the page shows for a file."""
    found = re.search(rf"^```\w+\n((?:# |/\* ){re.escape(name)}.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def compiled(folder: Path, text: str) -> Path:
    """Compiles C code as an object."""
    (source := folder / "window.c").write_text(text)
    target = folder / "window.so"
    words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", str(own_stacks.INCLUDE)]
    subprocess.run(["cc", *words, source, "-o", target], check=True)
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder that contains the page's example stack, both as a program and as a shared object."""
    made = tmp_path_factory.mktemp("stacks")
    (made / "window.py").write_text(code("window.py"))
    compiled(made, code("window.c"))
    return made


def path(traffic: dict[str, Any], buffer: str = "1 BDP", **others: object) -> Scenario:
    network = {"kind": "dumbbell", "sources": 1, "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms"}
    network |= {"access_rate": "1 Gbit/s", "access_delay": "5 us"}
    fields: dict[str, Any] = {"framing": "ip", "duration": "5 s", "network": network, "switch": {"buffer": buffer}}
    return Scenario(
        defaults="1996", **fields | {"traffic": {"kind": "own-stack", "settings": SETTINGS} | traffic} | others
    )


def program(folder: Path, name: str = "window.py", **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - values of any type
    return {"command": ["python", str(folder / name)], "settings": SETTINGS | settings}


def decisions(result: Result) -> str:
    return str(result.stacks.decisions[0])


def test_own_stack_works_over_changing_routes(folder: Path) -> None:
    """A window of 20 packets takes one RTT of the route at its time; two routes change in 60 s."""
    pytest.importorskip("sgp4")
    route = {"shell": "kuiper-630", "from": "Manila", "to": "Dalian", "as": "graph", "step": "1 s"}
    own = path(program(folder, size=40_000_000))
    network = {**own.network.model_dump(exclude_none=True), "trunk_rate": "1 Gbit/s", "path": route}
    scenario = Scenario.model_validate(
        {"defaults": "1996", **own.model_dump(exclude_none=True), "duration": "60 s", "network": network}
    )
    assert len(scenario.resolved["flows"][0]["rerouting"]["changes"]) > 1
    flow = simulate(scenario).flows.iloc[0]
    assert flow.delivered_bytes == pytest.approx(40_000_000, abs=1452)
    # The RTT of the routes is 25.2 to 42.8 ms (`longpipe satellites kuiper-630 Manila Dalian --duration 60`), and 20
    # packets of 1448 bytes are sent in each.
    assert 40_000_000 / 1448 / 20 * 0.0252 < flow.completion_s < 40_000_000 / 1448 / 20 * 0.0445


def test_fixed_window_delivers_one_window_per_rtt(folder: Path) -> None:
    result = simulate(path(program(folder)))
    # The packet has 1452 bytes of payload and 28 of headers, and the reply has 4 and 28; each crosses two 1 Gbit/s
    # links and one 20 Mbit/s link.
    there_s, back_s = (2 * bits / 1e9 + bits / 20e6 + 0.02001 for bits in (8 * 1480, 8 * 32))
    rounds, rest = divmod(1382 - 1, 20)
    flow = result.flows.iloc[0]
    assert flow.completion_s == pytest.approx(there_s + rounds * (there_s + back_s) + rest * 8 * 1480 / 20e6, abs=1e-9)
    assert flow.delivered_bytes == 1382 * 1448
    assert flow.sent_segments == 1382
    (port,) = result.ports[result.ports.port == "switch1->switch2"].to_dict("records")
    assert port["packets_out"] == 1382


@pytest.mark.parametrize(("window", "buffer"), [(20, "1 BDP"), (100, "20 packets")])
def test_program_and_object_make_equal_decisions(folder: Path, window: int, buffer: str) -> None:
    settings = {**SETTINGS, "window": window}
    traces = {"cwnd": True}
    first = simulate(path(program(folder, window=window), buffer, traces=traces))
    second = simulate(path({"file": str(folder / "window.so"), "settings": settings}, buffer, traces=traces))
    assert decisions(first) == decisions(second)
    assert first.flows.drop(columns="flow").equals(second.flows.drop(columns="flow"))
    assert (first.flows.retransmitted_segments[0] > 100) == (window == 100)
    assert set(first.traces["cwnd"].cwnd_bytes) == {window * 1452.0}


def test_quantities_with_units_reach_the_stack_as_numbers(folder: Path) -> None:
    first, second = (
        simulate(path(program(folder, size=size, timeout_s=timeout)))
        for size, timeout in ((2_000_000, 0.3), ("2 MB", "300 ms"))
    )
    assert first.state_hash == second.state_hash
    given = {"size": "1 KiB", "label": "a 2 MB file", "timeout_s": "1.5 s", "rest_us": "20 ms", "wait": "20 ms"}
    settings = OwnStack(**program(folder, **given)).core()["settings"]
    assert dict(settings) == {
        "label": "a 2 MB file", "rest_us": "20000", "size": "1024", "timeout_s": "1.5", "wait": "20 ms", "window": "20",
    }  # fmt: skip


def test_stack_shares_a_path_with_tcp(folder: Path) -> None:
    own = {"kind": "own-stack", "file": str(folder / "window.so"), "settings": {**SETTINGS, "window": 200}}
    network: dict[str, Any] = {"kind": "dumbbell", "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms"}
    network["group"] = [{"name": "own", "traffic": own}, {"name": "tcp", "traffic": "greedy"}]
    result = simulate(path(own, network=network))
    assert (result.flows.delivered_bytes > 1e6).all()
    assert list(result.stacks.flow) == ["own"]


def test_timeouts_that_a_stack_reports_are_those_of_its_flow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "self.lost * size"
    own, silent = tmp_path / "own.py", tmp_path / "silent.py"
    own.write_text(code("window.py").replace(f"{told})", f'{told}, values={{"timeouts": self.lost}})'))
    silent.write_text(code("window.py"))
    network: dict[str, Any] = {"kind": "dumbbell", "trunk_rate": "20 Mbit/s", "trunk_delay": "20 ms"}
    network["group"] = [
        {"name": f"with-{file.stem}", "traffic": {"kind": "own-stack", **program(tmp_path, file.name, window=100)}}
        for file in (own, silent)
    ]
    result = simulate(path({"command": "true"}, buffer="20 packets", network=network))
    reported, unknown = result.flows.timeouts
    assert reported == result.flows.retransmitted_segments[0] > 0
    assert math.isnan(unknown)
    show(result, Console(width=100, color_system=None))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [next(row[4] for row in rows if row[:1] == [name]) for name in ("with-own", "with-silent")] == [
        f"{reported:.0f}",
        "-",
    ]


# Identity


def test_stored_runs_are_keyed_by_program_content(tmp_path: Path) -> None:
    script = tmp_path / "window.py"
    script.write_text(code("window.py"))
    first = path(program(tmp_path))
    written = first.to_toml()
    with closing(Store(tmp_path / "runs.db")) as store:
        store.keep(result := simulate(first), 1.0)
        script.write_text(code("window.py") + "# changed\n")
        second = path(program(tmp_path))
        assert second.digest() != first.digest()
        with pytest.raises(ScenarioError, match=r"traffic: digest: .*; needs the unchanged stack, or no digest"):
            Scenario.from_toml(written)
        script.unlink()
        stored = store.load(first, 1)
        assert stored is not None
        assert stored.state_hash == result.state_hash
    with pytest.raises(ScenarioError, match=r"traffic.command: .*window.py does not exist"):
        simulate(first)


def test_program_changed_after_validation_is_not_run(tmp_path: Path) -> None:
    (script := tmp_path / "window.py").write_text(code("window.py"))
    first, versioned = path(program(tmp_path)), path({**program(tmp_path), "version": "1"}, duration="1 s")
    script.write_text(code("window.py") + "# changed\n")
    with pytest.raises(
        ScenarioError, match=r"traffic.command: python .*window.py has changed; needs the files as they were"
    ):
        simulate(first)
    assert simulate(versioned).flows.delivered_bytes[0] > 0


def test_an_argument_may_name_a_file_that_does_not_exist_yet(folder: Path, tmp_path: Path) -> None:
    command = ["python", str(folder / "window.py"), str(tmp_path / "log.txt")]
    assert simulate(path({"command": command}, duration="1 s")).flows.delivered_bytes[0] > 0


def test_version_replaces_the_digest_of_the_files(tmp_path: Path) -> None:
    digests = set()
    for text, version in (("1", "1.0"), ("2", "1.0"), ("2", "1.1")):
        (tmp_path / "window.py").write_text(text)
        digests.add(path({**program(tmp_path), "version": version}).traffic.digest)  # type: ignore[union-attr]
    assert len(digests) == 2


def test_version_of_an_object_replaces_the_digest_of_its_content(folder: Path, tmp_path: Path) -> None:
    content = (folder / "window.so").read_bytes()
    (file := tmp_path / "mine.so").write_bytes(content)
    fields = {"file": str(file), "stack": "window", "settings": SETTINGS, "version": "1"}
    first = path(fields, duration="1 s")
    assert first.traffic.digest != path({**fields, "version": "2"}).traffic.digest  # type: ignore[union-attr]
    assert simulate(first).flows.delivered_bytes[0] > 0
    with pytest.raises(ScenarioError, match=r"--bundle: .*mine.so is identified by its version; needs an object wit"):
        controls_of([first])
    # The end of an object is not part of its code.
    file.write_bytes(content + b"rebuilt")
    with pytest.raises(ScenarioError, match=r"mine.so: has changed, but is still version '1'; needs another version"):
        path(fields)
    there = f"from longpipe.scenario.own_stack import OwnStack; print(OwnStack(**{fields!r}).digest)"
    done = subprocess.run([sys.executable, "-c", there], capture_output=True, check=True, text=True, timeout=60)
    assert done.stdout.strip() == first.traffic.digest  # type: ignore[union-attr]


def test_another_command_or_version_replaces_the_digest_of_the_previous_one(tmp_path: Path) -> None:
    (tmp_path / "window.py").write_text("1")
    (tmp_path / "other.py").write_text("2")
    first = path(program(tmp_path))
    other = f"python {tmp_path / 'other.py'}"
    expected = path({**program(tmp_path), "command": other})
    assert first.with_(**{"traffic.command": other}).digest() == expected.digest() != first.digest()
    versioned = path({**program(tmp_path), "version": "1"})
    assert first.with_(**{"traffic.version": "1"}).digest() == versioned.digest() != first.digest()


def test_another_machine_gets_the_object_with_the_job(folder: Path, tmp_path: Path) -> None:
    scenario = path({"file": str(folder / "window.so")}, duration="1 s")
    there = (
        "import pickle, sys; from longpipe import simulate\nprint(simulate(pickle.load(sys.stdin.buffer)).state_hash)"
    )
    done = subprocess.run(
        [sys.executable, "-c", there], input=pickle.dumps(scenario), capture_output=True, check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, timeout=60,
    )  # fmt: skip
    assert done.stdout.decode().strip() == simulate(scenario).state_hash


def test_bundle_contains_objects_and_rejects_programs(folder: Path) -> None:
    scenario = path({"file": str(folder / "window.so")}, duration="1 s")
    held = list(controls_of([scenario]).values())
    assert [one.kind for one in held] == ["stack"]
    assert hash_of(scenario.resolved_json(), 1, None, held) == simulate(scenario).state_hash
    with pytest.raises(ScenarioError, match=r"--bundle: .* is a program, which a bundle cannot contain"):
        controls_of([path(program(folder))])


# Invalid input


@pytest.mark.parametrize(
    ("traffic", "line"),
    [
        ({}, "traffic: command: needs either a command or a file"),
        ({"command": "true", "file": "x.so"}, "traffic: command: needs either a command or a file"),
        ({"command": ""}, "command: empty; needs a program and its arguments"),
        ({"command": "python 'mine.py"}, "needs a command line"),
        ({"command": "no-such-program"}, "traffic: command: no program 'no-such-program'"),
        ({"file": "no-such.so"}, "traffic: file: no-such.so: cannot be read"),
        ({"file": __file__}, "not a shared object; needs one that exports longpipe_ends"),
        ({"command": "true", "settings": {"a": [1]}}, "traffic.settings.a"),
        ({"command": "true", "longest_packet": "100 B"}, "traffic.longest_packet"),
    ],
)
def test_bad_fields_are_rejected_in_one_line(traffic: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        path(traffic)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


END: Final = """
from longpipe.end import Datagram, End, Report, serve

class Bad(End):
    def __init__(self, setup):
        {create}
        self.sends = setup.sends
    def due(self):
        return 0 if self.sends else None
    def receive(self, now, payload, ecn):
        pass
    def wake(self, now):
        if self.sends:
            {wake}
            self.sends = False
            yield Datagram(b"x")
    def report(self):
        return Report({report})

serve(Bad)
"""


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {"create": "raise ValueError('window: 0; needs 1 or more')"},
            "ValueError at bad.py:6: window: 0; needs 1 or more",
        ),
        ({"wake": "1 / 0"}, "ZeroDivisionError at bad.py:14: division by zero"),
        ({"wake": "yield Datagram(bytes(1453))"}, "sent 1453 bytes in one datagram; the path takes 1452"),
        ({"wake": "import os; os._exit(3)"}, "ended before the run did (exit status: 3)"),
        ({"wake": "self.due = lambda: 0"}, "schedules wake-ups without end at 0 s"),
        ({"report": "delivered_bytes=2"}, "reports 2 bytes of data; 1 bytes have arrived"),
    ],
)
def test_failure_of_a_program_ends_its_run_with_one_line(tmp_path: Path, parts: dict[str, str], line: str) -> None:
    absent = {"create": "pass", "wake": "pass", "report": ""}
    (tmp_path / "bad.py").write_text(END.format(**absent | parts))
    with pytest.raises((RunError, ScenarioError)) as error:
        simulate(path(program(tmp_path, "bad.py"), duration="1 s"))
    assert line in str(error.value)
    assert "\n" not in str(error.value)
    left = [
        one.info["cmdline"] for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in str(one.info["cmdline"])
    ]
    assert left == []


def test_output_of_a_program_is_separate_from_its_messages(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(END.format(create="print('created')", wake="print('woken')", report=""))
    assert simulate(path(program(tmp_path, "bad.py"), duration="1 s")).ports.packets_out.max() == 1
    with pytest.raises(
        ScenarioError, match=r"flow1.*: wrote a message of .* bytes; .*does it print to its standard output"
    ):
        simulate(path({"command": ["sh", "-c", "echo hello, world; cat >/dev/null"]}))


def test_hanging_or_crashing_object_loses_only_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(isolation, "CALL_CPU_S", 0.3)
    begin = "static uint64_t due(void *end) {\n"
    for body, line in (
        ("for (;;) {}", "did not return within 0.3 s"),
        ("*(volatile int *)0 = 1;", "crashed by SIGSEGV"),
    ):
        text = code("window.c").replace(begin, f"{begin}    {body}\n")
        with pytest.raises(RunError, match=line):
            simulate(path({"file": str(compiled(tmp_path, text))}))
    assert simulate(path({"file": str(folder / "window.so")}, duration="1 s")).flows.delivered_bytes[0] > 0


def test_an_object_of_another_interface_is_rejected(tmp_path: Path) -> None:
    old = compiled(tmp_path, code("window.c").replace(".version = LONGPIPE_END_VERSION", ".version = 2"))
    with pytest.raises(
        ScenarioError, match=r"traffic.file: .*window.so: has version 2 of the interface and .*; needs version 1 "
    ):
        simulate(path({"file": str(old)}))
    none = compiled(tmp_path, "int x;\n")
    with pytest.raises(ScenarioError, match=r"traffic.file: .*window.so: has no longpipe_ends"):
        simulate(path({"file": str(none)}))


def test_object_without_reported_packets_is_accepted(folder: Path, tmp_path: Path) -> None:
    short = code("window.c").replace(
        ".size = sizeof(struct longpipe_ends)", ".size = offsetof(struct longpipe_ends, packets)"
    )
    old = compiled(tmp_path, f"#include <stddef.h>\n{short}")
    found = simulate(path({"file": str(old)}, traces={"packets": True}))
    assert decisions(found) == decisions(simulate(path({"file": str(folder / "window.so")})))
    # The run reports datagrams, which it sees itself.
    assert set(found.traces["packets"].packet_event) == {"datagram-sent", "datagram-received"}


def test_an_object_reports_its_packets(tmp_path: Path) -> None:
    told = """
static void packets(void *end, longpipe_tell_packet *tell, void *host) {
    struct window *w = end;
    static uint64_t told;
    for (; told < w->sent; told++) {
        struct longpipe_packet packet = {
            .at_ps = 5, .first = told, .last = told, .length = 9, .kind = LONGPIPE_SENT, .packet_type = LONGPIPE_1RTT};
        tell(host, &packet);
    }
}

const struct longpipe_ends"""
    text = (
        code("window.c")
        .replace("\nconst struct longpipe_ends", told)
        .replace(".report = report,", ".report = report, .packets = packets,")
    )
    result = simulate(path({"file": str(compiled(tmp_path, text))}, traces={"packets": True}))
    rows = result.traces["packets"]
    sent = rows[rows.packet_event == "sent"]
    assert sent.first_number.tolist() == list(range(result.flows.sent_segments[0]))
    assert set(sent.packet_type) == {"1RTT"}
    assert set(sent.length_bytes) == {9}


def test_command_line_shows_own_stacks(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(path(program(folder)).to_toml())
    done = run("run", file, "--no-store")
    assert done.returncode == 0, done.stderr
    # The table of stacks
    assert re.search(r"^flow1 +window ", done.stdout, re.MULTILINE)


ECHO = """
from longpipe.end import End, Report, Setup, State, serve


class Silent(End):
    def __init__(self, setup: Setup) -> None:
        self.sends, self.web = setup.sends, setup.settings["web"].split(";")

    def due(self):
        return None

    def receive(self, now, payload, ecn):
        pass

    def wake(self, now):
        return ()

    def state(self):
        return State()

    def report(self):
        # Each request needs as many nanoseconds as its response has bytes, which the last request never has.
        times = [int(line.split()[0]) + 1000 * int(line.split()[2]) for line in self.web]
        return Report(0, values={f"file {n}": at for n, at in enumerate(times[:-1])} | {"other": 1.0})


serve(Silent)
"""


def test_web_requests_reach_the_stack_and_its_times_the_files(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(ECHO)
    traffic = {"command": ["python", str(tmp_path / "silent.py")], "settings": {}, "web": {"cycle": "2 s"}}
    result = simulate(path(traffic), seed=5)
    files = result.files
    assert len(files) > 5
    assert (files.completed_s - files.requested_s)[:-1].to_numpy() == pytest.approx(
        files.size_bytes[:-1] / 1e9, abs=1e-12
    )
    assert files.answered_s.equals(files.completed_s)
    assert math.isnan(files.completed_s.iloc[-1])
    # Other values remain columns.
    assert result.stacks.other[0] == 1
    assert [name for name in result.stacks.columns if name.startswith("file")] == []
    with pytest.raises(ScenarioError, match=r"web: \d+ requests; needs at most 100000"):
        simulate(
            path({**traffic, "web": {"cycle": "1 ms", "spacing_from": "0 s", "spacing_to": "1 us"}}, duration="100 s")
        )
    with pytest.raises(ScenarioError, match=r"settings\.web: needs to be absent"):
        path({**traffic, "settings": {"web": "0 1 1"}})
