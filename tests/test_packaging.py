"""What a source distribution and a citation have."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import longpipe
from longpipe.examples import EXAMPLES

ROOT = Path(__file__).parent.parent


def test_a_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == longpipe.__version__  # type: ignore[index]
    assert {"cff-version", "message", "title", "authors"} <= set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


def test_the_sdist_has_scenarios_pages_and_examples(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"CITATION.cff", "CHANGELOG.md", "docs/tutorial.md", "docs/how-to/satellite-buffer.md"}
    wanted |= {f"scenarios/{path.name}" for path in (ROOT / "scenarios").glob("*.toml")}
    wanted |= {f"python/longpipe/examples/{name}.toml" for name in EXAMPLES}
    assert wanted <= names
