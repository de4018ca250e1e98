"""Contents of a source distribution, the citation file and the workflow."""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

import longpipe
from longpipe.cli import app
from longpipe.examples import EXAMPLES
from longpipe.lab import PAGE

ROOT = Path(__file__).parent.parent


def test_citation_has_the_version_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == longpipe.__version__  # type: ignore[index]
    assert {"cff-version", "message", "title", "authors"} <= set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


def test_the_package_for_notebooks_in_the_browser_has_this_version() -> None:
    project = tomllib.loads((ROOT / "integrations/pyodide/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == longpipe.__version__


def test_the_sdist_has_scenarios_pages_and_examples(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"CITATION.cff", "CHANGELOG.md", "docs/tutorial.md", "docs/how-to/satellite-buffer.md"}
    wanted |= {f"scenarios/{path.name}" for path in (ROOT / "scenarios").glob("*.toml")}
    wanted |= {"python/longpipe_evidence/validate/ns2.tcl", "python/longpipe_evidence/papers/frr_96/statements.csv"}
    wanted |= {f"python/longpipe/examples/{name}.toml" for name in EXAMPLES}
    controls = "python/longpipe/controls"
    wanted |= {f"{controls}/include/longpipe_control.h", f"{controls}/linux/longpipe_linux.h"}
    wanted.add(f"{controls}/linux/longpipe_linux.c")
    if PAGE.exists():
        wanted.add("python/longpipe/lab/page.html")
    assert wanted <= names


def _workflow(name: str) -> dict[Any, Any]:
    workflow: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))
    for job in workflow["jobs"].values():
        for step in job.get("steps", []):
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step.get("uses", "any/action@v1"))
    return workflow


def _artifacts(job: dict[str, Any], action: str) -> list[dict[str, Any]]:
    return [step["with"] for step in job["steps"] if f"/{action}-artifact@" in step.get("uses", "")]


def test_workflow_tests_and_builds_wheels_on_three_systems() -> None:
    workflow = _workflow("checks.yml")
    jobs = workflow["jobs"]
    # YAML parses an unquoted "on" as true.
    assert {"pull_request", "workflow_call"} <= workflow[True].keys()
    assert jobs["wheels"]["strategy"]["matrix"]["system"] == ["macos-latest", "windows-latest"]
    commands = "\n".join(step["run"] for job in jobs.values() for step in job["steps"] if "run" in step)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"setup", "lint", "test", "docs", "lab", "wheels", "sdist"} == set(
        re.findall(r"^make (\S+)$", commands, re.MULTILINE)
    ) & targets
    known = set(cast(TyperGroup, get_command(app)).commands)
    commands_of_longpipe = set(re.findall(r"^longpipe (\S+)", commands, re.MULTILINE))
    assert commands_of_longpipe == {"doctor", "init", "run", "plot", "lab"} <= known
    # Each wheel contains the lab, which a single job builds.
    page = "python/longpipe/lab/page.html"
    assert [upload["path"] for upload in _artifacts(jobs["lab"], "upload")] == [page]
    for name in ("linux", "wheels", "pages"):
        assert jobs[name]["needs"] == "lab"
        assert _artifacts(jobs[name], "download") == [{"name": "lab", "path": str(Path(page).parent)}]
    # All wheels are installed on a system of their own.
    assert jobs["installed"]["needs"] == ["linux", "wheels"]
    assert {"ubuntu-latest", "ubuntu-24.04-arm"} < set(jobs["installed"]["strategy"]["matrix"]["system"])


def test_workflow_publishes_only_what_was_checked() -> None:
    release = _workflow("release.yml")
    jobs = release["jobs"]
    assert release[True]["push"] == {"branches": ["main"], "tags": ["v*"]}
    built = _workflow("checks.yml")["jobs"]
    uploads = {upload["name"].partition("$")[0] for job in built.values() for upload in _artifacts(job, "upload")}
    assert jobs.pop("checks") == {"uses": "./.github/workflows/checks.yml"}
    for job in jobs.values():
        assert job["needs"] == "checks"
        for download in _artifacts(job, "download"):
            assert download.get("name", download.get("pattern", "").rstrip("*")) in uploads


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_package_without_the_lab_reports_it(target: str, tmp_path: Path) -> None:
    lines = subprocess.run(
        ["make", "--dry-run", target, f"PAGE={tmp_path}/page.html"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    (line,) = [line for line in lines if "has no lab" in line]
    said = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stderr
    assert said == f"warning: {tmp_path}/page.html is missing, so this has no lab; run make lab before\n"
    (tmp_path / "page.html").touch()
    assert subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stderr == ""


def test_setup_announces_its_steps() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "setup"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    said = re.findall(r'^echo "(.*)"$', done.stdout, re.MULTILINE)
    assert [line[:4] for line in said] == ["1/3:", "2/3:", "3/3:"]
