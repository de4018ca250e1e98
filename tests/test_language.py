"""Words of comments, docstrings and documentation that readers outside of this project do not understand.

`python tests/test_language.py` prints how many each part of the repository has.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
SUFFIXES: Final = {".md", ".py", ".rs", ".ts", ".html"}
# Each has a standard term: in flight, retransmitted, declared lost, again, rarely, a number.
REFUSED: Final = re.compile(
    r"\b(the same of|likewise|so many|so long as it|anew|seldom|somebody|nobody|hears|heeds?|goes by|under way"
    r"|taken to be|sent again|what is told|none too|by halves|a way of its own)\b",
    re.IGNORECASE,
)
# Parts that have been rewritten and stay free of these words.
CLEAN: Final = (
    "CONTRIBUTING.md", "README.md", "crates/network/src/observe", "crates/network/src/policies",
    "crates/network/src/report", "crates/network/src/scenario", "crates/python",
    "crates/wasm", "docs/analysis.md", "docs/architecture.md", "docs/atm.md", "docs/buf-97.md",
    "docs/captures.md", "docs/classes.md", "docs/clusters.md", "docs/datagrams.md", "docs/frr-96.md",
    "docs/how-to/add-a-tcp-variant.md", "docs/how-to/bufferbloat.md", "docs/how-to/compare-with-ns-2.md",
    "docs/how-to/cubic-or-bbr.md", "docs/how-to/index.md", "docs/how-to/my-application-over-geo.md",
    "docs/how-to/resume-a-campaign.md", "docs/how-to/satellite-buffer.md", "docs/how-to/slurm-through-dask.md",
    "docs/how-to/starlink-and-geo.md", "docs/how-to/which-queue.md", "docs/hypatia-20.md", "docs/index.md",
    "docs/ip.md", "docs/lab.md", "docs/lbd-01.md", "docs/limits.md", "docs/links.md", "docs/linux.md",
    "docs/live.md", "docs/measured.md", "docs/modules.md", "docs/paths.md", "docs/performance.md", "docs/pictures.md",
    "docs/proxies.md", "docs/queues.md", "docs/report.md", "docs/rfc-9438.md", "docs/satellites.md",
    "docs/scenarios.md", "docs/shortcuts.md", "docs/simulation.md", "docs/sources.md", "docs/studies.md",
    "docs/suites.md", "docs/tcp.md", "docs/tutorial.md", "docs/web.md", "docs/www-98.md", "lab/src",
    "python/longpipe/analysis", "python/longpipe/design", "python/longpipe/executors", "python/longpipe/lab",
    "python/longpipe/measured",
    "python/longpipe/report", "python/longpipe/satellites", "python/longpipe/study",
)  # fmt: skip


def refused(part: str) -> Iterator[str]:
    """Yields each refused phrase in a file or folder as FILE:LINE: PHRASE."""
    place = ROOT / part
    files = [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.suffix in SUFFIXES)
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for found in REFUSED.finditer(line):
                yield f"{file.relative_to(ROOT)}:{number}: {found[0]}"


@pytest.mark.parametrize("part", CLEAN)
def test_parts_that_were_rewritten_use_standard_terms(part: str) -> None:
    assert (ROOT / part).exists()
    assert list(refused(part)) == []


def test_the_changelog_keeps_what_a_user_needs_to_know() -> None:
    # A merge once restored 346 lines of the history of development.
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 150


if __name__ == "__main__":
    for one in ("README.md", "CONTRIBUTING.md", "crates", "docs", "lab/src", "python", "tests"):
        print(f"{one}: {len(list(refused(one)))}")  # noqa: T201 - this is the output
