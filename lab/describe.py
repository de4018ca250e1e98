"""Prints the data about longpipe that is built into the page, as JSON; the argument is a folder with scenario files.

The data needs longpipe's Python packages, but not its core, whose compilation for Python takes minutes: the page has an
engine of its own. Therefore, a stand-in for the core is imported.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python"))


class Core(ModuleType):
    """A core that has a version and an engine number, read from the sources, and empty classes as everything else."""

    def __init__(self) -> None:
        super().__init__("longpipe._core")
        cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
        self.__version__ = str(cargo["workspace"]["package"]["version"])
        source = (ROOT / "crates" / "network" / "src" / "lib.rs").read_text(encoding="utf-8")
        (number,) = re.findall(r"^pub const ENGINE: u32 = (\d+);$", source, re.MULTILINE)
        self.__engine__ = number

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


if __name__ == "__main__":
    sys.modules["longpipe._core"] = Core()
    from longpipe.lab.description import description
    from longpipe.lab.presets import presets
    from longpipe_evidence.papers.presets import presets as presets_of_papers

    data = description([*presets(Path(sys.argv[1])), *presets_of_papers()])
    json.dump(data, sys.stdout, allow_nan=False)
