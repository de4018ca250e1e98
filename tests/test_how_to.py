"""Tests of guides that change the code: the changes of all guides are applied to a copy, which is compiled and run."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

import pytest

from longpipe import Scenario
from thorough import THOROUGH

# Compilation takes many minutes on a busy machine.
pytestmark = pytest.mark.timeout(3600)

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = [ROOT / "docs" / "how-to" / name for name in ("add-a-tcp-variant.md", "add-a-part.md")]
# Build folder of the Rust tests, as used by `make test`.
TESTS: Final = ROOT / "target" / "ci"
# A separate folder, because Cargo would confuse the copy with the original; it is kept, so that the copy is built once.
BUILT: Final = ROOT / "target" / "how-to" / "built"
COPY: Final = ROOT / "target" / "how-to" / "copy"
STEP: Final = re.compile(
    r"`(?P<path>[\w/.-]+)`(?:, (?P<how>after|before|instead of) `(?P<anchor>[^`]+)`)?:\n\n```\w+\n(?P<text>.*?)```\n",
    re.DOTALL,
)


def follow(page: str, folder: Path) -> int:
    """Applies the changes that a page shows. Returns their number."""
    steps = list(STEP.finditer(page))
    for step in steps:
        path, how, anchor, text = folder / step["path"], step["how"], step["anchor"], step["text"]
        if how is None:
            assert not path.exists(), f"{step['path']} is there already"
            path.write_text(text, encoding="utf-8")
            continue
        before = path.read_text(encoding="utf-8")
        assert before.count(anchor) == 1, f"{step['path']}: {before.count(anchor)} times {anchor!r}"
        path.write_text(changed(before, how, anchor, text), encoding="utf-8")
    return len(steps)


def changed(before: str, how: str, anchor: str, text: str) -> str:
    at = before.index(anchor)
    if how == "instead of":
        return before[:at] + text.removesuffix("\n") + before[at + len(anchor) :]
    line = before.rindex("\n", 0, at) + 1 if how == "before" else before.index("\n", at) + 1
    return before[:line] + text + before[line:]


@pytest.fixture(scope="module")
def copy() -> Path:
    """Returns a copy of the repository with the changes of all pages, which are independent of each other."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, COPY)
    for folder in ("crates", "docs", "python"):
        shutil.copytree(ROOT / folder, COPY / folder, ignore=shutil.ignore_patterns("__pycache__", "_build", "target"))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert follow(text, COPY) == len(re.findall(r"^```(?:rust|py|md|none)$", text, re.MULTILINE))
    return COPY


def carry_over(packages: set[str]) -> None:
    """Copies the build of all packages except these, which is equal for the copy."""
    for known in (TESTS / ".fingerprint").glob("*"):
        name, _, number = known.name.rpartition("-")
        target = BUILT / "ci" / ".fingerprint" / known.name
        if name in packages or target.exists():
            continue
        for built in (TESTS / "deps").glob(f"*-{number}*"):
            (BUILT / "ci" / "deps").mkdir(parents=True, exist_ok=True)
            shutil.copy2(built, BUILT / "ci" / "deps")
        for folder in ("build", ".fingerprint"):
            if (TESTS / folder / known.name).is_dir():
                shutil.copytree(TESTS / folder / known.name, BUILT / "ci" / folder / known.name, dirs_exist_ok=True)


def cargo(copy: Path, *arguments: str) -> str:
    if shutil.which("cargo") is None:
        pytest.skip("needs Rust")
    carry_over({f"longpipe-{crate.name}" for crate in (ROOT / "crates").iterdir()})
    # Little is executed.
    crates = ("longpipe-events", "longpipe-network", "longpipe-tcp")
    plain = [word for crate in crates for word in ("--config", f"profile.ci.package.{crate}.opt-level=0")]
    separator = arguments.index("--") if "--" in arguments else len(arguments)
    command = ["cargo", *arguments[:separator], *plain, "--profile", "ci", "--offline", "--target-dir", str(BUILT)]
    ran = subprocess.run([*command, *arguments[separator:]], cwd=copy, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def python(copy: Path, script: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy / "python")}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    ran = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_variants_compile_and_pass_their_tests(copy: Path) -> None:
    assert "2 passed" in cargo(copy, "test", "--package", "longpipe-tcp", "--lib", "--", "multcp", "early")


