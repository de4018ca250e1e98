"""Tests of how-to guides that change the code: the changes are applied to a copy, which is built and tested."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

# Compilation takes many minutes on a busy machine.
pytestmark = pytest.mark.timeout(3600)

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "how-to" / "add-a-tcp-variant.md"
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
    if shutil.which("cargo") is None:
        pytest.skip("needs Rust")
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, COPY)
    shutil.copytree(ROOT / "crates", COPY / "crates")
    shutil.copytree(ROOT / "python", COPY / "python", ignore=shutil.ignore_patterns("__pycache__"))
    assert follow(PAGE.read_text(encoding="utf-8"), COPY) == 7
    carry_over({f"longpipe-{crate.name}" for crate in (ROOT / "crates").iterdir()})
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
    # Only one short test is executed.
    crates = ("longpipe-events", "longpipe-tcp")
    plain = [word for crate in crates for word in ("--config", f"profile.ci.package.{crate}.opt-level=0")]
    command = ["cargo", *arguments, *plain, "--profile", "ci", "--offline", "--target-dir", str(BUILT)]
    ran = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_variant_of_the_page_compiles_and_passes_its_test(copy: Path) -> None:
    assert "1 passed" in cargo(copy, "test", "--package", "longpipe-tcp", "--lib", "multcp")


def test_the_random_graphs_draw_the_variant_of_the_page(copy: Path) -> None:
    cargo(copy, "check", "--package", "longpipe-network", "--test", "all")


def test_scenarios_have_the_variant_of_the_page(copy: Path) -> None:
    script = """
    from longpipe import Scenario
    scenario = Scenario().with_(**{"tcp.congestion": "multcp", "tcp.congestion.flows": 4})
    print(scenario.resolve()["flows"][0]["tcp"]["congestion"])
    """
    environment = {**os.environ, "PYTHONPATH": str(copy / "python")}
    lines = "\n".join(line.strip() for line in script.strip().splitlines())
    ran = subprocess.run([sys.executable, "-c", lines], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "{'kind': 'multcp', 'flows': 4}"
