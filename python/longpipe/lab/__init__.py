"""The lab, a browser page that contains the engine. `make lab` builds its only file, `page.html`."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longpipe.errors import RunError, ScenarioError

if TYPE_CHECKING:
    from longpipe.lab.jupyter import LabWidget
    from longpipe.scenario import Scenario

PAGE: Final = Path(__file__).with_name("page.html")
# Maximum length of a resolved scenario in an address, because Linux limits an argument of a command to 131,072 bytes.
MAX_CORE: Final = 100_000
# Engine number in the data that the page's script contains.
_ENGINE: Final = re.compile(r'version:"[^"]*",engine:"([0-9]+)"')
# An address of a published page, to which a fragment is appended.
_URL: Final = re.compile(r"(https?|file)://[^\s#]+")
# Bounds of the height of the page in a notebook [pixels].
MIN_HEIGHT: Final = 200
MAX_HEIGHT: Final = 10_000
# The page is shown in a frame with its own address, because it keeps its settings in its address.
_FRAME: Final = """\
<iframe id="{name}" title="longpipe lab" style="width: 100%; height: {height}px; border: 0"></iframe>
<script>
(async () => {{
    const packed = Uint8Array.from(atob("{packed}"), (letter) => letter.charCodeAt(0));
    const page = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
    const address = URL.createObjectURL(new Blob([await page.arrayBuffer()], {{ type: "text/html" }}));
    document.getElementById("{name}").src = address + "{fragment}";
}})();
</script>
"""


def address(scenario: Path | Scenario | None = None, seed: int = 1, base: str | None = None) -> str:
    """Returns the URL that opens the lab with a scenario and a seed.

    `base` is the address of a published copy of the page; by default, the URL is that of the page on this machine.
    Raises RunError if the page on this machine was not built, and ScenarioError for a scenario that the page cannot run
    or an invalid `base`.
    """
    end = _end(scenario, seed)
    if base is None:
        _check_built()
        return PAGE.as_uri() + end
    return check_base(base) + end


def check_base(base: str) -> str:
    """Returns the address of a published page; raises ScenarioError unless it is a URL without a fragment."""
    if not _URL.fullmatch(base):
        raise ScenarioError(f"--base: {base!r}; needs a URL without '#', as in https://example.org/lab.html")
    return base


def outdated() -> str | None:
    """Returns a line if the page was built with another engine than longpipe has, so that results may differ."""
    from longpipe import _core

    match = _ENGINE.search(PAGE.read_text(encoding="utf-8"))
    if match is None or match[1] == _core.__engine__:
        return None
    return f"the page has engine {match[1]}, longpipe has {_core.__engine__}, so results may differ; needs make lab"


def _end(scenario: Path | Scenario | None, seed: int) -> str:
    """Returns the end of the page's address; raises ScenarioError for a seed without a scenario."""
    if scenario is not None:
        return fragment(scenario, seed)
    if seed != 1:
        raise ScenarioError(f"seed: {seed}; needs a scenario, as in longpipe lab geo.toml --seed {seed}")
    return ""


def _check_built() -> None:
    """Raises RunError unless the page was built."""
    if not PAGE.exists():
        raise RunError(
            f"lab: {PAGE} is missing; needs a build of longpipe that contains the page, or `make lab` in its sources, "
            f"which requires node 18.19 or newer, npm and `rustup target add wasm32-unknown-unknown` (docs/lab.md)"
        )


def fragment(scenario: Path | Scenario, seed: int = 1) -> str:
    """Returns the fragment of an address that contains a scenario (as deflated TOML) and a seed.

    If the page cannot resolve a scenario that equals an example, the fragment names the page's preset of this example.
    For other time-varying paths of a dumbbell, it also contains the resolved scenario, which the page runs unchanged.
    Raises ScenarioError, with a line for each unsupported part, for any other scenario.
    """
    from longpipe.lab.beyond import check, example_of, is_resolvable
    from longpipe.run import check_seed
    from longpipe.scenario import Scenario

    check_seed(seed)
    checked = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
    core = ""
    try:
        check(checked)
    except ScenarioError:
        if (name := example_of(checked)) is not None:
            return f"#preset={name}&seed={seed}"
        if not is_resolvable(checked):
            raise
        core = f"&core={packed(checked.core_json())}"
        if len(core) > MAX_CORE:
            raise ScenarioError(
                f"network.path: {len(core)} characters in the address of the lab; needs at most {MAX_CORE}, as of a "
                f"path with fewer changes, or of a shorter run"
            ) from None
    return f"#seed={seed}&s={packed(checked.to_toml())}{core}"


def packed(text: str) -> str:
    """Returns a text, deflated, in the letters of an address."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


@dataclass(frozen=True)
class Embedded:
    """The lab as the output of a notebook's cell; `fragment` encodes the scenario, and `height` is in pixels."""

    fragment: str
    height: int

    def _repr_html_(self) -> str:
        import gzip
        import secrets

        packed = base64.b64encode(gzip.compress(PAGE.read_bytes(), 9, mtime=0)).decode()
        name = f"longpipe-{secrets.token_hex(8)}"
        return _FRAME.format(name=name, height=self.height, packed=packed, fragment=self.fragment)


def embed(scenario: Path | Scenario | None = None, seed: int = 1, *, height: int = 900) -> Embedded:
    """Shows the lab in a notebook, with a scenario and a seed: pictures, controls and the lesson.

    The page is embedded in the notebook (0.9 MB) and then needs neither a network nor the kernel. `height` is in
    pixels. Raises RunError if the page was not built, and ScenarioError for a scenario that the page cannot run.
    """
    _check_height(height)
    _check_built()
    return Embedded(_end(scenario, seed), height)


def widget(scenario: Path | Scenario | None = None, seed: int = 1, *, height: int = 900) -> LabWidget:
    """Returns the lab as a Jupyter widget, whose `scenario` and `seed` are those that the page shows.

    It needs a running kernel and anywidget (`pip install 'longpipe[widget]'`), unlike `embed`. `height` is in pixels.
    Raises RunError if the page was not built or anywidget is missing, and ScenarioError for a scenario that the page
    cannot run.
    """
    _check_height(height)
    _check_built()
    try:
        import anywidget  # noqa: F401
    except ImportError:
        raise RunError("lab: anywidget is not installed; get it: pip install 'longpipe[widget]'") from None
    from longpipe.lab.jupyter import LabWidget

    _end(scenario, seed)
    return LabWidget(scenario, seed, height)


def _check_height(height: int) -> None:
    """Raises ScenarioError unless a height is a whole number of pixels within the bounds."""
    if isinstance(height, bool) or not isinstance(height, int) or not MIN_HEIGHT <= height <= MAX_HEIGHT:
        raise ScenarioError(f"height: {height!r}; needs a whole number of pixels from {MIN_HEIGHT} to {MAX_HEIGHT}")
