import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from longpipe.lab import PAGE
from longpipe.store import engine_version

ROOT = Path(__file__).parent.parent
# Compiling Rust takes a minute if `make setup` was not run before.
pytestmark = [pytest.mark.timeout(1200), pytest.mark.skipif(shutil.which("make") is None, reason="make is missing")]


@pytest.fixture(scope="module")
def wheel() -> Path:
    subprocess.run(["make", "-C", str(ROOT), "wheel"], check=True, capture_output=True)
    (built,) = (ROOT / "dist").iterdir()
    return built


def test_one_wheel_supports_python_3_11_and_newer(wheel: Path) -> None:
    assert re.fullmatch(r"longpipe-[\d.]+-cp311-abi3-[a-z0-9_]+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert [name for name in names if name.endswith((".so", ".pyd"))] == ["longpipe/_core.abi3.so"]
    sources = {file.relative_to(ROOT / "python").as_posix() for file in (ROOT / "python").rglob("*") if file.is_file()}
    wanted = {name for name in sources if "__pycache__" not in name}
    assert {name for name in names if "dist-info" not in name} == wanted


def required(installed: Distribution) -> list[str]:
    """Returns the names of the distributions that a distribution requires in this environment without extras."""
    requirements = map(Requirement, installed.requires or ())
    return [one.name for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]


def link_dependencies(wheel: Path, packages: Path) -> None:
    """Links the wheel's requirements, and nothing else, from this environment.

    Pip would spend a minute on downloads.
    """
    (own,) = distributions(path=[str(wheel)])
    names = required(own)
    found: dict[str, Distribution] = {}
    while names:
        if (name := names.pop()) not in found:
            found[name] = distribution(name)
            names += required(found[name])
    for one in found.values():
        for top in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(one.locate_file(top))))


def test_a_fresh_environment_without_rust_runs_draws_and_reproduces_a_table(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv")
    bin_ = tmp_path / "venv" / "bin"
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    link_dependencies(wheel, packages)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(bin_ / "python")]
    # This fails if a dependency that the wheel declares is missing, because nothing is downloaded.
    subprocess.run([*pip, "install", "--quiet", "--no-index", str(wheel)], check=True)
    # The process can access neither this environment nor Rust nor the sources.
    bare = {"PATH": str(bin_), "HOME": str(tmp_path), "NO_COLOR": "1", "COLUMNS": "100"}
    assert shutil.which("cargo", path=bare["PATH"]) is None

    def run(*arguments: str) -> str:
        command = [str(bin_ / "longpipe"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=bare, cwd=tmp_path, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        return done.stdout

    assert f"engine {engine_version()}\n" in run("--version")
    assert "pip install 'longpipe[dask]'" in " ".join(run("doctor").split())
    run("init", "geo.toml", "--example", "geo")
    assert "limited by" in run("run", "geo.toml", "--set", "duration=5 s")
    run("plot", "geo.toml", "window", "--to", "5")
    assert (tmp_path / "geo-window.png").stat().st_size > 0
    assert "1" in run("reproduce", "frr-96", "--table", "1", "--seeds", "1")
    if PAGE.exists():
        assert Path(run("lab", "--print").strip()).is_file()
    where = subprocess.run(
        [bin_ / "python", "-c", "import longpipe; print(longpipe.__file__)"],
        capture_output=True,
        text=True,
        env=bare,
        cwd=tmp_path,
        check=True,
    )
    assert where.stdout.startswith(str(tmp_path))
