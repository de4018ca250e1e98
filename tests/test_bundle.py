"""Bundles of studies: `longpipe study export --bundle`, `longpipe study rerun`."""

import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from commands import PLAIN, run
from longpipe import Design, Factor, Scenario, ScenarioError, Study, simulate
from longpipe.study import bundle

BASE = Scenario(defaults="1996", name="lan", duration="20 ms").with_(start={"kind": "random", "over": "1 ms"})
DESIGN = Design.full_factorial(BASE, [Factor.over("tcp.recovery", ["vanilla", "reno"], "tcp")], replications=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a store with a finished study."""
    path = tmp_path_factory.mktemp("bundle") / "campaign.db"
    study = Study(DESIGN, path)
    study.run(workers=1)
    study.close()
    return path


@pytest.fixture(scope="module")
def exported(store: Path) -> Path:
    path = store.with_name("lan.zip")
    done = run("study", "export", "lan", "--bundle", path, "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("4 runs: ")
    return path


def changed(exported: Path, path: Path, name: str, content: bytes) -> Path:
    """Copies a bundle, with the content of one file replaced."""
    with zipfile.ZipFile(exported) as source, zipfile.ZipFile(path, "w") as copy:
        for one in source.namelist():
            copy.writestr(one, content if one == name else source.read(one))
    return path


def test_a_bundle_reruns_to_the_same_bits(exported: Path, tmp_path: Path) -> None:
    done = run("study", "rerun", exported, "--workers", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["4 of 4 runs of lan are bit-identical"]


def test_a_bundle_has_scenarios_seeds_engine_results_and_environment(exported: Path, store: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    index = json.loads(files["bundle.json"])
    assert {run["seed"] for run in index["runs"]} == {1, 2}
    assert {"longpipe", "numpy"} <= index["software"].keys()
    assert index["machine"]["cores"] >= 1
    # Each point can be run from its TOML file alone, and is equal to the point that the core ran.
    first = Scenario.from_toml(files["points/1.toml"])
    assert f"resolved/{first.digest()}.json" in files
    assert len(files["results.csv"].splitlines()) == 5
    assert "longpipe study rerun lan.zip" in files["README.txt"]
    # longpipe is not on PyPI.
    assert "pip install longpipe" not in files["README.txt"]
    study = Study.open("lan", store)
    before = exported.read_bytes()
    assert bundle.write(study, exported.with_name("lan.zip")) == bundle.read(exported)
    assert exported.read_bytes() == before


def test_a_run_that_differs_is_named(exported: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        index = json.loads(archive.read("bundle.json"))
    wrong = "0" * len(index["runs"][0]["state_hash"])
    index["runs"][0]["state_hash"] = wrong
    index["engine"] = "1"
    other = changed(exported, tmp_path / "other.zip", "bundle.json", json.dumps(index).encode())
    done = run("study", "rerun", other, "--workers", "1")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("point 1, seed 1: ")
    assert lines[0].endswith(f"instead of {wrong}")
    assert lines[-1] == "3 of 4 runs of lan are bit-identical"
    assert done.stderr.startswith("warning: made by engine 1 of longpipe ")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("bundle.json", b"[]", "format: []; this longpipe reads 1"),
        ("bundle.json", b'{"format": 2}', "format: 2; this longpipe reads 1"),
        ("bundle.json", b'{"format": 1}', "study, engine, longpipe, runs: missing; needs a complete bundle"),
        ("bundle.json", b"{", "bundle.json"),
    ],
)
def test_other_file_is_rejected_as_bundle_in_one_line(
    exported: Path, tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        bundle.read(changed(exported, tmp_path / "other.zip", name, content))
    assert problem in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_changed_scenario_and_other_files_are_rejected(exported: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        name = next(name for name in archive.namelist() if name.startswith("resolved/"))
        content = archive.read(name).replace(b"vanilla", b"tahoe").replace(b'"reno"', b'"tahoe"')
    with pytest.raises(ScenarioError, match="does not match its name; needs an unchanged bundle"):
        bundle.read(changed(exported, tmp_path / "other.zip", name, content))
    (tmp_path / "text.zip").write_text("no archive")
    for path, problem in ((tmp_path / "text.zip", "not a zip file"), (tmp_path / "none.zip", "no such file")):
        with pytest.raises(ScenarioError, match=problem):
            bundle.read(path)


def test_edits_of_the_design_points_or_results_are_named(exported: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        point, table = archive.read("points/2.toml"), archive.read("results.csv")
        index = json.loads(archive.read("bundle.json"))
    assert index["sha256"].keys() == {"design.json", "results.csv", *(f"points/{number}.toml" for number in (1, 2))}
    one = changed(exported, tmp_path / "one.zip", "results.csv", table.replace(b"1", b"2", 1))
    done = run("study", "rerun", one, "--workers", "1")
    problem = "results.csv: changed since the export; needs an unchanged bundle"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {one}: {problem}\n")
    both = changed(one, tmp_path / "both.zip", "points/2.toml", point + b"\n")
    with pytest.raises(ScenarioError, match=r"both\.zip: points/2\.toml, results\.csv: changed since the export"):
        bundle.read(both)
    with zipfile.ZipFile(shutil.copy(exported, tmp_path / "more.zip"), "a") as archive:
        archive.writestr("points/3.toml", point)
    with pytest.raises(ScenarioError, match=r"more\.zip: points/3\.toml: changed since the export"):
        bundle.read(tmp_path / "more.zip")


def test_a_bundle_of_an_earlier_release_is_rerun_with_a_warning(exported: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        index = json.loads(archive.read("bundle.json"))
    del index["sha256"]
    old = changed(exported, tmp_path / "old.zip", "bundle.json", json.dumps(index).encode())
    done = run("study", "rerun", old, "--workers", "1")
    assert (done.returncode, done.stdout) == (0, "4 of 4 runs of lan are bit-identical\n")
    assert done.stderr.startswith(f"warning: {old} is of an earlier release: changes of its design")


def test_bundle_contains_a_whole_study(store: Path, tmp_path: Path) -> None:
    cases: list[tuple[list[str], str]] = [
        (["--bundle", f"{tmp_path}/a.zip"], "--bundle: contains all runs of a study unchanged; needs STUDY"),
        (["lan", "--bundle", f"{tmp_path}/a.tar"], "--bundle: a.tar; needs a file that ends in .zip"),
    ]
    for arguments, problem in cases:
        done = run("study", "export", *arguments, "--store", store)
        assert done.returncode == 2
        assert problem in done.stderr


def test_damaged_archive_is_rejected_in_one_line(exported: Path, tmp_path: Path) -> None:
    content, damaged = exported.read_bytes(), tmp_path / "damaged.zip"
    # The damaged bytes are in the first file's compressed text, and in the central directory after the files.
    refused: list[str] = []
    for at in (*range(40, 400, 9), *range(len(content) - 200, len(content))):
        damaged.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            bundle.read(damaged)
        except ScenarioError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all(line.startswith(str(damaged)) and "\n" not in line for line in refused)
    assert max(map(len, refused)) < 300 + len(str(damaged))


def test_irregular_file_is_rejected_as_bundle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    for path, problem in ((tmp_path / "pipe.zip", "it is a named pipe"), (Path("/dev/zero"), "it is a device")):
        with pytest.raises(ScenarioError, match=problem):
            bundle.read(path)


def test_oversized_index_is_not_unpacked(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_INDEX_BYTES", 1 << 20)
    large = changed(exported, tmp_path / "large.zip", bundle.INDEX, b" " * (2 << 20))
    with pytest.raises(ScenarioError, match=r"bundle.json: more than 1 MiB; needs a bundle"):
        bundle.read(large)


# The user's own controllers

PATH = Scenario.from_toml("""
name = "own"
duration = "3 s"
framing = "ip"
tcp.profile = "linux-6"
switch.buffer = "100 packets"
network = {kind = "dumbbell", sources = 1, trunk_rate = "10 Mbit/s", trunk_delay = "20 ms", access_rate = "100 Mbit/s"}
""")
MODULES = Path(__file__).parent / "data" / "modules"
CLASS = Path(__file__).parent / "data" / "classes" / "aimd.py"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exports a study of two controls, a Linux module and a Python class, and deletes their files."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("own")
    module, file = (shutil.copy(source, folder) for source in (MODULES / "tcp_aimd.c", CLASS))
    levels = {
        "module": {"kind": "module", "file": module, "parameters": {"beta": 700}},
        "class": {"kind": "python", "class": f"{file}:Aimd", "parameters": {"beta": 0.6}},
        "cubic": "cubic",
    }
    factor = Factor("control", {name: {"tcp.congestion": level} for name, level in levels.items()})
    study = Study(Design.full_factorial(PATH, [factor], replications=2), folder / "own.db")
    study.run(workers=1)
    study.close()
    done = run("study", "export", "own", "--bundle", folder / "own.zip", "--store", folder / "own.db")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.rstrip().endswith("longpipe study rerun " + f"{folder}/own.zip --trust")
    Path(module).unlink()
    Path(file).unlink()
    return folder / "own.zip"


def test_bundle_contains_modules_and_classes(own: Path, tmp_path: Path) -> None:
    """Another machine has none of the author's files, and an empty cache."""
    environment = {**PLAIN, "XDG_CACHE_HOME": str(tmp_path)}
    done = run("study", "rerun", own, "--workers", "1", "--trust", environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["6 of 6 runs of own are bit-identical"]
    with zipfile.ZipFile(own) as archive:
        names = {Path(name).suffix: name for name in archive.namelist() if name.startswith("controls/")}
        assert names.keys() == {".so", ".pickle", ".c"}
        assert b"tcp_congestion_ops" in archive.read(names[".c"])
        assert "--trust" in archive.read("README.txt").decode()


def test_controllers_of_a_bundle_run_only_if_it_is_trusted(own: Path) -> None:
    done = run("study", "rerun", own)
    assert done.returncode == 2
    told = "needs --trust to run them"
    assert done.stderr.startswith(f"error: {own}: its controllers execute with your rights: ")
    assert done.stderr.rstrip().endswith(told)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("where", ["tcp.congestion", "network.group[1].tcp.congestion", "network.pep.tcp.congestion"])
def test_a_point_without_its_controller_is_rejected_with_its_field(where: str) -> None:
    digest = "ab" * 32
    missing = {"tcp": {"congestion": {"kind": "python", "class": "none.py:Mine", "digest": digest}}}
    groups: list[dict[str, object]] = [{"name": "a"}, {"name": "b"}]
    network: dict[str, object] = {"kind": "dumbbell", "group": groups}
    if "group" in where:
        groups[1] |= missing
    elif "pep" in where:
        network["pep"] = {"buffer": "1 MB", **missing}
    fields = {"framing": "ip", "switch": {"buffer": "9 packets"}, **(missing if where == "tcp.congestion" else {})}
    with pytest.raises(ScenarioError, match=rf"^{re.escape(where)}: no controller of this machine has the digest abab"):
        simulate(Scenario(defaults="1996", **fields, network=network))  # type: ignore[arg-type]


def test_a_point_without_its_stack_is_rejected_with_its_field() -> None:
    stack = {"kind": "own-stack", "file": "none.so", "digest": "ab" * 32}
    groups = [{"name": "a"}, {"name": "b", "traffic": stack}]
    fields: dict[str, Any] = {"framing": "ip", "switch": {"buffer": "9 packets"}}
    with pytest.raises(
        ScenarioError, match=r"^network\.group\[1\]\.traffic: no stack of this machine has the digest abab"
    ):
        simulate(Scenario(defaults="1996", **fields, network={"kind": "dumbbell", "group": groups}))


def test_a_changed_controller_is_rejected(own: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(own) as archive:
        index = json.loads(archive.read("bundle.json"))
        name = next(name for name in archive.namelist() if name.endswith(".so"))
        content = archive.read(name)
    (row,) = (row for row in index["controls"] if row["kind"] == "module")
    other = row["digest"].encode()
    wrong = changed(own, tmp_path / "a.zip", name, content.replace(other, b"0" * 64))
    with pytest.raises(ScenarioError, match="does not match its name; needs an unchanged bundle"):
        bundle.read(wrong)
    for field, value in (("kind", "script"), ("file", "controls/other.so"), ("digest", 3)):
        entries = [{**row, field: value}]
        text = json.dumps({**index, "controls": entries}).encode()
        with pytest.raises(ScenarioError, match="controls: ") as error:
            bundle.read(changed(own, tmp_path / "b.zip", "bundle.json", text))
        assert len(str(error.value).splitlines()) == 1
