"""The lab, a browser page with the engine. `make lab` builds its single file `page.html`."""

import base64
import zlib
from pathlib import Path
from typing import Final

from longpipe.errors import RunError, ScenarioError

PAGE: Final = Path(__file__).with_name("page.html")


def address(scenario: Path | None = None, seed: int = 1) -> str:
    """Returns the address of the page with a scenario and a seed to open.

    Raises RunError where the page was not built, ScenarioError for a scenario that can't be run.
    """
    end = "" if scenario is None else fragment(scenario, seed)
    if not PAGE.exists():
        raise RunError(
            f"lab: {PAGE} is missing; needs a longpipe with the page in it, or `make lab` in its sources, which takes "
            "node 18.19 or newer, npm and `rustup target add wasm32-unknown-unknown` (docs/lab.md)"
        )
    return PAGE.as_uri() + end


def fragment(scenario: Path, seed: int = 1) -> str:
    """Returns the fragment of an address with scenario (deflated TOML) and seed. Raises ScenarioError."""
    from longpipe.scenario import LARGEST_SEED, Scenario

    if not 0 <= seed <= LARGEST_SEED:
        raise ScenarioError(f"seed: {seed}; needs a whole number from 0 to {LARGEST_SEED}")
    text = Scenario.from_toml(scenario).to_toml()
    letters = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return f"#seed={seed}&s={letters}"
