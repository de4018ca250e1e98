"""The path that tests embed (docs/embed.md), if `make embed` has built it: the examples of the page work."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from longpipe import Scenario
from longpipe.live import plan

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = (ROOT / "docs" / "embed.md").read_text()
BUILT: Final = [
    file for profile in ("release", "ci") if (file := ROOT / "target" / profile / "liblongpipe_path.so").exists()
]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="external flows need Linux")


def block(name: str) -> str:
    """Returns a block of the page that begins with its file's name."""
    found = re.search(rf"```\w+\n(?:# |/\* ){re.escape(name)}.*?\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_scenario_of_the_page_equals_the_example(tmp_path: Path) -> None:
    (tmp_path / "path.toml").write_text(block("path.toml"))
    example = Scenario.from_toml(ROOT / "integrations" / "embed" / "tests" / "path.toml")
    assert Scenario.from_toml(tmp_path / "path.toml").resolved == example.resolved


@pytest.mark.skipif(not BUILT, reason="not built: make embed")
def test_program_in_c_sees_the_path(tmp_path: Path) -> None:
    (tmp_path / "path.c").write_text(block("path.c"))
    external = plan(Scenario.from_toml(ROOT / "integrations" / "embed" / "tests" / "path.toml"), ("source1", "sink1"))
    assert external.ways[0][:3] == (0, 1, 0)
    (tmp_path / "path.json").write_text(external.resolved_json)
    folder = str(BUILT[0].parent)
    words = [
        "cc",
        "path.c",
        "-I",
        str(ROOT / "crates" / "path" / "include"),
        "-L",
        folder,
        "-llongpipe_path",
        "-o",
        "path",
    ]
    subprocess.run(words, cwd=tmp_path, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": folder}
    done = subprocess.run(
        ["./path", "path.json"], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    found = re.fullmatch(r"(\d+) of 100 packets arrived, from ([\d.]+) to ([\d.]+) ms\n", done.stdout)
    assert found is not None
    # A tenth of the packets is lost: 90 ± 4 standard deviations of 3.
    assert 78 <= int(found[1]) <= 100
    # 1000 bytes take 0.4 ms on the trunk and 8 us on each of two access links, of which the second has a delay of 5 us. Losses are
    # before the trunk.
    assert float(found[2]) == pytest.approx(280.421, abs=0.001)
    assert float(found[3]) == pytest.approx(280.421 + 0.4 * (int(found[1]) - 1), abs=0.001)
    wrong = subprocess.run(
        ["./path", "path.c"], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
