"""Finding user-mode Linux on a machine."""

from pathlib import Path

import pytest

from longpipe.errors import RunError
from longpipe.validate.linux_kernel import Kernel


def kernel(folder: Path, says: str, *versions: str) -> Kernel:
    """Returns a kernel program that prints its version, with modules of several versions."""
    program = folder / "linux.uml"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(0o755)
    for version in versions:
        (folder / "modules" / version).mkdir(parents=True)
    return Kernel(program, folder / "modules")


def test_of_two_kernels_the_version_is_that_of_the_program(tmp_path: Path) -> None:
    assert kernel(tmp_path, "6.1.192", "6.1.176", "6.1.192").version == "6.1.192"


def test_the_modules_of_one_kernel_tell_its_version(tmp_path: Path) -> None:
    assert kernel(tmp_path, "unused", "6.1.176").version == "6.1.176"


def test_a_program_without_its_modules_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"version '6\.1\.200'; needs its modules in .*modules, which has \['6\.1\.176', "
    ):
        _ = kernel(tmp_path, "6.1.200", "6.1.176", "6.1.192").version
