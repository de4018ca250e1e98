"""The lab: the engine in a browser page. The page is one file, `page.html`, which `make lab` builds."""

from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("page.html")
