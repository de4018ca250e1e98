import re
import subprocess
import sys
from pathlib import Path

import pytest

import longpipe.cli
from longpipe import Scenario
from longpipe.design import Design, Factor
from longpipe.scenario.base import Model
from longpipe.store import Store
from longpipe.study import Study

# Slow modules of libraries and of Python that a command imports only if it uses them.
SLOW = {"asyncio", "email", "numpy", "orjson", "psutil", "pydantic", "tempfile"}
HEAVY = {"pandas", "scipy", "statsmodels", "matplotlib", "pyarrow", "sqlalchemy", "distributed", "psycopg", "jinja2"}


def loaded(code: str) -> set[str]:
    """Returns the libraries that are loaded after the given code has run."""
    told = f"import sys\n{code}\nprint('loaded', *(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded ")[2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import longpipe",
        "import longpipe.cli",
        "from longpipe import Scenario, ScenarioError; Scenario(defaults='1996', name='a').digest()",
        "from longpipe.cli import app; app(['--help'], standalone_mode=False)",
        "from longpipe.cli import app; app(['--version'], standalone_mode=False)",
        "from longpipe.cli import app; app(['init'], standalone_mode=False)",
    ],
)
def test_commands_without_tables_do_not_load_pandas(code: str) -> None:
    found = loaded(code)
    assert "longpipe" in found
    assert not found & HEAVY


@pytest.mark.parametrize("command", [["run", "lan.toml"], *(["study", told] for told in ("list", "status", "show"))])
def test_running_and_showing_a_study_load_no_pandas(command: list[str], tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    base = Scenario(defaults="1996", name="lan", duration="10 ms")
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
    assert not loaded(code) & (HEAVY - {"sqlalchemy"})


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("--help", set()),
        ("init", {"orjson", "pydantic"}),
        ("run lan.toml --no-store", {"orjson", "pydantic"}),
        # The store already exists, because creating it needs SQLAlchemy.
        ("run lan.toml", {"orjson", "pydantic", "tempfile"}),
        ("study list", {"asyncio", "email", "orjson", "psutil", "pydantic", "sqlalchemy", "tempfile"}),
    ],
)
def test_each_command_imports_only_its_listed_slow_modules(command: str, wanted: set[str], tmp_path: Path) -> None:
    (tmp_path / "lan.toml").write_text(Scenario(defaults="1996", name="lan", duration="10 ms").to_toml())
    Store(tmp_path / "runs.db").close()
    code = (
        "import os, sys; from longpipe.__main__ import main\n"
        f"os.chdir({str(tmp_path)!r}); os.environ['LONGPIPE_STORE'] = 'runs.db'; sys.argv = ['longpipe', *{command.split()}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert loaded(code) & (SLOW | HEAVY) == wanted


def test_command_does_not_import_other_commands() -> None:
    code = (
        "import sys; from longpipe.cli import app\napp(['init'], standalone_mode=False)\nprint('of cli', *sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    names = {name.split(".")[2] for name in told.rpartition("of cli ")[2].split() if name.startswith("longpipe.cli.")}
    assert names & {path.stem for path in Path(longpipe.cli.__file__).parent.iterdir()} == {
        "bash", "init", "toolkit", "usage",
    }  # fmt: skip


def test_a_scenario_builds_no_validator_of_its_large_parts() -> None:
    code = (
        "from longpipe import Scenario; from longpipe.scenario.base import Model\n"
        "Scenario(name='a').digest()\n"
        "def below(model):\n    return {model}.union(*map(below, model.__subclasses__()))\n"
        "built = {model.__name__ for model in below(Model) if model.__pydantic_complete__}\n"
        "assert 'Scenario' in built and not built & {'Dumbbell', 'Flow', 'Graph', 'Link', 'Node', 'Switch', 'Tcp'}, built"
    )
    loaded(code)


def test_defaults_that_no_validator_has_seen_equal_validated_ones() -> None:
    def below(model: type[Model]) -> set[type[Model]]:
        return {model}.union(*map(below, model.__subclasses__()))

    defaults = [field.default for model in below(Model) for field in model.model_fields.values()]
    parts = [default for default in defaults if isinstance(default, Model)]
    assert len(parts) >= 20
    for one in parts:
        validated = type(one)()
        assert repr(vars(one)) == repr(vars(validated))
        assert one.model_fields_set == validated.model_fields_set


def test_picture_imports_only_its_modules(tmp_path: Path) -> None:
    (tmp_path / "lan.toml").write_text(Scenario(defaults="1996", name="lan", duration="10 ms").to_toml())
    code = (
        f"import os, sys; from longpipe.cli import app; os.chdir({str(tmp_path)!r})\n"
        "app(['plot', 'lan.toml', 'throughput', '-o', 'lan.png'], standalone_mode=False)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert loaded(code) & HEAVY == {"pandas", "matplotlib", "pyarrow"}


def test_workers_load_no_pandas_and_no_database_and_build_no_models() -> None:
    code = (
        "import sys; import longpipe.executors.preloaded; preloaded = set(sys.modules)\n"
        "from longpipe import Scenario; from longpipe.executors.processes import run_job\n"
        "from longpipe.executors import Failure\n"
        "assert not isinstance(run_job((Scenario(defaults='1996', duration='10 ms'), 1)), Failure)\n"
        "assert not [name for name in set(sys.modules) - preloaded if name.startswith(('longpipe', 'pydantic'))]"
    )
    assert not loaded(code) & HEAVY


def test_importing_longpipe_loads_no_library() -> None:
    assert not loaded("import longpipe") & {*HEAVY, "numpy", "pydantic", "rich", "typer"}


def test_documentation_and_signature_of_a_part_list_its_fields() -> None:
    from inspect import getdoc, signature

    from longpipe.scenario.tcp import Tcp

    for _ in range(2):
        assert list(signature(Tcp).parameters) == list(Tcp.model_fields)
        assert (getdoc(Tcp) or "").count("\n    congestion: default aimd\n") == 1
        # Building the validator replaces the signature.
        Tcp()


def test_names_of_the_package_are_imported_on_use() -> None:
    import longpipe

    assert set(longpipe.__all__) <= set(dir(longpipe))
    assert {getattr(longpipe, name).__name__.rpartition(".")[2] for name in longpipe.__all__} == set(longpipe.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", longpipe.__version__)
    with pytest.raises(AttributeError, match="no attribute 'Scenaro'"):
        _ = longpipe.Scenaro  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="Scenaro"):
        from longpipe import Scenaro  # type: ignore[attr-defined]  # noqa: F401
