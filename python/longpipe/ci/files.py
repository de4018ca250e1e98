"""The files that `longpipe ci init` writes: the plan, and a workflow for GitHub Actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from longpipe.ci.plan import FILE, MARGIN, SEEDS, STANDING

WORKFLOW: Final = Path(".github/workflows/longpipe.yml")


def plan_text(sender: str) -> str:
    """Returns the text of longpipe.toml for a sender."""
    names = "\n".join(f'    "{name}",' for name in STANDING)
    return f"""\
# `longpipe ci run` compares the sender with the measures in the baseline, which `longpipe ci run --update` writes.
sender = {json.dumps(sender)}
baseline = "longpipe-baseline.json"
seeds = {SEEDS}
margin = {MARGIN}              # relative change up to which a measure counts as unchanged

# Scenarios that come with longpipe; remove those that do not matter to you.
standing = [
{names}
]

# Your own scenarios: files with a group of flows named "subject", which the sender drives.
[scenarios]
# mine = "tests/mine.toml"
"""


def workflow_text() -> str:
    """Returns the text of the workflow: it builds the sender, and compares it with the baseline."""
    return f"""\
# Compares congestion control with the baseline of the repository, in simulated networks.
name: longpipe
on: [push, pull_request]
permissions:
  contents: read
jobs:
  regression:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install longpipe
      # Build the tested sender here, for example: cargo build --release
      - run: longpipe ci run {FILE} --junit longpipe.xml --page longpipe.html
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: longpipe
          path: |
            longpipe.xml
            longpipe.html
"""
