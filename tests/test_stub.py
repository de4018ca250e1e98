import ast
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from longpipe import _core


@pytest.mark.parametrize("name", ["Ack", "Event", "Grant", "Interval", "Lost", "Sent"])
def test_help_and_stub_describe_hook_records_equally(name: str) -> None:
    stub = ast.parse(Path(str(_core.__file__)).with_name("_core.pyi").read_text())
    (described,) = (one for one in stub.body if isinstance(one, ast.ClassDef) and one.name == name)
    texts = {one.name: ast.get_docstring(one) for one in described.body if isinstance(one, ast.FunctionDef)}
    # The text of a field that is no property follows it.
    for one, text in pairwise(described.body):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            assert isinstance(text, ast.Expr)
            texts[one.target.id] = ast.literal_eval(text.value)
    record = getattr(_core, name)
    fields = [own for own, field in vars(record).items() if type(field).__name__ == "getset_descriptor"]
    assert fields
    assert all(getattr(record, own).__doc__ for own in fields)
    assert {own: getattr(record, own).__doc__ for own in fields} == {own: texts.get(own) for own in fields}


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
