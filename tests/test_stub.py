import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_stub_describes_the_core() -> None:
    command = [
        sys.executable,
        "-m",
        "mypy.stubtest",
        "longpipe._core",
        "--mypy-config-file",
        str(ROOT / "pyproject.toml"),
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout
