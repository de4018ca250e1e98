import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest

from commands import PLAIN
from commands import run as command
from longpipe import Scenario, _core, doctor, simulate
from longpipe.scenario.schema import schema_version
from longpipe.store import Store, engine_version

LONGPIPE = Path(sys.executable).with_name("longpipe")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", **environment}
    done = subprocess.run([LONGPIPE, *arguments], capture_output=True, text=True, env=plain, timeout=120, check=False)
    assert "Traceback" not in done.stderr
    return done


def part(name: str) -> doctor.Part:
    return next(part for part in doctor.examine() if part.name == name)


def test_version_names_package_engine_and_scenario_schema() -> None:
    done = run("--version")
    expected = [f"longpipe {version('longpipe')}", f"engine {engine_version()}", f"scenario schema {schema_version()}"]
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, expected, "")
    assert engine_version() == _core.__engine__ == str(int(_core.__engine__))
    assert schema_version().startswith(f"{_core.__version__}+")


def test_complete_installation_has_status_0() -> None:
    done = command("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    lines, words = done.stdout.splitlines(), done.stdout.split()
    # Paths are not wrapped, so that they can be copied: that of the Python interpreter, and that of the store if there
    # is one.
    begin = next(line.index(sys.executable) for line in lines if sys.executable in line)
    assert max(map(len, lines)) <= max(80, begin + max(map(len, words)))
    assert engine_version() in words
    assert schema_version() in words
    for text in requires("longpipe") or []:
        if "extra" not in text:
            assert text.split(">")[0] in words
    assert {"distributed", "psycopg", "ns", "tshark", "tcptrace", "linux.uml"} <= set(words)
    assert "broken" not in words


def test_missing_programs_are_listed_with_their_installation(tmp_path: Path) -> None:
    done = command("doctor", environment={**PLAIN, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    for package in ("ns2", "tshark", "tcptrace", "user-mode-linux"):
        assert f"apt install {package}" in " ".join(done.stdout.split())
    missing = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("missing ")]
    # The lab may or may not be built.
    assert sorted({*missing} - {"lab"}) == ["linux.uml", "ns", "tcptrace", "tshark"]
    assert "lab" in done.stdout


def test_program_that_does_not_run_is_not_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tshark").write_text("#!/nowhere/at/all\n")
    (tmp_path / "tshark").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    problem = part("tshark").problem
    assert problem is not None
    assert problem.startswith("does not run, FileNotFoundError: ")
    assert problem.endswith("get it: apt install tshark (Debian, Ubuntu)")


@pytest.mark.parametrize(("library", "extra"), [("distributed", "dask"), ("psycopg", "postgres")])
def test_missing_extras_are_not_a_failure(monkeypatch: pytest.MonkeyPatch, library: str, extra: str) -> None:
    def absent(name: str) -> str:
        if name == library:
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor, "version", absent)
    found = part(library)
    assert (found.required, found.version) == (False, "-")
    assert found.problem == f"not installed; get it: pip install 'longpipe[{extra}]'"


def test_outdated_library_is_reported_as_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version", lambda name: "1.0" if name == "scipy" else version(name))
    found = part("scipy")
    assert (found.required, found.version) == (True, "1.0")
    assert found.problem == "needs >=1.13; get it: pip install longpipe"


# A run also needs NumPy.
@pytest.mark.parametrize("library", ["scipy", "numpy"])
def test_a_required_library_that_is_broken_is_a_failure(tmp_path: Path, library: str) -> None:
    (tmp_path / library).mkdir()
    (tmp_path / library / "__init__.py").write_text("raise ImportError('half\\ninstalled')\n")
    done = run("doctor", PYTHONPATH=str(tmp_path))
    shown = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (1, "")
    assert f"broken {library} " in shown
    assert "cannot be imported, ImportError: half installed; get it: pip install --force-reinstall" in shown
    assert library in shown.split("broken: ")[-1].split(", ")


def test_the_store_is_shown_with_its_runs_and_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    monkeypatch.setenv("LONGPIPE_STORE", f"sqlite:///{path}")
    assert (part("store").version, part("store").problem) == ("none yet", None)
    store = Store(path)
    store.keep(simulate(Scenario(defaults="1996", duration="10 ms")))
    store.close()
    found = part("store")
    assert (found.version, found.required, found.problem) == ("1 runs", False, None)
    assert found.use.startswith(str(path))
    assert found.use.endswith(" MB")
    path.write_text("no database")
    assert part("store").problem is not None


def test_the_schema_does_not_change_with_words() -> None:
    from longpipe.scenario import schema

    one = {"title": "A", "properties": {"title": {"type": "string", "description": "of a scenario", "default": "x"}}}
    other = {"properties": {"title": {"type": "string", "default": "x", "title": "Title"}}}
    assert schema._silent(one) == schema._silent(other) == {"properties": {"title": {"type": "string", "default": "x"}}}
    assert schema._silent(one) != schema._silent({"properties": {"title": {"type": "string", "default": "y"}}})