def test_parts_and_their_random_parameters_compile(copy: Path) -> None:
    cargo(copy, "check", "--package", "longpipe-network", "--example", "soak")


def test_parts_of_the_python_package_are_used_by_the_command(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "nuttcp.txt").write_text(
        "    1.0625 MB /   1.00 sec =    8.9126 Mbps     0 retrans\n"
        "    2.0000 MB /   1.00 sec =   16.7770 Mbps     0 retrans\n"
    )
    script = """
    from commands import run
    from longpipe import Scenario, simulate
    from longpipe.measures.measure import parse

    geo = Scenario.example("geo")
    result = simulate(geo.with_(duration="3 s"))
    assert parse("flow1.segments")(result) == result.flows["sent_segments"][0] > 0
    run("init", "geo.toml", "--example", "geo")
    for words in (["links", "geo.toml"], ["plot", "geo.toml", "delivered", "--to", "3"], ["read", "nuttcp.txt"]):
        done = run(*words)
        print(done.stdout)
        assert done.returncode == 0, done.stderr
    """
    script = f"import sys; sys.path.append({str(Path(__file__).parent)!r})\n{textwrap.dedent(script)}"
    printed = python(copy, script, tmp_path)
    assert "Mbit/s, " in printed
    assert "Picture: geo-delivered.png" in printed
    assert re.search(r"flow1 +12\.85", printed)


@pytest.mark.skipif(not THOROUGH, reason="compiles the core: make validate")
def test_parts_run_in_both_engines(copy: Path, tmp_path: Path) -> None:
    scenario = Scenario.example("fiber").with_(duration="2 s").resolve()
    for link in scenario["links"]:
        link["loss"] = {"kind": "recurring", "period_ps": 10**11, "lost_ps": 10**9}
        if link["buffer"] is not None:
            link["policy"] = {"kind": "random-drop", "protected": 2}
            link["conditioners"] = [{"kind": "black-hole", "mtu_bytes": 2000}]
    scenario["flows"][0]["tcp"]["recovery"] = {"kind": "early"}
    hashes = set()
    for engine in ("trains", "reference"):
        file = tmp_path / f"{engine}.json"
        file.write_text(json.dumps({**scenario, "engine": engine}))
        printed = cargo(copy, "run", "--package", "longpipe-network", "--example", "run", "--", str(file))
        hashes.add(printed.split()[-1])
        assert int(printed.split()[0]) > 0
    assert len(hashes) == 1
    # `make models` writes the models of the described parts.
    cargo(copy, "build", "--package", "longpipe-python")
    shutil.copy(BUILT / "ci" / "lib_core.so", copy / "python" / "longpipe" / "_core.abi3.so")
    generate = copy / "crates" / "describe" / "generate.py"
    python(copy, f"import runpy; runpy.run_path({str(generate)!r}, run_name='__main__')", tmp_path)
    script = """
    from longpipe import Scenario, simulate
    from longpipe.scenario.policies import AckFilter, RandomDrop
    from longpipe.scenario.loss import RecurringLoss
    from longpipe.scenario.conditioners import BlackHole
    from longpipe.scenario.traffic import Uniform

    print(RandomDrop(protected=3), AckFilter(least_packets=4), RecurringLoss(period="1 s"))
    geo = Scenario.example("geo").with_(**{"tcp.congestion": "multcp", "tcp.congestion.flows": 4})
    print(geo.resolve()["flows"][0]["tcp"]["congestion"])
    base = {"duration": "1 s", "switch": {"buffer": "20 packets"}}
    for engine in ("trains", "reference"):
        changes = {"traffic": Uniform(rate="1 Mbit/s"), "network.conditioners": [BlackHole(mtu="1028 B")]}
        result = simulate(Scenario(defaults="1996", framing="ip", engine=engine, **base).with_(**changes))
        assert result.datagrams["received"].sum() > 0
        print(result.state_hash)
    """
    printed = python(copy, script, tmp_path)
    assert "protected=3" in printed
    assert "{'kind': 'multcp', 'flows': 4}\n" in printed
    first, second = printed.splitlines()[-2:]
    assert first == second
