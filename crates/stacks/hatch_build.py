"""Compiles the object with the stacks for a wheel."""

import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OBJECT = "liblongpipe_stacks.so"


class Compile(BuildHookInterface):
    """Adds the object to the wheel, whose tag names the system but no version of Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs cargo, with a target folder beside the checkout's other targets."""
        root = Path(self.root)
        target = root.parent.parent / "target" / "stacks"
        command = ["cargo", "build", "--release", "--locked", "--target-dir", str(target)]
        subprocess.run(command, cwd=root, check=True)  # noqa: S603 - constant
        build_data["force_include"][str(target / "release" / OBJECT)] = f"longpipe_stacks/{OBJECT}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
