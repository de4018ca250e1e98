"""A process writes only output files that it has created, and never replaces an input."""

import os
from pathlib import Path

import pytest

from commands import run
from longpipe import ScenarioError
from longpipe.store import Store
from longpipe.system import files

SCENARIO = 'schema = 1\nname = "a"\nduration = "20 ms"\n'


def test_link_named_like_a_partial_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".out.txt.{os.getpid()}.partial").symlink_to(victim)
    files.write_text(tmp_path / "out.txt", "new")
    assert (victim.read_text(), (tmp_path / "out.txt").read_text()) == ("precious", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt", "victim"]


def test_partial_file_of_a_concurrent_process_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = tmp_path / f".out.txt.{os.getpid()}.partial"

    def raced(path: Path, *, missing_ok: bool) -> None:
        assert missing_ok
        path.symlink_to("elsewhere")

    monkeypatch.setattr(Path, "unlink", raced)
    with pytest.raises(FileExistsError) as refused:
        files.write_text(tmp_path / "out.txt", "new")
    assert refused.value.filename == str(tmp_path / "out.txt")
    assert partial.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


def test_output_equal_to_an_input_is_rejected_in_any_order(tmp_path: Path) -> None:
    place, link = tmp_path / "a.toml", tmp_path / "b.toml"
    place.write_text("x")
    link.hardlink_to(place)
    with files.kept_apart():
        files.check_file("--output", place)
        with pytest.raises(ScenarioError, match=r"--output: .*b\.toml is also an input; needs another file"):
            files.will_read(link)
    with files.kept_apart():
        files.will_read(place)
        with pytest.raises(ScenarioError, match=r"--output: .*b\.toml is also an input"):
            files.check_file("--output", link)
        with pytest.raises(ScenarioError, match=r"output: .*a\.toml is also an input"):
            files.write_text(place, "new")
        files.write_text(tmp_path / "c.toml", "new")
    files.will_read(place)
    files.check_file("--output", place)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "a.toml", "--json", "a.toml"],
        ["run", "a.toml", "--json", "link.toml"],
        ["run", "a.toml", "--csv", "flows"],
        ["plot", "a.toml", "queue", "-o", "a.svg"],
        ["design", "a.toml", "--factor", "tcp.recovery=reno,sack", "--csv", "a.toml"],
        ["study", "export", "s", "--store", "runs.csv", "-o", "runs.csv"],
        ["analyse", "table.csv", "--response", "efficiency", "--factors", "buffer", "--json", "table.csv"],
    ],
)
def test_commands_do_not_change_their_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(SCENARIO)
    (tmp_path / "link.toml").symlink_to("a.toml")
    (tmp_path / "a.svg").hardlink_to("a.toml")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "flows.csv").hardlink_to("a.toml")
    (tmp_path / "table.csv").write_text("buffer,efficiency\n1,0.5\n2,0.6\n1,0.7\n2,0.9\n")
    Store("runs.csv").close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.suffix in (".toml", ".svg", ".csv")}
    refused = run(*arguments)
    assert refused.returncode == 2
    assert "is also an input; needs another" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in before} == before


def test_two_outputs_in_one_file_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(SCENARIO)
    refused = run("run", "a.toml", "--json", "b", "--perfetto", "./b")
    assert refused.returncode == 2
    assert refused.stderr == "error: --perfetto: b is also the file of --json; needs another file\n"
    refused = run("run", "a.toml", "--json", "b", "--csv", "./b")
    assert refused.returncode == 2
    assert refused.stderr == "error: --csv: b is also the file of --json; needs another directory\n"
    assert not Path("b").exists()
    assert not (tmp_path / "b").exists()


def test_pipes_and_devices_are_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # A pipe without a reader does not block, but causes an error that names the pipe.
    with pytest.raises(OSError, match=str(pipe)):
        files.write_text(pipe, "new")
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader, files.kept_apart():
        files.check_file("--json", pipe)
        files.write_text(pipe, "new")
        assert reader.read() == "new"
    assert pipe.is_fifo()
    with files.kept_apart():
        for option in ("--json", "--csv"):
            files.check_file(option, Path("/dev/null"))
    files.write_text(Path("/dev/null"), "new")
    assert Path("/dev/null").is_char_device()


def test_an_open_descriptor_is_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    with file.open("w") as opened:
        opened.write("old")
        opened.flush()
        files.write_text(Path(f"/dev/fd/{opened.fileno()}"), "new")
    assert file.read_text() == "oldnew"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("run a.toml --csv -", "--csv"),
        ("run a.toml --qlog -", "--qlog"),
        ("run a.toml --perfetto -", "--perfetto"),
        ("run a.toml --capture host:source1=-", "capture host:source1"),
        ("analyse a.csv --response x --factors y --csv -", "--csv"),
        ("fit a.pcapng -o -", "--output"),
        ("plot a.toml -o -", "--output"),
        ("whatif a.toml -o -", "--output"),
        ("reproduce lbd-01 --out -", "--out"),
        ("suite rfc-9743 -o -", "--out"),
        ("study export a --bundle -", "--bundle"),
        ("validate linux path --pcap -", "--pcap"),
        ("validate ns2 --figure -", "--figure"),
        ("satellites starlink-550 London Paris --picture -", "--picture"),
        ("satellites starlink-550 London Paris -o - --routes -", "--routes"),
    ],
)
def test_folders_and_binary_files_are_not_written_to_standard_output(tmp_path: Path, words: str, option: str) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    done = run(*words.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"error: {option}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


@pytest.mark.parametrize(
    ("words", "head"),
    [
        ("run a.toml --no-store --json -", "{"),
        ("design a.toml --factor tcp.recovery=vanilla,reno --csv -", "point,tcp.recovery,"),
        (
            "design a.toml --factor tcp.recovery=vanilla,reno --csv - --run a --store a.db --workers 1",
            "point,tcp.recovery,",
        ),
        ("study export -o - --store b.db", "scenario,seed,"),
        ("attack --write -", "# "),
        ("advise --gateway 50Mbit/s --write -", "# "),
        ("satellites starlink-550 London Paris --duration 1s --routes -", "time_s,"),
        ("init -", "# "),
    ],
)
def test_one_text_file_is_written_to_standard_output_alone(tmp_path: Path, words: str, head: str) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    Store(tmp_path / "b.db").close()
    done = run(*words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(head)
    assert not (tmp_path / "-").exists()
    # Tables, notes and suggestions are on standard error.
    assert not any(line.startswith((" ", "Next", "longpipe")) for line in done.stdout.splitlines() if head != "{")
