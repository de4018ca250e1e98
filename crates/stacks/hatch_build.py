"""Compiles the object with the stacks, and the program that sends in real time, for a wheel.

LONGPIPE_STACKS_PROFILE is Cargo's profile, `release` by default.
"""

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("liblongpipe_stacks.so", "quinn-transfer")


class Compile(BuildHookInterface):
    """Adds the files to the wheel, whose tag names the system but no version of Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs cargo, with a target folder beside the checkout's other targets."""
        root = Path(self.root)
        target = root.parent.parent / "target" / "stacks"
        profile = os.environ.get("LONGPIPE_STACKS_PROFILE", "release")
        command = ["cargo", "build", "--profile", profile, "--locked", "--workspace", "--target-dir", str(target)]
        subprocess.run(command, cwd=root, check=True)  # noqa: S603 - constant
        for name in FILES:
            build_data["force_include"][str(target / profile / name)] = f"longpipe_stacks/{name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
