import os
import subprocess
import sys
from pathlib import Path

from longpipe import _core


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
