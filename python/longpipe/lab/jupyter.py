"""The lab as a Jupyter widget, whose scenario Python reads and sets; needs anywidget."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

import anywidget
import traitlets

from longpipe import lab
from longpipe.errors import RunError
from longpipe.scenario import Scenario

_SCRIPT: Final = Path(__file__).with_name("widget.js")


class LabWidget(anywidget.AnyWidget):
    """The lab in the output of a notebook's cell; `longpipe.lab.widget` creates it.

    `observe(function, names="shown")` calls a function after each run that the page completes.
    """

    _esm = _SCRIPT

    # Page, compressed by gzip.
    page = traitlets.Bytes().tag(sync=True)
    # Height of the page [pixels].
    height = traitlets.Int().tag(sync=True)
    # Fragment of the page's address, which contains its settings; the page updates it after each run.
    fragment = traitlets.Unicode().tag(sync=True)
    # Scenario as TOML, seed and state hash that the page shows, all as text; without a state hash until the run is
    # completed, and empty while Python does not know the scenario.
    shown = traitlets.Dict().tag(sync=True)

    def __init__(self, scenario: Path | Scenario | None, seed: int, height: int) -> None:
        packed = gzip.compress(lab.PAGE.read_bytes(), 9, mtime=0)
        super().__init__(page=packed, height=height)
        if scenario is not None:
            self.show(scenario, seed)

    @property
    def scenario(self) -> Scenario:
        """Scenario that the page shows.

        Raises RunError before the first run of a widget without a scenario, and ScenarioError if the page opened a
        WebAssembly module that is not in this folder.
        """
        return Scenario.from_toml(self._of_page("toml"))

    @property
    def seed(self) -> int:
        """Seed of the run that the page shows; raises RunError before the first run of a widget without a scenario."""
        return int(self._of_page("seed"))

    @property
    def state_hash(self) -> str:
        """State hash of the run that the page shows; raises RunError while this run is not completed."""
        return self._of_page("state_hash")

    def show(self, scenario: Path | Scenario, seed: int = 1) -> None:
        """Shows another scenario on the page; raises ScenarioError for a scenario that the page cannot run."""
        shown = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
        self.fragment = lab.fragment(shown, seed)
        self.shown = {"toml": shown.to_toml(), "seed": str(seed)}
        self.send({"fragment": self.fragment})

    def _of_page(self, name: str) -> str:
        if name not in self.shown:
            raise RunError("lab: the page has not completed a run; needs the widget as the output of an earlier cell")
        return str(self.shown[name])
