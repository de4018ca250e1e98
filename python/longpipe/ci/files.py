"""The files that `longpipe ci init` writes: the plan, and a workflow for GitHub Actions."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final

import longpipe
from longpipe.ci.plan import FILE, MARGIN, SEEDS, STANDING
from longpipe.errors import ScenarioError, nearest

WORKFLOW: Final = Path(".github/workflows/longpipe.yml")
# Stacks of crates/stacks that a crate can select, each with the crate that users change.
CHANGEABLE: Final = {"quinn": "quinn-proto", "noq": "noq-proto"}


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


def crate_folder(stack: str) -> str:
    """Returns the name of the folder, and of the crate in it, with which a user compiles a changed stack."""
    return f"longpipe-{stack}"


def crate_sender(stack: str) -> str:
    """Returns the sender that the crate of a stack builds."""
    name = crate_folder(stack)
    return f"own-stack:{name}/target/release/lib{name.replace('-', '_')}.so:{stack}-cubic"


def crate_texts(stack: str, clone: Path | None) -> dict[Path, str]:
    """Returns the files of a crate that compiles one stack, alone, with the code of a clone of longpipe.

    Raises ScenarioError if there is no such stack or no clone. Without `clone`, the clone is that from which longpipe
    is installed.
    """
    if stack not in CHANGEABLE:
        raise ScenarioError(f"--stack: {stack!r}; {nearest(stack, CHANGEABLE)}")
    root = (Path(longpipe.__file__).parents[2] if clone is None else clone).absolute()
    crates = root / "crates" / "stacks"
    if not (crates / "Cargo.toml").is_file():
        raise ScenarioError(f"--clone: {root} is no clone of longpipe; needs the folder of one")
    name, changeable = crate_folder(stack), CHANGEABLE[stack]
    folder, version = Path(name), _pinned(crates / "Cargo.toml", changeable)
    return {
        folder / "Cargo.toml": f"""\
# {stack} as an end of longpipe's flows: cargo build --release --manifest-path {name}/Cargo.toml
[package]
name = "{name}"
version = "0.1.0"
edition = "2021"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
longpipe-stacks = {{ path = {json.dumps(str(crates))}, default-features = false, features = ["{stack}"] }}

[patch.crates-io]
# Random numbers that a run seeds.
getrandom = {{ path = {json.dumps(str(crates / "getrandom"))} }}
# Your changed copy, which must have the version {version}:
# {changeable} = {{ path = "../{changeable}" }}

[profile.release]
codegen-units = 4
strip = true

[workspace]
""",
        folder / "build.rs": """\
//! Binds references within the object to the object's own functions, which replace the clock of the C library.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
""",
        folder / "src" / "lib.rs": f"""\
//! {stack} as a shared object for `traffic.file`.

use longpipe_stacks as _;
""",
        # The versions with which longpipe was tested.
        folder / "Cargo.lock": (crates / "Cargo.lock").read_text(encoding="utf-8"),
    }


def _pinned(manifest: Path, crate: str) -> str:
    """Returns the exact version of a crate in a Cargo.toml."""
    dependency = tomllib.loads(manifest.read_text(encoding="utf-8"))["dependencies"][crate]
    return str(dependency["version"]).removeprefix("=")
