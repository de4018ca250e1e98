"""Marks tests that run user-mode Linux, and skips them on machines on which it does not run."""

import os

import pytest

from longpipe.linux_end import kernel as linux_kernel

LACKING = linux_kernel.problem() or (os.geteuid() != 0 and "its guest reads the host's files as root")
kernel = pytest.mark.skipif(bool(LACKING), reason=f"user-mode Linux: {LACKING}")
