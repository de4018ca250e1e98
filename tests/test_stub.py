import ast
import os
import subprocess
import sys
from pathlib import Path

from longpipe import _core


def test_help_describes_the_fields_of_the_records_for_hooks_as_the_stub_does() -> None:
    for described in ast.parse(Path(str(_core.__file__)).with_name("_core.pyi").read_text()).body:
        if isinstance(described, ast.ClassDef) and described.name in (
            "Ack",
            "Event",
            "Grant",
            "Interval",
            "Lost",
            "Sent",
        ):
            record = getattr(_core, described.name)
            properties = [one for one in described.body if isinstance(one, ast.FunctionDef) and one.decorator_list]
            texts = {one.name: ast.get_docstring(one) for one in properties if not one.name.startswith("_")}
            assert {name: getattr(record, name).__doc__ for name in texts} == texts
            fields = [name for name, field in vars(record).items() if type(field).__name__ == "getset_descriptor"]
            assert fields
            assert all(getattr(record, name).__doc__ for name in fields)


def test_the_stub_describes_the_core(tmp_path: Path) -> None:
    # The module is type-checked in a separate folder without the package, because the package's dependencies take long
    # to check.
    library = Path(str(_core.__file__))
    for path in (library, library.with_name("_core.pyi")):
        (tmp_path / path.name).symlink_to(path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path)}
    command = [sys.executable, "-m", "mypy.stubtest", "_core"]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
