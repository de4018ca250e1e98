import re
import subprocess
import sys
from pathlib import Path

import pytest

from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.study import Study

HEAVY = {"pandas", "scipy", "statsmodels", "matplotlib", "pyarrow", "sqlalchemy", "distributed", "psycopg", "jinja2"}


def loaded(code: str) -> set[str]:
    """Libraries in memory after this code."""
    told = f"import sys\n{code}\nprint('loaded', *{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded ")[2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import longpipe",
        "import longpipe.cli",
        "from longpipe import Scenario, ScenarioError; Scenario(name='a').digest()",
        "from longpipe.cli import app; app(['--help'], standalone_mode=False)",
        "from longpipe.cli import app; app(['--version'], standalone_mode=False)",
        "from longpipe.cli import app; app(['init'], standalone_mode=False)",
    ],
)
def test_what_needs_no_tables_loads_no_library_of_tables(code: str) -> None:
    found = loaded(code)
    assert "longpipe" in found
    assert not found & HEAVY


@pytest.mark.parametrize("command", [["run", "lan.toml"], *(["study", told] for told in ("list", "status", "show"))])
def test_a_run_and_a_look_at_a_study_load_no_pandas(command: list[str], tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    base = Scenario(name="lan", duration="10 ms")
    (tmp_path / "lan.toml").write_text(base.to_toml())
    if command[0] == "study":
        Study(Design.full_factorial(base, [Factor.over("tcp.recovery", ["vanilla", "reno"])]), store, "one")
        command = command if command[1] == "list" else [*command, "one"]
    code = (
        f"import os; from longpipe.cli import app; os.chdir({str(tmp_path)!r})\n"
        f"app({[*command, '--store', str(store)]}, standalone_mode=False)\n"
        "status = open('/proc/self/status').readlines() if os.path.exists('/proc/self/status') else []\n"
        "assert all(int(line.split()[1]) < 80 * 1024 for line in status if line.startswith('VmHWM'))"
    )
    found = loaded(code)
    assert "sqlalchemy" in found
    assert not found & (HEAVY - {"sqlalchemy"})


def test_a_picture_loads_what_draws_it_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "lan.toml").write_text(Scenario(name="lan", duration="10 ms").to_toml())
    code = (
        f"import os, sys; from longpipe.cli import app; os.chdir({str(tmp_path)!r})\n"
        "app(['plot', 'lan.toml', 'throughput', '-o', 'lan.png'], standalone_mode=False)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert loaded(code) & HEAVY == {"pandas", "matplotlib", "pyarrow"}


def test_workers_load_no_pandas_and_no_database() -> None:
    code = (
        "from longpipe import Scenario; from longpipe.executors.processes import run_job\n"
        "from longpipe.executors import Failure\n"
        "assert not isinstance(run_job((Scenario(duration='10 ms'), 1)), Failure)"
    )
    assert not loaded(code) & HEAVY


def test_importing_longpipe_loads_no_library_at_all() -> None:
    assert not loaded("import longpipe") & {*HEAVY, "numpy", "pydantic", "rich", "typer"}


def test_its_names_are_there_when_they_are_used() -> None:
    import longpipe

    assert set(longpipe.__all__) <= set(dir(longpipe))
    assert {getattr(longpipe, name).__name__.rpartition(".")[2] for name in longpipe.__all__} == set(longpipe.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", longpipe.__version__)
    with pytest.raises(AttributeError, match="no attribute 'Scenaro'"):
        _ = longpipe.Scenaro  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="Scenaro"):
        from longpipe import Scenaro  # type: ignore[attr-defined]  # noqa: F401
