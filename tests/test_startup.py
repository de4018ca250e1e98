import subprocess
import sys

import pytest

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


def test_importing_longpipe_loads_no_library_at_all() -> None:
    assert not loaded("import longpipe") & {*HEAVY, "numpy", "pydantic", "rich", "typer"}


def test_its_names_are_there_when_they_are_used() -> None:
    import longpipe

    assert set(longpipe.__all__) <= set(dir(longpipe))
    assert {getattr(longpipe, name).__name__ for name in longpipe.__all__} == set(longpipe.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Scenaro'"):
        _ = longpipe.Scenaro  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="Scenaro"):
        from longpipe import Scenaro  # type: ignore[attr-defined]  # noqa: F401
